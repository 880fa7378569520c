/** Contexts and their messages: what callers see and say of them. */

import { type MessageInitShape, create } from "@bufbuild/protobuf";

import { type ExternalId, type Recalled, recalledOf } from "./_gen/contexts.js";
import type { Reasoning } from "./_gen/message.js";
import * as pb from "./gen/contextkeep/context/v1/contexts_pb.js";
import { PartSchema } from "./gen/contextkeep/context/v1/message_pb.js";
import { InvalidArgument } from "./gen/errors.js";
import { toJson, toObject } from "./json.js";
import { fieldsOf, whole } from "./messages.js";
import { timeText, toTimestamp } from "./times.js";

/** What may change of a context, each as a whole: what is undefined stays, what is empty is emptied. */
export interface ContextChanges {
  /** Up to 400 characters. */
  title?: string;
  /** Up to 20; other contexts may carry the same. */
  externalIds?: ExternalId[];
  /** Up to 64 KiB of JSON. */
  metadata?: object;
  /** Where it hangs in the graph; not checked against it. */
  entityNodeId?: string;
  expiresAt?: Date | string;
  recallProfile?: string;
}

/** What is said of a new context. */
export interface ContextInput extends ContextChanges {
  /** Else the client's. */
  appId?: string;
  agentBundleId?: string;
}

/** One piece of a new message: one of the first seven. A part that was read can be sent again. */
export interface PartInput {
  text?: string;
  /** Any JSON value. */
  data?: unknown;
  /** Of a record that the caller may read. */
  workingMemoryId?: string;
  url?: string;
  /** A text is taken for the JSON of the arguments, as models write it. */
  toolCall?: { id: string; name: string; arguments?: unknown };
  toolResult?: { toolCallId: string; content?: unknown; isError?: boolean };
  reasoning?: Pick<Reasoning, "provider"> & Partial<Reasoning>;
  mediaType?: string;
  fileName?: string;
  /** `index: false`: not to be found; `secret: true`: not to be kept. */
  metadata?: object;
}

/** A new message of a context: its text, its parts, or both. */
export interface MessageInput {
  /** Up to 1 MiB. */
  content?: string;
  /** Else "user"; "agent" is "assistant". */
  role?: "user" | "assistant" | "agent" | "system" | "tool";
  /** Up to 100. */
  parts?: PartInput[];
  /** The sender's own, up to 200 characters; else the server makes one. */
  messageId?: string;
  /** Who speaks, where several share a role. */
  name?: string;
  agentId?: string;
  /** Up to 64 KiB of JSON. */
  metadata?: object;
  /** Else now. */
  saidAt?: Date | string;
  /** What the sender calls the session; else four hours without a message begin a new one. */
  session?: string;
  /** That it belongs to; without a context it goes to that of the task. */
  taskId?: string;
  /** Up to 100 tasks of its context, which it is about. */
  referenceTaskIds?: string[];
}

/** Which passages of a context are recalled or found; what is left out asks for nothing. */
export interface RecallFilter {
  roles?: ("user" | "assistant" | "system" | "tool")[];
  kinds?: ("artifact" | "text" | "data" | "tool_call" | "tool_result" | "file")[];
  /** Names of those who spoke. */
  authors?: string[];
  /** Said then or later. */
  saidFrom?: Date | string;
  /** Said before. */
  saidTo?: Date | string;
  /** Places, both included. */
  seqFrom?: number;
  seqTo?: number;
  /** Messages and artifacts of these tasks. */
  taskIds?: string[];
  /** About any of these nodes of the graph, up to 100: a part names a record of it, or it was synced from it. All of a context that hangs at one. */
  entityNodeIds?: string[];
}

/** How much is recalled, and of what. */
export interface RecallOptions {
  /** Of the prompt text, up to 100,000; else 2,000. */
  tokensMax?: number;
  /** Up to 200; else 20. */
  itemsMax?: number;
  /** The ranking: "default", "conversation". Else the context's. */
  profile?: string;
  /** Only what stands up to this `seq`, for who holds the newest messages. */
  notAfterSeq?: number;
  filter?: RecallFilter;
  /** Say of each item what its score is made of. */
  withFeatures?: boolean;
}

/** What became of a message that was sent. Of a standalone one only `redactedParts` is set. */
export interface SentMessage {
  contextId: string;
  /** The call began the context. */
  created: boolean;
  messageId: string;
  /** Its place in the context, from 1. */
  seq: number;
  createdAt: string;
  /** What it takes of a model's context, about. */
  tokens: number;
  /** Places of the parts that held secrets: `{"redacted": true}` stands there. */
  redactedParts: number[];
  /** What of the context's past matters to it; undefined: nothing was to be recalled. */
  recalled?: Recalled;
}

/** Return the message of what is said of a context. */
export function contextInput(said: ContextInput): MessageInitShape<typeof pb.ContextInputSchema> {
  const { title, externalIds, entityNodeId, appId, agentBundleId, recallProfile } = said;
  return {
    title,
    externalIds,
    metadataJson: toObject(said.metadata, "context.metadata_json"),
    entityNodeId,
    appId,
    agentBundleId,
    expiresAt: toTimestamp(said.expiresAt, "context.expires_at"),
    recallProfile,
  };
}

const MASK_PATHS: Readonly<Record<keyof ContextChanges, string>> = {
  title: "title",
  externalIds: "external_ids",
  metadata: "metadata_json",
  entityNodeId: "entity_node_id",
  expiresAt: "expires_at",
  recallProfile: "recall_profile",
};

/** The update mask of the fields that are given. */
export function contextMask(changes: ContextChanges): string[] {
  const given = Object.entries(MASK_PATHS).filter(([name]) => changes[name as keyof ContextChanges] !== undefined);
  return given.map(([, path]) => path);
}

/**
 * Return the message of what is said; a text is a user's.
 *
 * @throws InvalidArgument A part has no content or several, or a value cannot travel.
 */
export function messageInput(said: MessageInput | string, field: string): MessageInitShape<typeof pb.MessageInputSchema> {
  if (typeof said === "string") return { content: said };
  const { content, role, parts = [], messageId, name, agentId, session, taskId, referenceTaskIds } = said;
  return {
    content,
    role,
    parts: parts.map((part, place) => partInput(part, `${field}.parts[${place}]`)),
    messageId,
    name,
    agentId,
    metadataJson: toObject(said.metadata, `${field}.metadata_json`),
    saidAt: toTimestamp(said.saidAt, `${field}.said_at`),
    session,
    taskId,
    referenceTaskIds,
  };
}

/** Return the message of how much is recalled, and of what; `false` is nothing. */
export function recallOptions(
  said: RecallOptions | false,
  field: string,
): MessageInitShape<typeof pb.RecallOptionsSchema> {
  if (said === false) return { off: true };
  const { tokensMax, itemsMax, profile, withFeatures } = said;
  return {
    tokensMax,
    itemsMax,
    profile,
    notAfterSeq: whole(`${field}.not_after_seq`, said.notAfterSeq),
    filter: said.filter && recallFilter(said.filter, `${field}.filter`),
    withFeatures,
  };
}

/** Return the message of which passages are meant. */
export function recallFilter(said: RecallFilter, field: string): MessageInitShape<typeof pb.RecallFilterSchema> {
  const { roles, kinds, authors, taskIds, entityNodeIds } = said;
  return {
    roles,
    kinds,
    authors,
    taskIds,
    entityNodeIds,
    saidFrom: toTimestamp(said.saidFrom, `${field}.said_from`),
    saidTo: toTimestamp(said.saidTo, `${field}.said_to`),
    seqFrom: whole(`${field}.seq_from`, said.seqFrom),
    seqTo: whole(`${field}.seq_to`, said.seqTo),
  };
}

type Content = NonNullable<MessageInitShape<typeof PartSchema>["content"]>;

export function partInput(part: PartInput, field: string) {
  const given = contentsOf(part, field);
  if (given.length !== 1) {
    const names = given.map((content) => content.case).join(" and ");
    throw new InvalidArgument(`${field} has ${names || "no content"}; one of them is wanted`, { field });
  }
  const { mediaType, fileName } = part;
  const metadataJson = toObject(part.metadata, `${field}.metadata_json`);
  return create(PartSchema, { content: given[0], mediaType, fileName, metadataJson });
}

function contentsOf(part: PartInput, field: string): Content[] {
  const { text, data, workingMemoryId, url, toolCall, toolResult, reasoning } = part;
  const contents: Content[] = [];
  if (text !== undefined) contents.push({ case: "text", value: text });
  if (data !== undefined) contents.push({ case: "dataJson", value: toJson(data, `${field}.data_json`) });
  if (workingMemoryId !== undefined) contents.push({ case: "workingMemoryId", value: workingMemoryId });
  if (url !== undefined) contents.push({ case: "url", value: url });
  if (toolCall !== undefined) {
    const { id, name, arguments: given } = toolCall;
    const path = `${field}.tool_call.arguments_json`;
    const argumentsJson = typeof given === "string" ? given : given === undefined ? "" : toJson(given, path);
    contents.push({ case: "toolCall", value: { id, name, argumentsJson } });
  }
  if (toolResult !== undefined) {
    const { toolCallId, content, isError } = toolResult;
    const contentJson = content === undefined ? "" : toJson(content, `${field}.tool_result.content_json`);
    contents.push({ case: "toolResult", value: { toolCallId, contentJson, isError } });
  }
  if (reasoning !== undefined) contents.push({ case: "reasoning", value: reasoning });
  return contents;
}

/** Return what became of a message of an answer. */
export function sentMessageOf(
  sent: pb.SentMessage,
  answer: pb.SendMessageResponse | pb.AppendMessagesResponse,
): SentMessage {
  const { contextId, created } = answer;
  const { seq, createdAt, ...fields } = fieldsOf(sent);
  const became = { contextId, created, ...fields, seq: Number(seq), createdAt: timeText(createdAt) };
  return "recall" in answer && answer.recall ? { ...became, recalled: recalledOf(answer.recall) } : became;
}
