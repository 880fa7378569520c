// Made from contextkeep/context/v1/contexts.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/contexts_pb.js";
import { type Part, partOf } from "../history.js";
import { type JsonObject, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { type Task, taskOf } from "../tasks.js";
import { timeText } from "../times.js";
import { type ChatMessage, type Imported, chatMessageOf, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

/** An event of a context: one of the messages. */
export interface ContextEvent {
  message?: ChatMessage;
  task?: Task;
  /** Without its parts. */
  artifact?: Artifact;
  /** Whoever keeps a copy of them has to remove it. */
  retracted?: RetractedMessages;
  /** Changed, or closed. Without its index. */
  context?: Context;
  /** For the next call. */
  seqFrom: number;
  changeAfter: number;
}

export function contextEventOf(message: pb.WatchContextResponse): ContextEvent {
  const value: ContextEvent = {
    seqFrom: Number(message.seqFrom),
    changeAfter: Number(message.changeAfter),
  };
  if (message.event.case === "message") value.message = chatMessageOf(message.event.value);
  if (message.event.case === "task") value.task = taskOf(message.event.value);
  if (message.event.case === "artifact") value.artifact = artifactOf(message.event.value);
  if (message.event.case === "retracted") value.retracted = retractedMessagesOf(message.event.value);
  if (message.event.case === "context") value.context = contextOf(message.event.value);
  return value;
}

/** What one call of contexts.retractMessages, or of contexts.syncHistory, took back; also of messages that were never told. */
export interface RetractedMessages {
  seqs: number[];
  /** In the same order. */
  messageIds: string[];
}

export function retractedMessagesOf(message: pb.RetractedMessages): RetractedMessages {
  return {
    seqs: message.seqs.map(Number),
    messageIds: message.messageIds,
  };
}

/** A version of what a task made. */
export interface Artifact {
  /** The sender's, unique in its task. */
  artifactId: string;
  taskId: string;
  contextId: string;
  name: string;
  description: string;
  /** From 1. */
  version: number;
  /** Nothing more comes to this version: its last chunk is there. */
  isComplete: boolean;
  /** In artifacts.get only, as the metadata. */
  parts: Part[];
  metadata: JsonObject;
  partCount: number;
  sizeBytes: number;
  /** What its texts take of a model's context, about. */
  tokens: number;
  createdBy: string;
  /** Of this version. */
  createdAt: string;
  updatedAt: string;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

export function artifactOf(message: pb.Artifact): Artifact {
  const value: Artifact = {
    artifactId: message.artifactId,
    taskId: message.taskId,
    contextId: message.contextId,
    name: message.name,
    description: message.description,
    version: message.version,
    isComplete: message.isComplete,
    parts: message.parts.map(partOf),
    metadata: parseObject(message.metadataJson),
    partCount: message.partCount,
    sizeBytes: Number(message.sizeBytes),
    tokens: message.tokens,
    createdBy: message.createdBy,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

export interface TaskHistory {
  task: Task;
  messages: ChatMessage[];
  /** Of it, each in its newest version without its parts, oldest first. A task has up to 500. */
  artifacts: Artifact[];
}

export function taskHistoryOf(message: pb.GetTaskResponse): TaskHistory {
  return {
    task: taskOf(message.task ?? create(pb.TaskSchema)),
    messages: message.history.map(chatMessageOf),
    artifacts: message.artifacts.map(artifactOf),
  };
}

/** The receipt of a context that is gone. */
export interface Erasure {
  erasureId: string;
  contextId: string;
  state: "running" | "finished" | "unknown";
  /** Since when it is there for nobody. */
  createdAt: string;
  /** Empty while it runs. */
  finishedAt: string;
  /** The subject of the credential that deleted it; empty: it was past its time. */
  requestedBy: string;
  /** How many messages there were, retracted ones too, and how many of them are removed. */
  messageCount: number;
  messagesRemoved: number;
  /** Pieces of text of its index. */
  passagesRemoved: number;
  vectorsRemoved: number;
  externalIdsRemoved: number;
  /** Answers of writes that were kept for their `requestId`. */
  answersRemoved: number;
  /** Keys of contexts.issueKey. */
  keysEnded: number;
  tasksRemoved: number;
  /** Versions. */
  artifactsRemoved: number;
  windowsRemoved: number;
  /** Of its windows: what they were packed of. */
  windowStepsRemoved: number;
}

export function erasureOf(message: pb.Erasure): Erasure {
  return {
    erasureId: message.erasureId,
    contextId: message.contextId,
    state: enumText(pb.ErasureState, message.state),
    createdAt: timeText(message.createdAt),
    finishedAt: timeText(message.finishedAt),
    requestedBy: message.requestedBy,
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

/** An id that another system has for a context. */
export interface ExternalId {
  /** Which system: any text up to 100 characters. */
  system: string;
  /** Any text up to 400 characters. */
  id: string;
}

export function externalIdOf(message: pb.ExternalId): ExternalId {
  return {
    system: message.system,
    id: message.id,
  };
}

/** One isolated conversation. */
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
  /** Whose it is; empty: nobody's in particular, and seen by all of the tenant. */
  ownerUserId: string;
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  /** When it goes by itself; unset: never. */
  expiresAt: string;
  state: "open" | "closed" | "unknown";
  /** Which ranking recall has here; empty: the default. */
  recallProfile: string;
  /** The `seq` of the newest message, retracted or not. */
  lastSeq: number;
  /** Messages that are not retracted, and their tokens. */
  messageCount: number;
  /** Tokens of those messages. */
  tokenCount: number;
  /** How far its index is; set by contexts.get alone. */
  index?: ContextIndex;
  /** From which it was forked (see windows.fork), the first one first. It is closed and erased with each of them. */
  ancestorIds: string[];
  /** Unset: no import wrote it. */
  imported?: Imported;
}

export function contextOf(message: pb.Context): Context {
  const value: Context = {
    contextId: message.contextId,
    title: message.title,
    externalIds: message.externalIds.map(externalIdOf),
    metadata: parseObject(message.metadataJson),
    entityNodeId: message.entityNodeId,
    agentIds: message.agentIds,
    appId: message.appId,
    agentBundleId: message.agentBundleId,
    ownerUserId: message.ownerUserId,
    createdBy: message.createdBy,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    expiresAt: timeText(message.expiresAt),
    state: enumText(pb.ContextState, message.state),
    recallProfile: message.recallProfile,
    lastSeq: Number(message.lastSeq),
    messageCount: Number(message.messageCount),
    tokenCount: Number(message.tokenCount),
    ancestorIds: message.ancestorIds,
  };
  if (message.index !== undefined) value.index = contextIndexOf(message.index);
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/**
 * How far the index of a context is. Messages are cut into passages, which words find when a message is acknowledged; the embedder's
 * vectors, by which meaning finds them, follow; and so does what records say that parts of messages name, with their files.
 */
export interface ContextIndex {
  /** Passages that words find. */
  passageCount: number;
  /**
   * Those that have a vector of the embedder's model. What has one of another model is not compared until it is made anew:
   * `context-service embeddings backfill`.
   */
  indexedCount: number;
  /** What is still to be made: vectors of passages, and records that are still to be read. */
  pendingCount: number;
  /** What the embedder does not take, which words find all the same; and records whose file could not be read. */
  failedCount: number;
  /** When the oldest message was written of which something is pending; unset: nothing is. */
  oldestPendingAt: string;
  /** Why what is pending was not made the last time it was tried; empty: it was not tried, or nothing is pending. */
  error: string;
  /** Records whose file could not be read, the newest 20 first. */
  unread: UnreadRecord[];
  /** Records whose file has no text that anything reads, such as a picture: name and description find them, and nothing has failed. */
  withoutTextCount: number;
}

export function contextIndexOf(message: pb.ContextIndex): ContextIndex {
  return {
    passageCount: Number(message.passageCount),
    indexedCount: Number(message.indexedCount),
    pendingCount: Number(message.pendingCount),
    failedCount: Number(message.failedCount),
    oldestPendingAt: timeText(message.oldestPendingAt),
    error: message.error,
    unread: message.unread.map(unreadRecordOf),
    withoutTextCount: Number(message.withoutTextCount),
  };
}

/** A record that a part of a message or of an artifact names, and whose file has no text that could be read. What names it stays as it is. */
export interface UnreadRecord {
  /** Of the message; 0 of an artifact. */
  seq: number;
  /** The number of the part, from 1. */
  part: number;
  workingMemoryId: string;
  /**
   * "too_large", "too_many_pages", "password", "not_as_said", "forbidden", "timeout", "memory", "broken" or "no_parser"; there may be
   * others in time.
   */
  reason: string;
  /** The same for people. */
  detail: string;
  /** Which artifact names it; empty of a message. */
  taskId: string;
  artifactId: string;
}

export function unreadRecordOf(message: pb.UnreadRecord): UnreadRecord {
  return {
    seq: Number(message.seq),
    part: message.part,
    workingMemoryId: message.workingMemoryId,
    reason: message.reason,
    detail: message.detail,
    taskId: message.taskId,
    artifactId: message.artifactId,
  };
}

/** What became of a message that was sent. */
export interface StoredMessage {
  messageId: string;
  seq: number;
  createdAt: string;
  /** What it takes of a model's context, about. */
  tokens: number;
  /** Places of the parts that held secrets, of which {"redacted": true} is stored. */
  redactedParts: number[];
}

export function storedMessageOf(message: pb.SentMessage): StoredMessage {
  return {
    messageId: message.messageId,
    seq: Number(message.seq),
    createdAt: timeText(message.createdAt),
    tokens: message.tokens,
    redactedParts: message.redactedParts,
  };
}

/** A passage that was recalled or found. */
export interface RecalledItem {
  /** Names the passage in its context: "m12.0" is the first of the message with `seq` 12, "a3.0" the first of an artifact. */
  ref: string;
  /**
   * "text", "data", "tool_call", "tool_result", "file" (its name, or an address), "record" (what the record says that a part names,
   * with its file), or "artifact".
   */
  kind: string;
  /** 0 of an artifact: it is none of the log. */
  seq: number;
  messageId: string;
  role: string;
  /** The speaker, where several share a role. */
  name: string;
  saidAt: string;
  text: string;
  tokens: number;
  score: number;
  /** Shares of the score by feature, where they were asked for. */
  features: Record<string, number>;
  /** The task that it belongs to, and the artifact that it is of. */
  taskId: string;
  /** The artifact that the passage is from. */
  artifactId: string;
}

export function recalledItemOf(message: pb.RecalledItem): RecalledItem {
  return {
    ref: message.ref,
    kind: message.kind,
    seq: Number(message.seq),
    messageId: message.messageId,
    role: message.role,
    name: message.name,
    saidAt: timeText(message.saidAt),
    text: message.text,
    tokens: message.tokens,
    score: message.score,
    features: message.features,
    taskId: message.taskId,
    artifactId: message.artifactId,
  };
}

/** What was recalled. */
export interface Recalled {
  /** The most relevant first. */
  items: RecalledItem[];
  /** The same as one block, oldest first, each marked as quoted material with its ref. Empty if there is nothing. */
  promptText: string;
  /** Of `promptText`. */
  tokens: number;
  /** Candidates that did not fit the budget or the number of items. */
  leftOutCount: number;
  /** The reason of the error for which nothing was recalled behind a message that is written. */
  error: string;
  /** How vectors counted. */
  byMeaning: ByMeaning;
}

export function recalledOf(message: pb.Recalled): Recalled {
  return {
    items: message.items.map(recalledItemOf),
    promptText: message.promptText,
    tokens: message.tokens,
    leftOutCount: message.leftOutCount,
    error: message.error,
    byMeaning: byMeaningOf(message.byMeaning ?? create(pb.ByMeaningSchema)),
  };
}

/** Whether passages were compared by what they mean, too, or by words alone. */
export interface ByMeaning {
  /** The vectors of passages were compared with that of the text. */
  isCompared: boolean;
  /** Why they were not, where the service has an embedder: it did not answer in time, or not as it should. */
  error: string;
  /** What is still to be made of the context's index: words alone find it. */
  pendingCount: number;
}

export function byMeaningOf(message: pb.ByMeaning): ByMeaning {
  return {
    isCompared: message.isCompared,
    error: message.error,
    pendingCount: Number(message.pendingCount),
  };
}

export interface ContextHistory {
  context: Context;
  messages: ChatMessage[];
}

export function contextHistoryOf(message: pb.GetContextResponse): ContextHistory {
  return {
    context: contextOf(message.context ?? create(pb.ContextSchema)),
    messages: message.messages.map(chatMessageOf),
  };
}

/** What a context got of a history. */
export interface SyncedHistory {
  /** Empty, if there was no message to begin one with. */
  contextId: string;
  /** The call began the context. */
  created: boolean;
  appendedCount: number;
  /** Messages of nodes that changed. */
  retractedCount: number;
  /** Messages of the history that were there already. */
  unchangedCount: number;
  /** Nodes on which a rule failed: what the context has of them stays. */
  nodesFailed: number;
  /** Messages whose role is none: they are left out. */
  rolesUnknown: number;
  /** Messages that the context does not take: such as are too large, or have a part that names a record which the caller cannot read. */
  leftOutCount: number;
  /** The first 20 of them. */
  leftOut: LeftOutMessage[];
}

export function syncedHistoryOf(message: pb.SyncHistoryResponse): SyncedHistory {
  return {
    contextId: message.contextId,
    created: message.created,
    appendedCount: Number(message.appendedCount),
    retractedCount: Number(message.retractedCount),
    unchangedCount: Number(message.unchangedCount),
    nodesFailed: message.nodesFailed,
    rolesUnknown: message.rolesUnknown,
    leftOutCount: Number(message.leftOutCount),
    leftOut: message.leftOut.map(leftOutMessageOf),
  };
}

/** A message of a history that contexts.syncHistory could not write. */
export interface LeftOutMessage {
  /** Of which it came. */
  nodeId: string;
  /** As of the errors of contexts.send: LimitExceeded, InvalidArgument, RecordNotFound. */
  reason: string;
  /** For people: what is wrong with it. */
  detail: string;
}

export function leftOutMessageOf(message: pb.LeftOutMessage): LeftOutMessage {
  return {
    nodeId: message.nodeId,
    reason: message.reason,
    detail: message.detail,
  };
}

/** A key that reaches one context. It is shown once. */
export interface ContextKey {
  /** Shown once: only its hash is kept. */
  key: string;
  expiresAt: string;
}

export function contextKeyOf(message: pb.IssueContextKeyResponse): ContextKey {
  return {
    key: message.key,
    expiresAt: timeText(message.expiresAt),
  };
}
