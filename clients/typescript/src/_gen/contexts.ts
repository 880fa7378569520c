// Made from contextkeep/context/v1/contexts.proto by `make proto`.

import * as contextSettingsPb from "../gen/contextkeep/context/v1/context_settings_pb.js";
import * as pb from "../gen/contextkeep/context/v1/contexts_pb.js";
import { type JsonObject, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { type Task, taskOf } from "../tasks.js";
import { timeText } from "../times.js";
import { type Artifact, artifactOf } from "./artifacts.js";
import { type ChatMessage, type Imported, chatMessageOf, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

/** An event of a context: one field of the `event` oneof is set. */
export interface ContextEvent {
  message?: ChatMessage;
  task?: Task;
  /** Without its parts. */
  artifact?: Artifact;
  /** A client that keeps a copy of these messages must remove it. */
  retracted?: RetractedMessages;
  /** The header after it changed or was closed, without its index. */
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

/**
 * The messages that one call of contexts.retractMessages or contexts.syncHistory retracted. It may name messages that were never sent in
 * the stream.
 */
export interface RetractedMessages {
  seqs: number[];
  /** In the same order as `seqs`. */
  messageIds: string[];
}

export function retractedMessagesOf(message: pb.RetractedMessages): RetractedMessages {
  return {
    seqs: message.seqs.map(Number),
    messageIds: message.messageIds,
  };
}

/** The receipt of a context that was deleted or has expired. */
export interface Erasure {
  erasureId: string;
  contextId: string;
  state: "running" | "finished" | "unknown";
  /** When the context became unreadable. */
  createdAt: string;
  /** Empty while the removal runs. */
  finishedAt: string;
  /** The subject of the credential that deleted the context. Empty means that the context expired. */
  requestedBy: string;
  /**
   * `messageCount` is the number of messages, retracted ones included; `messagesRemoved` is how many of them are
   * removed.
   */
  messageCount: number;
  messagesRemoved: number;
  /** Passages of its index. */
  passagesRemoved: number;
  vectorsRemoved: number;
  externalIdsRemoved: number;
  /** Stored answers of writes with a `requestId`. */
  answersRemoved: number;
  /** Keys of contexts.issueKey. */
  keysEnded: number;
  tasksRemoved: number;
  /** Versions of artifacts. */
  artifactsRemoved: number;
  windowsRemoved: number;
  /** Stored steps of its windows. */
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
  /** Name of the other system: any text up to 100 characters. */
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
  /** Its node in the entity graph. Empty if it has none. */
  entityNodeId: string;
  /** The agents of all its messages, in the order of their first message. Only the first 100. */
  agentIds: string[];
  appId: string;
  agentBundleId: string;
  /** Its owner. Empty means that it has no owner, and all callers of the tenant see it. */
  ownerUserId: string;
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  /** When the context expires and is removed. Empty means never. */
  expiresAt: string;
  state: "open" | "closed" | "unknown";
  /** Name of the ranking that recall uses. Empty means that the service chooses by who speaks. */
  recallProfile: string;
  /** The `seq` of the newest message, retracted messages included. */
  lastSeq: number;
  /** Number of messages that are not retracted. */
  messageCount: number;
  /** Tokens of those messages. */
  tokenCount: number;
  /** State of its index. Only contexts.get sets it. */
  index?: ContextIndex;
  /**
   * The contexts from which it was forked (see windows.fork), the oldest ancestor first. Closing or erasing one of them
   * closes or erases this context too.
   */
  ancestorIds: string[];
  /** Unset if no import wrote it. */
  imported?: Imported;
  /** Its own setting. Those of its tenant, app and agents apply, too (see `ContextSettings`). */
  models: "on" | "off" | "unknown";
  /**
   * Whether contexts.find, and queries about a user's own contexts, may find it. Unset means as its agents, app and
   * tenant say (see `ContextSettings`).
   */
  isFindable?: boolean;
  /** Its own setting. Those of its tenant, app and agents apply, too (see `ContextSettings`). */
  learning: "off" | "rules" | "model" | "unknown";
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
    models: enumText(contextSettingsPb.ModelUse, message.models),
    learning: enumText(contextSettingsPb.LearningMode, message.learning),
  };
  if (message.index !== undefined) value.index = contextIndexOf(message.index);
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  if (message.isFindable !== undefined) value.isFindable = message.isFindable;
  return value;
}

/**
 * State of the index of a context. Messages are cut into passages. Words find a passage as soon as its message is
 * acknowledged. Vectors of the embedder, for search by meaning, are added later. So are the records that parts of
 * messages name, and their files.
 */
export interface ContextIndex {
  /** Passages that words find. */
  passageCount: number;
  /**
   * Passages that have a vector of the embedder's current model. Passages with a vector of another model are not
   * compared by meaning until `context-service embeddings backfill` computes them again.
   */
  indexedCount: number;
  /** Work that is pending: vectors of passages to compute, and records to read. */
  pendingCount: number;
  /** Passages that the embedder refused (words still find them), and records whose file could not be read. */
  failedCount: number;
  /** When the oldest message with pending work was written. Empty if no work is pending. */
  oldestPendingAt: string;
  /** Error of the last attempt at the pending work. Empty if there was no attempt, or no work is pending. */
  error: string;
  /** Records whose file could not be read, newest first, at most 20. */
  unread: UnreadRecord[];
  /**
   * Records whose file has no readable text, such as a picture. Their name and description find them; they do not count
   * as failed.
   */
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

/**
 * A record that a part of a message or of an artifact names, and whose file could not be read as text. The message or
 * artifact stays as it is.
 */
export interface UnreadRecord {
  /** `seq` of the message. 0 if an artifact names the record. */
  seq: number;
  /** The number of the part; the first part is 1. */
  part: number;
  workingMemoryId: string;
  /**
   * "too_large", "too_many_pages", "password", "not_as_said", "forbidden", "timeout", "memory", "broken" or
   * "no_parser". Later releases may add values.
   */
  reason: string;
  /** The reason as a text for people. */
  detail: string;
  /** The task of the artifact that names the record. Empty if a message names it. */
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

/** What the server stored for a message. */
export interface StoredMessage {
  messageId: string;
  seq: number;
  createdAt: string;
  /** Estimated tokens of the message in the context of a model. */
  tokens: number;
  /** Indexes of the parts that held secrets. {"redacted": true} is stored in their place. */
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
  /**
   * Id of the passage in its context: "m12.0" is the first passage of the message with `seq` 12, "a3.0" the first
   * passage of an artifact.
   */
  ref: string;
  /**
   * "text", "data", "tool_call", "tool_result", "file" (its name or its address), "record" (text of a record that a
   * part names, and of its file), or "artifact".
   */
  kind: string;
  /** 0 for an artifact, which has no `seq`. */
  seq: number;
  messageId: string;
  role: string;
  /** Name of the speaker, if several speakers share a role. */
  name: string;
  saidAt: string;
  text: string;
  tokens: number;
  /**
   * The probability that the passage answers the text, 0 to 1. It can be compared between questions and contexts. It is
   * 0 if the text asks for nothing, such as a greeting.
   */
  score: number;
  /** Parts of the sum that orders the passages, by feature. Set if the request has `withFeatures`. */
  features: Record<string, number>;
  /** The task of the message or artifact. */
  taskId: string;
  /** The artifact of the passage. */
  artifactId: string;
  /**
   * Ref of a newer passage that says the same thing with another value, or answers the same question later. The newer
   * passage comes first. Empty if there is none among the best 50 passages.
   */
  supersededBy: string;
  /** As in ChatMessage. */
  isImported: boolean;
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
    supersededBy: message.supersededBy,
    isImported: message.isImported,
  };
}

/** The result of a recall. */
export interface Recalled {
  /** Sorted by relevance, best first. */
  items: RecalledItem[];
  /** The same items as one block, oldest first, each marked as a quotation with its ref. Empty if there are no items. */
  promptText: string;
  /** Tokens of `promptText`. */
  tokens: number;
  /** Candidates that exceeded the budget of tokens or the maximum number of items. */
  leftOutCount: number;
  /** Reason of the error if the message was stored and the recall after it failed. */
  error: string;
  /** Whether the ranking used vectors. */
  byMeaning: ByMeaning;
  /** Candidates whose score was too low (`scoreMin`). */
  irrelevantCount: number;
}

export function recalledOf(message: pb.Recalled): Recalled {
  return {
    items: message.items.map(recalledItemOf),
    promptText: message.promptText,
    tokens: message.tokens,
    leftOutCount: message.leftOutCount,
    error: message.error,
    byMeaning: byMeaningOf(message.byMeaning ?? create(pb.ByMeaningSchema)),
    irrelevantCount: message.irrelevantCount,
  };
}

/** Whether passages were compared by meaning, or by words alone. */
export interface ByMeaning {
  /** The vectors of the passages were compared with the vector of the text. */
  isCompared: boolean;
  /** Why the embedder of the service was not used: it did not answer in time, or its answer was not valid. */
  error: string;
  /** Passages and records of the context that have no vector yet. Only words find them. */
  pendingCount: number;
  /** The reranker of the service ordered the first 50 passages. Their scores are still those of the ranking. */
  isReranked: boolean;
  /**
   * Why the reranker of the service was not used: it failed, it did not answer in time, or models are switched off for
   * the context.
   */
  rerankerError: string;
}

export function byMeaningOf(message: pb.ByMeaning): ByMeaning {
  return {
    isCompared: message.isCompared,
    error: message.error,
    pendingCount: Number(message.pendingCount),
    isReranked: message.isReranked,
    rerankerError: message.rerankerError,
  };
}

/** The contexts that a search found. */
export interface FoundContexts {
  /** Sorted by their best passage, best first. */
  contexts: FoundContext[];
  /** Number of contexts that the call searched. */
  searchedCount: number;
  /** Whether the ranking used vectors. `pendingCount` is not set. */
  byMeaning: ByMeaning;
  /** Set if older contexts were not searched: the next call with this cursor searches them. */
  nextCursor: string;
}

export function foundContextsOf(message: pb.SearchContextsResponse): FoundContexts {
  return {
    contexts: message.contexts.map(foundContextOf),
    searchedCount: message.searchedCount,
    byMeaning: byMeaningOf(message.byMeaning ?? create(pb.ByMeaningSchema)),
    nextCursor: message.nextCursor,
  };
}

/** A context with the passages that were found in it. */
export interface FoundContext {
  contextId: string;
  title: string;
  externalIds: ExternalId[];
  ownerUserId: string;
  createdAt: string;
  /** When the context last changed. */
  updatedAt: string;
  messageCount: number;
  /** The score of its best passage. */
  score: number;
  /** Best first. */
  passages: RecalledItem[];
}

export function foundContextOf(message: pb.FoundContext): FoundContext {
  return {
    contextId: message.contextId,
    title: message.title,
    externalIds: message.externalIds.map(externalIdOf),
    ownerUserId: message.ownerUserId,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    messageCount: Number(message.messageCount),
    score: message.score,
    passages: message.passages.map(recalledItemOf),
  };
}

export interface ContextHistory {
  context: Context;
  /** The newest messages, oldest first. */
  messages: ChatMessage[];
  /**
   * Whether older messages that the caller asked for are left out. The answer ends at 2 MiB or 1,000 messages.
   * contexts.listMessages reads the others.
   */
  historyIsPartial: boolean;
}

export function contextHistoryOf(message: pb.GetContextResponse): ContextHistory {
  return {
    context: contextOf(message.context ?? create(pb.ContextSchema)),
    messages: message.messages.map(chatMessageOf),
    historyIsPartial: message.historyIsPartial,
  };
}

/** What contexts.syncHistory changed in a context. */
export interface SyncedHistory {
  /** Empty if the history has no message, and so no context was created. */
  contextId: string;
  /** True if the call created the context. */
  created: boolean;
  appendedCount: number;
  /** Messages of nodes that changed. */
  retractedCount: number;
  /** Messages of the history that the context already had. */
  unchangedCount: number;
  /** Nodes on which a rule failed. The context keeps their messages. */
  nodesFailed: number;
  /** Messages with an unknown role. They are left out. */
  rolesUnknown: number;
  /**
   * Messages that the context refused: for example, they are too large, or a part names a record that the caller cannot
   * read.
   */
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
  /** The node of the message. */
  nodeId: string;
  /** As in the errors of contexts.send: LimitExceeded, InvalidArgument, RecordNotFound. */
  reason: string;
  /** Description of the error for people. */
  detail: string;
}

export function leftOutMessageOf(message: pb.LeftOutMessage): LeftOutMessage {
  return {
    nodeId: message.nodeId,
    reason: message.reason,
    detail: message.detail,
  };
}

/** A key that reaches one context and its forks. It is shown once. */
export interface ContextKey {
  /** Shown once: the service stores only its hash. */
  key: string;
  expiresAt: string;
}

export function contextKeyOf(message: pb.IssueContextKeyResponse): ContextKey {
  return {
    key: message.key,
    expiresAt: timeText(message.expiresAt),
  };
}
