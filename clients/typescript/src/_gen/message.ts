// Made from contextkeep/context/v1/message.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/message_pb.js";
import { type Part, partOf } from "../history.js";
import { type JsonObject, parseObject } from "../json.js";
import { timeText } from "../times.js";

/** A message in a conversation, from the history of a graph or from a context. */
export interface ChatMessage {
  /** "user", "assistant", "system" or "tool". */
  role: string;
  content: string;
  /** The node of the message in the entity graph. Empty in a context. */
  nodeId: string;
  createdAt: string;
  /** Name of the speaker, if several speakers share a role. */
  name: string;
  parts: Part[];
  metadata: JsonObject;
  /** The sender's id of the message. */
  messageId: string;
  /** Position in the context; the first message has 1. */
  seq: number;
  agentId: string;
  /** When the message was said, according to its sender. `createdAt` is when the service received it. */
  saidAt: string;
  /** Estimated tokens of the message in the context of a model. */
  tokens: number;
  /** `taskId` is the task to which the message belongs; `referenceTaskIds` are other tasks to which it refers. */
  taskId: string;
  referenceTaskIds: string[];
  /**
   * The turn of the assistant to which a message of a history belongs, as `turn` of its rule gave it. Messages with the
   * same turn are one answer of a model. Empty: not known.
   */
  turn: string;
  /**
   * An archive or another system names the author of the message, and nothing confirms it. Windows quote its text as
   * data, and their `spans` have the trust "imported". Only messages of a context have it.
   */
  isImported: boolean;
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
    turn: message.turn,
    isImported: message.isImported,
  };
}

/**
 * The import that wrote a row. The row's own fields, such as `createdBy`, name the credential that imported it. The
 * authors in the archive are only claims.
 */
export interface Imported {
  importId: string;
  /** The subject of the credential that imported the row. */
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

/** An author that an archive names. */
export interface ClaimedAuthor {
  /** The field with this author, such as "created_by". */
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
 * A block that the provider of a model returned and expects back unchanged, together with the tool calls that followed
 * it. The service stores it byte for byte. It never indexes the block and never shows it as text.
 */
export interface Reasoning {
  /** The provider of the block, such as "anthropic". */
  provider: string;
  /** The block as bytes. Set either this or `dataJson`. */
  data: Uint8Array;
  /** The block as JSON, kept byte for byte. */
  dataJson: string;
  /** Text of the block that the provider shows, if there is any. */
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
