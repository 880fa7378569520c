// Made from contextkeep/context/v1/message.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/message_pb.js";
import { type Part, partOf } from "../history.js";
import { type JsonObject, parseObject } from "../json.js";
import { timeText } from "../times.js";

/** One turn, as a prompt wants it: of a graph's history, or of a context. */
export interface ChatMessage {
  /** "user", "assistant", "system" or "tool". */
  role: string;
  content: string;
  /** The node it was read from; empty in a context. */
  nodeId: string;
  createdAt: string;
  /** Who speaks, where several share a role. */
  name: string;
  parts: Part[];
  metadata: JsonObject;
  /** The sender's id of it. */
  messageId: string;
  /** Its place in the context: 1 is the first. */
  seq: number;
  agentId: string;
  /** When its sender says that it was said; `createdAt` is when it came. */
  saidAt: string;
  /** What it takes of a model's context, about. */
  tokens: number;
  /** The task that it belongs to, and others that it is about. */
  taskId: string;
  referenceTaskIds: string[];
}

export function chatMessageOf(message: pb.ChatMessage): ChatMessage {
  return {
    role: message.role,
    content: message.content,
    nodeId: message.nodeId,
    createdAt: timeText(message.createdAt),
    name: message.name,
    parts: message.parts.map(partOf),
    metadata: parseObject(message.metadataJson),
    messageId: message.messageId,
    seq: Number(message.seq),
    agentId: message.agentId,
    saidAt: timeText(message.saidAt),
    tokens: message.tokens,
    taskId: message.taskId,
    referenceTaskIds: message.referenceTaskIds,
  };
}

/** By which import a row was written. Its own fields, such as `createdBy`, name who imported it: whom the archive names instead is a claim. */
export interface Imported {
  importId: string;
  /** The subject of the credential that imported it. */
  importedBy: string;
  importedAt: string;
  claimedAuthors: ClaimedAuthor[];
}

export function importedOf(message: pb.Imported): Imported {
  return {
    importId: message.importId,
    importedBy: message.importedBy,
    importedAt: timeText(message.importedAt),
    claimedAuthors: message.claimedAuthors.map(claimedAuthorOf),
  };
}

/** Whom an archive names as author. */
export interface ClaimedAuthor {
  /** In which field, such as "created_by". */
  field: string;
  author: string;
}

export function claimedAuthorOf(message: pb.ClaimedAuthor): ClaimedAuthor {
  return {
    field: message.field,
    author: message.author,
  };
}

/**
 * A block that a model's provider made and wants back as it was, beside the tool calls that followed from it. It is kept byte for byte, never
 * indexed, and never shown as text.
 */
export interface Reasoning {
  /** Whose block it is, such as "anthropic". */
  provider: string;
  /** The block: bytes, or a JSON document. */
  data: Uint8Array;
  /** The block if it is JSON, byte for byte. */
  dataJson: string;
  /** What the provider shows of it, if anything. */
  text: string;
}

export function reasoningOf(message: pb.Reasoning): Reasoning {
  return {
    provider: message.provider,
    data: message.data,
    dataJson: message.dataJson,
    text: message.text,
  };
}
