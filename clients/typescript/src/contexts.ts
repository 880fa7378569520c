/** Contexts and their messages: what callers see and say of them. */

import { type MessageInitShape, create } from "@bufbuild/protobuf";

import * as pb from "./gen/contextkeep/context/v1/contexts_pb.js";
import { PartSchema } from "./gen/contextkeep/context/v1/message_pb.js";
import { InvalidArgument } from "./gen/errors.js";
import type { ChatMessage, Reasoning } from "./history.js";
import { type Imported, importedField } from "./imported.js";
import { type JsonObject, parseObject, toJson, toObject } from "./json.js";
import { enumText, fieldsOf, whole } from "./messages.js";
import { timeText, toTimestamp } from "./times.js";

/** What another system calls a context. */
export interface ExternalId {
  /** Up to 100 characters. */
  system: string;
  /** Up to 400 characters. */
  id: string;
}

/** One isolated conversation, without its messages. */
export interface Context {
  contextId: string;
  title: string;
  externalIds: ExternalId[];
  metadata: JsonObject;
  /** Where it hangs in the entity graph, if it does. */
  entityNodeId: string;
  /** Of all its messages, in the order in which they were first seen; the first 100. */
  agentIds: string[];
  appId: string;
  agentBundleId: string;
  /** Empty: nobody's in particular. */
  ownerUserId: string;
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  /** Unset: no import wrote it. */
  imported?: Imported;
  /** When it goes by itself. Empty: never. */
  expiresAt: string;
  /** "open", or "closed": it takes no more messages. */
  state: string;
  /** Which ranking recall has here. Empty: the default. */
  recallProfile: string;
  /** Of the newest message, retracted or not. */
  lastSeq: number;
  /** Of messages that are not retracted, and their tokens. */
  messageCount: number;
  tokenCount: number;
  /** How far its index is; `getContext` alone says it. */
  index?: ContextIndex;
  /** From which it was forked, the first one first. */
  ancestorIds: string[];
}

/** How far the index of a context is: words find a passage at once, the embedder's vectors follow. */
export interface ContextIndex {
  /** Passages that words find, and those of them that meaning finds, too. */
  passageCount: number;
  indexedCount: number;
  /** Still to be made; 0: nothing. */
  pendingCount: number;
  /** That the embedder does not take, and records whose file could not be read. */
  failedCount: number;
  /** Empty: nothing is pending. */
  oldestPendingAt: string;
  /** Why what is pending was not made the last time it was tried. */
  error: string;
  /** Records whose file could not be read, the newest 20 first. */
  unread: UnreadRecord[];
  /** Records whose file has no text that anything reads, such as a picture. */
  withoutTextCount: number;
}

/** A record that a message or an artifact points at, and whose file has no text that could be read. */
export interface UnreadRecord {
  /** Of the message; 0 of an artifact. */
  seq: number;
  /** Its number in the message or artifact, from 1. */
  part: number;
  workingMemoryId: string;
  /** "password", "too_large", ...: docs/documents.md has them all. */
  reason: string;
  detail: string;
  /** Which artifact points at it; empty of a message. */
  taskId: string;
  artifactId: string;
}

/** A context, and its newest messages, oldest of them first. */
export interface ContextHistory {
  context: Context;
  messages: ChatMessage[];
}

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

/** A passage of a context that was recalled or found. */
export interface RecalledItem {
  /** Names it in its context: "m12.0" is the first passage of the message with `seq` 12. */
  ref: string;
  /** "text", "data", "tool_call", "tool_result" or "file". */
  kind: string;
  seq: number;
  messageId: string;
  role: string;
  /** Who spoke, where several share a role. */
  name: string;
  saidAt: string;
  text: string;
  tokens: number;
  score: number;
  /** Shares of the score, if they were asked for. */
  features: Record<string, number>;
  /** The task that it belongs to, and the artifact that it is of. */
  taskId: string;
  artifactId: string;
}

/** What of a context's past matters to a text. */
export interface Recalled {
  /** The most relevant first. */
  items: RecalledItem[];
  /** The same as one block for a model, oldest first, each marked as quoted. Empty: there is nothing. */
  promptText: string;
  /** Of `promptText`. */
  tokens: number;
  /** Candidates that did not fit the budget or the number of items. */
  leftOutCount: number;
  /** The reason for which nothing was recalled behind a message that is written. */
  error: string;
  /** How vectors counted. */
  byMeaning: ByMeaning;
}

/** Whether passages were compared by what they mean, too, or by words alone. */
export interface ByMeaning {
  isCompared: boolean;
  /** Why they were not, where the service has an embedder. */
  error: string;
  /** What is still to be made of the context's index: words alone find it. */
  pendingCount: number;
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

/** What a context was given of a history. */
export interface SyncedHistory {
  /** Empty: the history has no message to begin one with. */
  contextId: string;
  /** The call began the context. */
  created: boolean;
  appendedCount: number;
  /** Of nodes that changed. */
  retractedCount: number;
  /** Messages that were there already. */
  unchangedCount: number;
  /** On which a rule failed: what the context has of them stays. */
  nodesFailed: number;
  /** Messages without a role, which are left out. */
  rolesUnknown: number;
  /** Messages that the context does not take: an older version of them stays, and the next call tries again. */
  leftOutCount: number;
  /** The first 20 of them. */
  leftOut: LeftOutMessage[];
}

/** A message of a history that a context does not take. */
export interface LeftOutMessage {
  /** Of which it came. */
  nodeId: string;
  /** As of an error: `LIMIT_EXCEEDED`, `INVALID_ARGUMENT`, `RECORD_NOT_FOUND`. */
  reason: string;
  detail: string;
}

/** A key that reaches one context. It is shown once. */
export interface ContextKey {
  key: string;
  expiresAt: string;
}

/** The receipt of a context that is gone. It is there for nobody since `createdAt`. */
export interface Erasure {
  erasureId: string;
  contextId: string;
  /** "running", or "finished": nothing is left of it. */
  state: string;
  createdAt: string;
  /** Empty: it runs. */
  finishedAt: string;
  /** Empty: it was past its time. */
  requestedBy: string;
  /** That there were, retracted ones too. */
  messageCount: number;
  messagesRemoved: number;
  /** Of its index. */
  passagesRemoved: number;
  vectorsRemoved: number;
  externalIdsRemoved: number;
  /** Of writes, which were kept for their request ids. */
  answersRemoved: number;
  keysEnded: number;
  tasksRemoved: number;
  /** Versions. */
  artifactsRemoved: number;
  windowsRemoved: number;
  /** Of its windows: what they were packed of. */
  windowStepsRemoved: number;
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

export function contextOf(message: pb.Context): Context {
  const { externalIds, metadataJson, createdAt, updatedAt, expiresAt, state, lastSeq, messageCount, tokenCount, index, imported, ...fields } =
    fieldsOf(message);
  return {
    ...fields,
    ...(index ? { index: contextIndexOf(index) } : {}),
    externalIds: externalIds.map(({ system, id }) => ({ system, id })),
    metadata: parseObject(metadataJson),
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
    expiresAt: timeText(expiresAt),
    state: enumText(pb.ContextState, state),
    lastSeq: Number(lastSeq),
    messageCount: Number(messageCount),
    tokenCount: Number(tokenCount),
    ...importedField(imported),
  };
}

/** Return how far an index is. */
export function contextIndexOf(message: pb.ContextIndex): ContextIndex {
  return {
    passageCount: Number(message.passageCount),
    indexedCount: Number(message.indexedCount),
    pendingCount: Number(message.pendingCount),
    failedCount: Number(message.failedCount),
    withoutTextCount: Number(message.withoutTextCount),
    oldestPendingAt: timeText(message.oldestPendingAt),
    error: message.error,
    unread: message.unread.map(({ seq, part, workingMemoryId, reason, detail, taskId, artifactId }) => ({
      seq: Number(seq),
      part,
      workingMemoryId,
      reason,
      detail,
      taskId,
      artifactId,
    })),
  };
}

/** Return a receipt of an answer. */
export function erasureOf(message: pb.Erasure): Erasure {
  const { erasureId, contextId, requestedBy } = message;
  return {
    erasureId,
    contextId,
    state: enumText(pb.ErasureState, message.state),
    createdAt: timeText(message.createdAt),
    finishedAt: timeText(message.finishedAt),
    requestedBy,
    messageCount: Number(message.messageCount),
    messagesRemoved: Number(message.messagesRemoved),
    passagesRemoved: Number(message.passagesRemoved),
    vectorsRemoved: Number(message.vectorsRemoved),
    externalIdsRemoved: Number(message.externalIdsRemoved),
    answersRemoved: Number(message.answersRemoved),
    keysEnded: Number(message.keysEnded),
    tasksRemoved: Number(message.tasksRemoved),
    artifactsRemoved: Number(message.artifactsRemoved),
    windowsRemoved: Number(message.windowsRemoved),
    windowStepsRemoved: Number(message.windowStepsRemoved),
  };
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

export function recalledOf(message: pb.Recalled): Recalled {
  const { items, byMeaning, ...fields } = fieldsOf(message);
  const { isCompared = false, error = "", pendingCount = 0n } = byMeaning ?? {};
  return {
    items: items.map(recalledItemOf),
    ...fields,
    byMeaning: { isCompared, error, pendingCount: Number(pendingCount) },
  };
}

export function recalledItemOf(message: pb.RecalledItem): RecalledItem {
  const { seq, saidAt, ...fields } = fieldsOf(message);
  return { ...fields, seq: Number(seq), saidAt: timeText(saidAt) };
}
