// Made from contextkeep/context/v1/context_windows.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/context_windows_pb.js";
import * as contextsPb from "../gen/contextkeep/context/v1/contexts_pb.js";
import { type JsonObject, parseJson } from "../json.js";
import { timeText } from "../times.js";
import { bodyOf, formatOf } from "../windows.js";
import { type BodyFile, bodyFileOf } from "./chat-history.js";
import { type RecalledItem, recalledItemOf } from "./contexts.js";
import { type ChatMessage, type Imported, chatMessageOf, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

/** A change of a window: one field of the `event` oneof is set. */
export interface WindowEvent {
  /** A break of the prefix. */
  broken?: FoldReceipt;
  /** A new entry of the state: read from the log, set by a caller, or a pin. */
  entry?: StateEntry;
  /**
   * The current window, without `systemPrompt` and `toolsJson`. It is sent once after the stored changes, whatever
   * positions the request has, and then after each change.
   */
  window?: Window;
  /** For the next call. */
  epochAfter: number;
  entryFrom: number;
}

export function windowEventOf(message: pb.WatchWindowResponse): WindowEvent {
  const value: WindowEvent = {
    epochAfter: message.epochAfter,
    entryFrom: Number(message.entryFrom),
  };
  if (message.event.case === "broken") value.broken = foldReceiptOf(message.event.value);
  if (message.event.case === "entry") value.entry = stateEntryOf(message.event.value);
  if (message.event.case === "window") value.window = windowOf(message.event.value);
  return value;
}

/** The view of a context for one model. */
export interface Window {
  windowId: string;
  contextId: string;
  model: string;
  /** Format of the messages in its packs. */
  format: string;
  /** The tokenizer that counts: "o200k", "cl100k", "claude" or "gemini". */
  tokensFamily: string;
  /** Tokens that the model accepts, including its answer. */
  contextTokens: number;
  /** Maximum number of tokens of a request: the smaller of the budget and the room that the answer leaves. */
  tokenLimit: number;
  /** Empty in lists, as is `toolsJson`. */
  systemPrompt: string;
  tools: unknown[];
  goal: string;
  /**
   * Number of breaks of the prefix: by folds, by new prompts, tools and goals, by pins, by retracted messages, and by
   * rollbacks.
   */
  epoch: number;
  /** All messages up to this `seq` are in the window. */
  reachedSeq: bigint;
  /** Number of steps of the window, including those in summaries. */
  stepCount: number;
  /** Number of steps in summaries. */
  leftOutCount: number;
  ownerUserId: string;
  /** The subject of the credential that opened the window. */
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  isClosed: boolean;
  /**
   * What a fold keeps: "general", "coding", "research" or "operations", or a profile of the tenant with its version,
   * such as "mine@3".
   */
  compressionProfile: string;
  /** The config of the caller, with defaults filled in. */
  config: WindowConfig;
  /**
   * Tokens of all packs of the window and of all its forks, each pack counted once, from the time when `config` got a
   * `maxTotalTokens`. 0 without this limit. For a fork, only its own packs.
   */
  spentTokens: number;
  /**
   * Counted tokens times this factor is an upper bound of the vendor's bill in 95 of 100 calls. 1 until windows.recordUsage has
   * data. Packs stay within `tokenLimit` also after this multiplication.
   */
  tokenFactor: number;
  /** The counts are estimates, because the vendor's tokenizer is not public or not installed. */
  tokensAreEstimated: boolean;
  /** Messages that rollbacks left out, such as "m51..m90". */
  leftOutRefs: string[];
  /** Unset if no import wrote it. */
  imported?: Imported;
}

export function windowOf(message: pb.Window): Window {
  const value: Window = {
    windowId: message.windowId,
    contextId: message.contextId,
    model: message.model,
    format: formatOf(message),
    tokensFamily: message.tokensFamily,
    contextTokens: message.contextTokens,
    tokenLimit: message.tokenLimit,
    systemPrompt: message.systemPrompt,
    tools: message.toolsJson ? parseJson(message.toolsJson) : [],
    goal: message.goal,
    epoch: message.epoch,
    reachedSeq: message.reachedSeq,
    stepCount: message.stepCount,
    leftOutCount: message.leftOutCount,
    ownerUserId: message.ownerUserId,
    createdBy: message.createdBy,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    isClosed: message.isClosed,
    compressionProfile: message.compressionProfile,
    config: windowConfigOf(message.config ?? create(pb.WindowConfigSchema)),
    spentTokens: Number(message.spentTokens),
    tokenFactor: message.tokenFactor,
    tokensAreEstimated: message.tokensAreEstimated,
    leftOutRefs: message.leftOutRefs,
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/**
 * How a window folds, and how many tokens it may use. An unset field has its default, which its comment names. A number
 * that is NaN, infinite or out of range, or that contradicts another one, is InvalidArgument with the name of the
 * field, such as "config.tier_ratios".
 */
export interface WindowConfig {
  importanceWeights?: ImportanceWeights;
  tierRatios?: TierRatios;
  /** Share of `tokenLimit` above which the window folds, 0.1 to 1. Default 0.97. */
  highMark?: number;
  /** Share of `tokenLimit` that is left after a fold, from 0 to below `highMark`. Default 0.5. */
  lowMark?: number;
  /** Number of last steps that a fold leaves as they are, if they fit into `tier_ratios.hot`, 1 to 1,000. Default 10. */
  keepLastSteps?: number;
  /** Number of steps in a segment, 1 to 1,000. Default 20. */
  summarizeEveryNSteps?: number;
  prices?: TokenPrices;
  /**
   * Maximum number of tokens of all packs of the window together, up to 10^15. 0, the default, means no limit. Each
   * pack counts once, with its `tokens`, whether or not it was sent to a model; a pack that waits for results does not
   * count. Packs of its forks, and of their forks, count too: the limit applies to the whole run. A fork begins without
   * a limit of its own, and may get an additional one.
   */
  maxTotalTokens?: number;
  /**
   * How long the vendor's cache keeps a prompt that is not sent again, in seconds, up to 86,400. 0 means forever. The
   * default is 300, and 600 for models of OpenAI. If a window was not packed for longer than this (by the clock of the
   * database), the next message causes a fold, provided that the pack is above the middle between `lowMark` and
   * `highMark` and that the fold removes at least a quarter. The vendor would cache the whole prompt again anyway.
   * Packing the same log again gives the same pack at any time.
   */
  cacheTtlS?: number;
  /**
   * Make a checkpoint after each of this many steps, up to 1,000, and before each fold. Default 50. 0 means no
   * checkpoints.
   */
  checkpointEveryNSteps?: number;
  /** What windows.reportResponse leaves out: "rollback_to_checkpoint", the default, or "reread_from_checkpoint". */
  recoveryStrategy?: string;
  /**
   * The writer of the segments of prepared folds (windows.prepareFold). "auto", the default, is the first model of LLM_MODEL
   * that accepts the input, if there is one. The name of a model selects that model. "none" uses lines of the
   * originals, as all other folds do.
   */
  summarizationModel?: string;
  /**
   * Replaces the default instructions of the summary, up to 4,000 characters. The form of the model's answer and its
   * checks stay the same.
   */
  summarizationPrompt?: string;
  /**
   * "structured", the default: each line is one statement, the most important first. "narrative": the lines tell the
   * events in order.
   */
  summarizationStyle?: string;
  /**
   * Off by default. Windows with `learning` count which lines and results that folds left out are later expanded or
   * searched for. The counts are by kind of line and by rule for results, over all windows of the same app and profile.
   * Windows of a key of a context do not count. From 20 contexts on, and again after each doubling, the service makes a
   * version of the profile in which weights and maximum sizes differ by up to a fifth. A window that is opened with
   * `learning` gets the newest version.
   */
  learning?: boolean;
  /**
   * Off by default. After a message of a user, also recall passages that were last used with the current objects: those
   * that the open sub-goals name, then those of the last ten steps.
   */
  prefetch?: boolean;
  /**
   * Off by default. Before a fold, append a note that tells the model to save what it needs: when the next step of average
   * size would reach `highMark`, or when a step as large as the largest of the last ten would pass `tokenLimit`; both
   * count the tokens of the note itself. If a still larger step passes `highMark` first, the fold waits for the next
   * step, provided that the pack with the note fits `tokenLimit`.
   */
  noticeBeforeFold?: boolean;
  /**
   * Maximum size of the conversation as a share of `tokenLimit`: the messages of users that no step shows any more,
   * word for word. A fold that finds it larger cuts it to half of this. Default 0.2. With 0 such messages are shown
   * nowhere.
   */
  conversationShare?: number;
  /**
   * Speakers whose rules are in force, up to 20: names of users, the roles "system" (messages of developers have it,
   * too) and "user", and "first_user", the first user who speaks in the context. Default: system, first_user. Rules of
   * others are listed in the state with their speaker (section "other_rule"), and lift no rules. Applies to messages
   * that the window has not read.
   */
  ruleAuthors: string[];
  /**
   * Share of `tokenLimit` for the newest full content of up to three files that were edited last. A fold shows them
   * again after the state, quoted, unless a step still does. Default 0: none. A file that has no room is left out.
   */
  restoreFilesShare?: number;
}

export function windowConfigOf(message: pb.WindowConfig): WindowConfig {
  const value: WindowConfig = {
    ruleAuthors: message.ruleAuthors,
  };
  if (message.importanceWeights !== undefined) value.importanceWeights = importanceWeightsOf(message.importanceWeights);
  if (message.tierRatios !== undefined) value.tierRatios = tierRatiosOf(message.tierRatios);
  if (message.highMark !== undefined) value.highMark = message.highMark;
  if (message.lowMark !== undefined) value.lowMark = message.lowMark;
  if (message.keepLastSteps !== undefined) value.keepLastSteps = message.keepLastSteps;
  if (message.summarizeEveryNSteps !== undefined) value.summarizeEveryNSteps = message.summarizeEveryNSteps;
  if (message.prices !== undefined) value.prices = tokenPricesOf(message.prices);
  if (message.maxTotalTokens !== undefined) value.maxTotalTokens = Number(message.maxTotalTokens);
  if (message.cacheTtlS !== undefined) value.cacheTtlS = message.cacheTtlS;
  if (message.checkpointEveryNSteps !== undefined) value.checkpointEveryNSteps = message.checkpointEveryNSteps;
  if (message.recoveryStrategy !== undefined) value.recoveryStrategy = message.recoveryStrategy;
  if (message.summarizationModel !== undefined) value.summarizationModel = message.summarizationModel;
  if (message.summarizationPrompt !== undefined) value.summarizationPrompt = message.summarizationPrompt;
  if (message.summarizationStyle !== undefined) value.summarizationStyle = message.summarizationStyle;
  if (message.learning !== undefined) value.learning = message.learning;
  if (message.prefetch !== undefined) value.prefetch = message.prefetch;
  if (message.noticeBeforeFold !== undefined) value.noticeBeforeFold = message.noticeBeforeFold;
  if (message.conversationShare !== undefined) value.conversationShare = message.conversationShare;
  if (message.restoreFilesShare !== undefined) value.restoreFilesShare = message.restoreFilesShare;
  return value;
}

/** Weights for choosing lines when there is no room for all. Each 0 to 1, not all 0. They need not add up to 1. */
export interface ImportanceWeights {
  /** How new the line is; it halves every 30 steps. Default 0.1. */
  recency?: number;
  /** How many words of the goal the line has. Default 0.15. */
  relevance?: number;
  /** How many later steps mention the same things. Default 0.1. */
  causal?: number;
  /** Whether the line says where something is. Default 0.05. */
  references?: number;
  /** Whether its step succeeded. Default 0.05. */
  success?: number;
  /** The weight of its kind in the profile. Default 0.55. */
  domain?: number;
}

export function importanceWeightsOf(message: pb.ImportanceWeights): ImportanceWeights {
  const value: ImportanceWeights = {
  };
  if (message.recency !== undefined) value.recency = message.recency;
  if (message.relevance !== undefined) value.relevance = message.relevance;
  if (message.causal !== undefined) value.causal = message.causal;
  if (message.references !== undefined) value.references = message.references;
  if (message.success !== undefined) value.success = message.success;
  if (message.domain !== undefined) value.domain = message.domain;
  return value;
}

/**
 * Maximum size of each zone after a fold, as a share of `tokenLimit`. Each 0 to 1, and together with
 * `conversationShare` and `restoreFilesShare` up to 1.
 */
export interface TierRatios {
  /** The last steps, verbatim. Default 0.35. */
  hot?: number;
  /** Segments. Default 0.09. */
  segments?: number;
  /** Digests. Default 0.09. */
  digests?: number;
  /** The optional part of the state. Constraints and values are always shown, whatever their size. Default 0.07. */
  state?: number;
}

export function tierRatiosOf(message: pb.TierRatios): TierRatios {
  const value: TierRatios = {
  };
  if (message.hot !== undefined) value.hot = message.hot;
  if (message.segments !== undefined) value.segments = message.segments;
  if (message.digests !== undefined) value.digests = message.digests;
  if (message.state !== undefined) value.state = message.state;
  return value;
}

/** Price of one token of each kind, in any one unit, such as dollars per million. 0 to 1,000,000. */
export interface TokenPrices {
  /** A token of a prompt. Default 1. */
  input?: number;
  /** A token of a prompt that is written to the vendor's cache. Default 1.25. */
  cacheWrite?: number;
  /** A token of a prompt that is read from the vendor's cache. Default 0.1. */
  cacheRead?: number;
  /** A token of an answer. Default 5. */
  output?: number;
}

export function tokenPricesOf(message: pb.TokenPrices): TokenPrices {
  const value: TokenPrices = {
  };
  if (message.input !== undefined) value.input = message.input;
  if (message.cacheWrite !== undefined) value.cacheWrite = message.cacheWrite;
  if (message.cacheRead !== undefined) value.cacheRead = message.cacheRead;
  if (message.output !== undefined) value.output = message.output;
  return value;
}

/** A compression profile: which lines of a log are worth keeping. */
export interface CompressionProfile {
  name: string;
  /** From 1. 0 for a built-in profile. */
  version: number;
  isBuiltIn: boolean;
  /** YAML or JSON, if the request asks for it. */
  text: string;
  /** The subject that made the version. Empty for a built-in profile. */
  createdBy: string;
  /** When the version was made. Empty for a built-in profile. */
  createdAt: string;
  /** Set for a learned version, which has no `text`. */
  learned?: LearnedProfile;
  /** The import of the version. Unset if no import wrote it. */
  imported?: Imported;
}

export function compressionProfileOf(message: pb.CompressionProfile): CompressionProfile {
  const value: CompressionProfile = {
    name: message.name,
    version: message.version,
    isBuiltIn: message.isBuiltIn,
    text: message.text,
    createdBy: message.createdBy,
    createdAt: timeText(message.createdAt),
  };
  if (message.learned !== undefined) value.learned = learnedProfileOf(message.learned);
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/** What was learned for a profile: `base` with other numbers. */
export interface LearnedProfile {
  /** Such as "coding" or "mine@2". */
  base: string;
  /** The app of the windows. Empty means windows without an app. */
  appId: string;
  /** Number of contexts from which it was learned: at least 20. */
  contextCount: number;
  /** Factors of the weights, by kind of line, 0.8 to 1.2. A kind without an entry has the weight of `base`. */
  lineFactors: Record<string, number>;
  /**
   * Factors of the maximum characters of rules of `tool_output_trim`, 0.8 to 1.2, by the rule's number from 0, or
   * "default". A rule without an entry is as in `base`.
   */
  resultFactors: Record<string, number>;
  /** The counts behind the factors, if the request asks for them. */
  lineCounts: Record<string, LearnedCount>;
  resultCounts: Record<string, LearnedCount>;
}

export function learnedProfileOf(message: pb.LearnedProfile): LearnedProfile {
  return {
    base: message.base,
    appId: message.appId,
    contextCount: message.contextCount,
    lineFactors: message.lineFactors,
    resultFactors: message.resultFactors,
    lineCounts: Object.fromEntries(Object.entries(message.lineCounts).map(([key, item]) => [key, learnedCountOf(item)])),
    resultCounts: Object.fromEntries(Object.entries(message.resultCounts).map(([key, item]) => [key, learnedCountOf(item)])),
  };
}

/** How often left-out lines were looked up. */
export interface LearnedCount {
  /** Number of lines or results that folds left out. */
  seen: bigint;
  /** How many of those were looked up later. */
  asked: bigint;
}

export function learnedCountOf(message: pb.LearnedCount): LearnedCount {
  return {
    seen: message.seen,
    asked: message.asked,
  };
}

/** The learning state of a profile and an app. */
export interface Learning {
  /** The profile that windows with `learning` use. */
  profile: string;
  appId: string;
  /** True if counting and learning are stopped. */
  isFrozen: boolean;
  /** The learned version that windows with `learning` get. 0 means that there is none. */
  version: number;
  /** Number of contexts in which something was looked up since the last undo. */
  contextCount: number;
}

export function learningOf(message: pb.SetLearningResponse): Learning {
  return {
    profile: message.profile,
    appId: message.appId,
    isFrozen: message.isFrozen,
    version: message.version,
    contextCount: message.contextCount,
  };
}

/** A fork of a window. */
export interface WindowFork {
  /** Such as "f3": the first part of the fork's refs. A fork of a fork is "f3:f1". */
  ref: string;
  contextId: string;
  windowId: string;
  createdAt: string;
  /** The message with its result, such as "m57". Empty if it is not merged. */
  mergedRef: string;
  /** True if it is merged or erased. */
  isEnded: boolean;
}

export function windowForkOf(message: pb.WindowFork): WindowFork {
  return {
    ref: message.ref,
    contextId: message.contextId,
    windowId: message.windowId,
    createdAt: timeText(message.createdAt),
    mergedRef: message.mergedRef,
    isEnded: message.isEnded,
  };
}

/** Tokens of a pack by zone, the most stable zone first. */
export interface PackZones {
  /** System prompt, goal and tools. */
  system: number;
  /** Notes: on superseded entries, on changes by callers, and the first message that some formats need. */
  note: number;
  /** Steps as they were. */
  verbatim: number;
  /** Steps with results cut to the important lines. */
  masked: number;
  digests: number;
  segments: number;
  state: number;
  recalled: number;
  /** Texts that callers pinned. */
  pins: number;
  /** Messages of users that no step shows any more, word for word, after the pins and before the digests. */
  conversation: number;
}

export function packZonesOf(message: pb.PackZones): PackZones {
  return {
    system: message.system,
    note: message.note,
    verbatim: message.verbatim,
    masked: message.masked,
    digests: message.digests,
    segments: message.segments,
    state: message.state,
    recalled: message.recalled,
    pins: message.pins,
    conversation: message.conversation,
  };
}

/** The part of the log that a pack shows only in excerpts. */
export interface PackOmissions {
  stepCount: number;
  tokens: number;
  /** Refs of the messages for `windows.expand`, oldest first: one ref for each summary. */
  refs: string[];
}

export function packOmissionsOf(message: pb.PackOmissions): PackOmissions {
  return {
    stepCount: message.stepCount,
    tokens: Number(message.tokens),
    refs: message.refs,
  };
}

/** The messages for the next call of the model. */
export interface Pack {
  /** A JSON object for the body of a request, as in GetChatHistoryResponse, with `tools` if there are any. */
  messagesJson: string;
  /** Number of first bytes of `messagesJson` with which the next pack also begins, as long as `epoch` stays the same. */
  prefixBytes: number;
  /** SHA-256 of those bytes, in hexadecimal. */
  prefixSha: string;
  /** Counted tokens of the whole request. */
  tokens: number;
  /** The tokens of each zone. */
  tokensByZone: PackZones;
  /** Number of steps that the pack shows. */
  stepCount: number;
  /** The part of the log that is shown only in excerpts. Its `refs` name the messages. */
  omitted: PackOmissions;
  epoch: number;
  /** `seq` of the newest message that the window has read. */
  lastSeq: bigint;
  /** The last step waits for results of its calls. Call the model after the results have arrived. */
  isWaiting: boolean;
  /** Estimated number of steps until the next fold, if they are as long as the last ones. */
  foldEtaSteps: number;
  /**
   * The work should end soon: 90 % of `maxTotalTokens` are spent, or the rest is too small for a pack of twice this
   * size (or of `tokenLimit`, if that is smaller).
   */
  wrapUp: boolean;
  /**
   * `tokens` times the window's `tokenFactor`: the expected upper bound of the bill. Never more than the window's
   * `tokenLimit`.
   */
  calibratedTokens: number;
  /**
   * Positions at which to mark a stable prefix for the vendor's prompt cache: up to 4, in order. The last one is also
   * the end of the bytes with which the next pack begins. Positions after fewer than 1,024 tokens are left out, because
   * no vendor caches them; the last one always stays.
   */
  breakpoints: CacheBreakpoint[];
  /** For windows.reportResponse. All packs with the same epoch and `lastSeq` have the same id. */
  packId: string;
  /** Refs of the recalled passages, such as "m37.0", in order, without duplicates. */
  recalledRefs: string[];
  /** Annotations of an extension of the operator: see docs/windows.md. */
  annotations: Record<string, string>;
  /**
   * Who wrote each part of the pack, in order. Refuse a tool call if its arguments stand only in parts of "tool",
   * "document" or "imported" trust: `Pack.sources_of` of the Python client and `sourcesOf` of the TypeScript client find
   * them. Texts of the service itself, such as headings, have no span.
   */
  spans: PackSpan[];
  /**
   * Number of spans of the part that this answer leaves out (`offsetBytes`): they are the first spans of the earlier
   * pack, and `spans` has only those after them.
   */
  knownSpanCount: number;
  /**
   * The window reads a long log in the background, and this pack has only its prompt, its pins and the newest steps that
   * fit. Later packs have the whole log. Until then packs may begin with other steps than the one before.
   */
  isCatchingUp: boolean;
  /**
   * With REFERENCES: the files of the whole pack, in their order. The numbers of bytes and hashes of a pack are always
   * those of the form with references, because its prefix is the same in all packs.
   */
  files: BodyFile[];
  /** The body of the request: `messages`, and for Anthropic `system`; for Gemini `contents`; for Responses `input`; and `tools`. */
  body: JsonObject;
}

export function packOf(message: pb.PackResponse): Pack {
  return {
    messagesJson: message.messagesJson,
    prefixBytes: message.prefixBytes,
    prefixSha: message.prefixSha,
    tokens: message.tokens,
    tokensByZone: packZonesOf(message.tokensByZone ?? create(pb.PackZonesSchema)),
    stepCount: message.stepCount,
    omitted: packOmissionsOf(message.omitted ?? create(pb.PackOmissionsSchema)),
    epoch: message.epoch,
    lastSeq: message.lastSeq,
    isWaiting: message.isWaiting,
    foldEtaSteps: message.foldEtaSteps,
    wrapUp: message.wrapUp,
    calibratedTokens: message.calibratedTokens,
    breakpoints: message.breakpoints.map(cacheBreakpointOf),
    packId: message.packId,
    recalledRefs: message.recalledRefs,
    annotations: message.annotations,
    spans: message.spans.map(packSpanOf),
    knownSpanCount: message.knownSpanCount,
    isCatchingUp: message.isCatchingUp,
    files: message.files.map(bodyFileOf),
    body: bodyOf(message),
  };
}

/** A part of a pack that has one author: a piece of it, or some lines of the piece. */
export interface PackSpan {
  /** The piece, as a JSON Pointer into the whole `messagesJson`, as in CacheBreakpoint. */
  pointer: string;
  /** The first and the last line of the piece's text, from 1. 0 means the whole piece. */
  firstLine: number;
  lastLine: number;
  /**
   * "user Ann", "assistant", "tool run_tests", "system", "fork f3", "model" (which wrote a summary) or "caller" (which
   * set an entry or a pin).
   */
  author: string;
  /** Refs of the original. Empty if the log does not have it. */
  ref: string;
  /**
   * "user" (also "system" and "caller"), "assistant", "tool", "document" or "imported". A line that rests on several
   * authors has the lowest trust.
   */
  trust: string;
}

export function packSpanOf(message: pb.PackSpan): PackSpan {
  return {
    pointer: message.pointer,
    firstLine: message.firstLine,
    lastLine: message.lastLine,
    author: message.author,
    ref: message.ref,
    trust: message.trust,
  };
}

/** A position in a pack. */
export interface CacheBreakpoint {
  /**
   * The last part before the position, as a JSON Pointer into the whole `messagesJson`: "/system/0" or
   * "/messages/3/content/1" for Anthropic, which accepts a `cache_control` there; "/messages/3" or "/input/3" for
   * OpenAI; "/contents/3/parts/0" for Gemini.
   */
  pointer: string;
  /**
   * The zone that ends there: "system" (with tools and goal), "conversation" (with pins), "digests", "state" (with
   * segments) or "verbatim" (the whole pack).
   */
  zone: string;
  /** Tokens of the pack up to the position. */
  tokens: number;
}

export function cacheBreakpointOf(message: pb.CacheBreakpoint): CacheBreakpoint {
  return {
    pointer: message.pointer,
    zone: message.zone,
    tokens: message.tokens,
  };
}

/** The receipt of a break of the prefix. */
export interface FoldReceipt {
  /** The epoch that began with the break. */
  epoch: number;
  /**
   * For a fold: "high_mark", "files", "cache_cold", "requested", "goal" or "prepared". Otherwise "updated", "pinned",
   * "unpinned", "retracted", "imported" or "rolled_back".
   */
  reason: string;
  /** Empty if the fold was not carried out. */
  createdAt: string;
  /** `seq` of the newest message that the window had read. */
  lastSeq: bigint;
  stepCount: number;
  /** Tokens of the pack before and after the break. */
  tokensBefore: number;
  tokensAfter: number;
  /** What was done, one sentence each. */
  rules: string[];
  /** Numbers of the steps whose results were cut. */
  maskedSteps: number[];
  /** Number of steps that were merged into summaries. */
  mergedStepCount: number;
  /** Number of notes and recalled passages that were removed. */
  droppedCount: number;
  /** The new summaries. */
  summaries: PackPart[];
  /** Tokens of the state. */
  stateTokens: number;
  /** Number of entries for which the state had no room. */
  stateLeftOutCount: number;
  /**
   * The first zone that changed: "system", "pins", "conversation", "digests", "segments", "state" or, for a rollback,
   * "verbatim".
   */
  firstChange: string;
  /** Tokens before that position, which stay valid in the vendor's cache. */
  tokensKept: number;
  /** Tokens after that position, which are written again. */
  tokensWrittenAgain: number;
  /** Number of steps after which the smaller prompt has paid for the break, at the window's prices. -1 means never. */
  paysAfterSteps: number;
  /** Entries that the state shows now and did not show before. */
  stateAdded: StateChange[];
  /** Entries that the state no longer shows: superseded, removed, or without room. */
  stateRemoved: StateChange[];
  /** For a fold: the factor with which the budget was applied, and is applied from then on. See Window. */
  tokenFactor: number;
  /**
   * For a prepared fold: the newest `seq` that the window had read when the fold was prepared. 0 if the fold was not
   * prepared.
   */
  preparedLastSeq: bigint;
  /** For a rollback: the number of the checkpoint. */
  checkpoint: number;
  /** Messages that the rollback left out, such as "m51..m90". */
  leftOutRefs: string[];
  leftOutStepCount: number;
}

export function foldReceiptOf(message: pb.FoldReceipt): FoldReceipt {
  return {
    epoch: message.epoch,
    reason: message.reason,
    createdAt: timeText(message.createdAt),
    lastSeq: message.lastSeq,
    stepCount: message.stepCount,
    tokensBefore: message.tokensBefore,
    tokensAfter: message.tokensAfter,
    rules: message.rules,
    maskedSteps: message.maskedSteps,
    mergedStepCount: message.mergedStepCount,
    droppedCount: message.droppedCount,
    summaries: message.summaries.map(packPartOf),
    stateTokens: message.stateTokens,
    stateLeftOutCount: message.stateLeftOutCount,
    firstChange: message.firstChange,
    tokensKept: message.tokensKept,
    tokensWrittenAgain: message.tokensWrittenAgain,
    paysAfterSteps: message.paysAfterSteps,
    stateAdded: message.stateAdded.map(stateChangeOf),
    stateRemoved: message.stateRemoved.map(stateChangeOf),
    tokenFactor: message.tokenFactor,
    preparedLastSeq: message.preparedLastSeq,
    checkpoint: message.checkpoint,
    leftOutRefs: message.leftOutRefs,
    leftOutStepCount: message.leftOutStepCount,
  };
}

/** A stored state of a window. */
export interface Checkpoint {
  /** From 1, unique in the window and never reused. */
  number: number;
  /** "steps", "fold" (before a fold) or "caller". */
  reason: string;
  /** Label of a checkpoint of a caller. */
  label: string;
  /** Empty if the window made it. */
  createdBy: string;
  createdAt: string;
  epoch: number;
  /** `seq` of the newest message that the window had read; `stepCount` is its number of steps. */
  lastSeq: bigint;
  stepCount: number;
  /** Never set: archives have no checkpoints. */
  imported?: Imported;
}

export function checkpointOf(message: pb.Checkpoint): Checkpoint {
  const value: Checkpoint = {
    number: message.number,
    reason: message.reason,
    label: message.label,
    createdBy: message.createdBy,
    createdAt: timeText(message.createdAt),
    epoch: message.epoch,
    lastSeq: message.lastSeq,
    stepCount: message.stepCount,
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/** The result of a rollback. */
export interface RolledBack {
  receipt: FoldReceipt;
  /** Ids of the messages that the rollback left out, oldest first, without retracted messages. Only the first 1,000. */
  leftOutMessageIds: string[];
  leftOutMessageCount: bigint;
}

export function rolledBackOf(message: pb.RollbackResponse): RolledBack {
  return {
    receipt: foldReceiptOf(message.receipt ?? create(pb.FoldReceiptSchema)),
    leftOutMessageIds: message.leftOutMessageIds,
    leftOutMessageCount: message.leftOutMessageCount,
  };
}

/**
 * An entry that the state shows now, or no longer shows. The receipt has no copy of its text: the text stays in the
 * log, and is deleted with it.
 */
export interface StateChange {
  /** See StateEntry. */
  section: string;
  /** Ref of the entry's text for `windows.expand`. */
  ref: string;
}

export function stateChangeOf(message: pb.StateChange): StateChange {
  return {
    section: message.section,
    ref: message.ref,
  };
}

/** The result of a merge: a message in the log of the parent. */
export interface Merged {
  /** Context and window of the parent. */
  contextId: string;
  windowId: string;
  /** The message with the result, such as "m57". */
  ref: string;
  messageId: string;
  /** Tokens of its text. */
  tokens: number;
  /** True if the whole result fit. */
  isWhole: boolean;
  /** See WindowFork. */
  forkRef: string;
}

export function mergedOf(message: pb.MergeWindowResponse): Merged {
  return {
    contextId: message.contextId,
    windowId: message.windowId,
    ref: message.ref,
    messageId: message.messageId,
    tokens: message.tokens,
    isWhole: message.isWhole,
    forkRef: message.forkRef,
  };
}

/** The original of a ref: the bytes of a part or a passage, or messages. */
export interface Original {
  /**
   * For a part or a passage: its original bytes, text or JSON. For a file with an address, the address; for any other
   * file, its bytes, or the asked range of them. If its record was deleted, the line of text that stands for the file. A
   * result of a tool is answered without its files, which have refs of their own.
   */
  content: Uint8Array;
  /** SHA-256 of the original, in hexadecimal; also if `content` is a range of it. */
  sha256: string;
  /** For messages: the messages, up to 2 MiB, without retracted ones. */
  messages: ChatMessage[];
  /** Ref of the following messages, if there are more. */
  nextRef: string;
  /** True if `content` is JSON: for data, calls and results. A result that is a text is a JSON string. */
  isJson: boolean;
  /** Size of the original in bytes; also if `content` is a range of it. */
  sizeBytes: number;
  /** For a file with bytes: its media type. */
  mediaType: string;
}

export function originalOf(message: pb.ExpandResponse): Original {
  return {
    content: message.content,
    sha256: message.sha256,
    messages: message.messages.map(chatMessageOf),
    nextRef: message.nextRef,
    isJson: message.isJson,
    sizeBytes: Number(message.sizeBytes),
    mediaType: message.mediaType,
  };
}

/** A passage of a window's log, with its steps. */
export interface WindowHit {
  item: RecalledItem;
  /** The step of the passage, or the first and the last step of its segment. 0 if the window has not read the passage. */
  stepFrom: number;
  stepTo: number;
  /** How the window shows the step: "verbatim", "masked", "segments" or "digests". Empty if the window has not read it. */
  zone: string;
}

export function windowHitOf(message: pb.WindowHit): WindowHit {
  return {
    item: recalledItemOf(message.item ?? create(contextsPb.RecalledItemSchema)),
    stepFrom: message.stepFrom,
    stepTo: message.stepTo,
    zone: message.zone,
  };
}

/** A part of a pack. */
export interface PackPart {
  /** "pins", "conversation", "digests", "segments", "state", "masked", "verbatim", "recalled" or "note". */
  zone: string;
  /** For summaries: 2 for a segment, 3 for a digest of segments, 4 for a digest of digests, and so on. */
  level: number;
  stepFrom: number;
  stepTo: number;
  /** Ref of the originals for `windows.expand`. Empty for a text of the window itself. */
  ref: string;
  tokens: number;
  /** For summaries: "extractive" for lines of the originals, or "model" for the text of a model. */
  method: string;
  /**
   * If a model was asked for the summary: "accepted", with the number of accepted lines and the first refusal if lines
   * were refused; otherwise the check that failed. The lines of the rules stand in for refused lines. Empty if no model
   * was asked.
   */
  verdict: string;
}

export function packPartOf(message: pb.PackPart): PackPart {
  return {
    zone: message.zone,
    level: message.level,
    stepFrom: message.stepFrom,
    stepTo: message.stepTo,
    ref: message.ref,
    tokens: message.tokens,
    method: message.method,
    verdict: message.verdict,
  };
}

/** The parts of a window's last pack. */
export interface ExplainedPack {
  parts: PackPart[];
  tokensByZone: PackZones;
  epoch: number;
}

export function explainedPackOf(message: pb.ExplainPackResponse): ExplainedPack {
  return {
    parts: message.parts.map(packPartOf),
    tokensByZone: packZonesOf(message.tokensByZone ?? create(pb.PackZonesSchema)),
    epoch: message.epoch,
  };
}

/** Where messages are in the packs of a window. */
export interface MessageTrace {
  /** The messages of the ref in the order of the log, up to 200, without retracted ones. */
  messages: TracedMessage[];
  /** Unset if the request has no `text`, or if no message has it. */
  sentence?: TracedSentence;
  /** The ref to continue with, if there are more messages. A message with the `text` may be among them. */
  nextRef: string;
  /** The current epoch of the window. */
  epoch: number;
}

export function messageTraceOf(message: pb.TraceMessageResponse): MessageTrace {
  const value: MessageTrace = {
    messages: message.messages.map(tracedMessageOf),
    nextRef: message.nextRef,
    epoch: message.epoch,
  };
  if (message.sentence !== undefined) value.sentence = tracedSentenceOf(message.sentence);
  return value;
}

/** Where a message is now. */
export interface TracedMessage {
  ref: string;
  /**
   * "verbatim", "conversation" (a user's words after a fold), "cleared" (its results or long texts are cut), "segment",
   * "digest", "left_out" (a rollback left it out), or "unread" (the next pack reads it, or its step waits for results).
   */
  place: string;
  /** The step of the message, or the first and the last step of its summary. 0 if it is in no step. */
  stepFrom: number;
  stepTo: number;
  /** The break that put it there. Unset if it stands where it was appended. */
  since?: TracedBreak;
  /** Whether the place shows all lines of the message. */
  isWhole: boolean;
  /** Unless it is verbatim: the lines of the message that packs still show, up to 50, in any zone. */
  lines: ShownLine[];
}

export function tracedMessageOf(message: pb.TracedMessage): TracedMessage {
  const value: TracedMessage = {
    ref: message.ref,
    place: message.place,
    stepFrom: message.stepFrom,
    stepTo: message.stepTo,
    isWhole: message.isWhole,
    lines: message.lines.map(shownLineOf),
  };
  if (message.since !== undefined) value.since = tracedBreakOf(message.since);
  return value;
}

/** A break of the prefix that changed where a message is. */
export interface TracedBreak {
  /** The epoch that began with it. `windows.getLineage` has the receipt. */
  epoch: number;
  /** See FoldReceipt. */
  reason: string;
  /** The sentence of the receipt about the message. Empty if it has none. */
  rule: string;
  createdAt: string;
}

export function tracedBreakOf(message: pb.TracedBreak): TracedBreak {
  return {
    epoch: message.epoch,
    reason: message.reason,
    rule: message.rule,
    createdAt: timeText(message.createdAt),
  };
}

/** A line of a message, as a pack shows it. */
export interface ShownLine {
  /** The zone of the pack: see PackPart. */
  zone: string;
  ref: string;
  /** Up to 500 characters. */
  text: string;
}

export function shownLineOf(message: pb.ShownLine): ShownLine {
  return {
    zone: message.zone,
    ref: message.ref,
    text: message.text,
  };
}

/** When packs showed a text last. */
export interface TracedSentence {
  /** The message of the range with the text that packs showed last. */
  ref: string;
  /** Whether the current pack shows the text. */
  isShown: boolean;
  /** The epoch of the last pack that showed it. -1 if no pack did, or if the window does not know. */
  lastEpoch: number;
  /** The break after which no pack showed it. Unset if it is shown. */
  removedBy?: TracedBreak;
  /** False if the window no longer has all that its packs of that time showed. Then an earlier break may have removed it. */
  isExact: boolean;
}

export function tracedSentenceOf(message: pb.TracedSentence): TracedSentence {
  const value: TracedSentence = {
    ref: message.ref,
    isShown: message.isShown,
    lastEpoch: message.lastEpoch,
    isExact: message.isExact,
  };
  if (message.removedBy !== undefined) value.removedBy = tracedBreakOf(message.removedBy);
  return value;
}

/** How the counts of a window compare with its bills. */
export interface Calibrated {
  /** The factor that the window's budget uses from now on: see Window. */
  tokenFactor: number;
  /** The median ratio of billed to counted tokens. Use it to estimate bills; `tokenFactor` is the upper bound. */
  typicalFactor: number;
  /**
   * The ratio of this call was outside of the accepted range, and counts as 0.5 or 2. Such a bill is for something
   * else, such as pictures.
   */
  isClamped: boolean;
}

export function calibratedOf(message: pb.RecordUsageResponse): Calibrated {
  return {
    tokenFactor: message.tokenFactor,
    typicalFactor: message.typicalFactor,
    isClamped: message.isClamped,
  };
}

/** Billed tokens of prompts, and their cost. */
export interface PackCost {
  /** Tokens read from the vendor's cache. */
  readTokens: bigint;
  /** Tokens written to the vendor's cache. */
  writtenTokens: bigint;
  /** Cost in tokens without a cache: a token that is read counts as 0.1, a token that is written as 1.25. */
  baseTokens: number;
  /** Cost by the `prices` of the window's config, if those are per million tokens. */
  price: number;
}

export function packCostOf(message: pb.PackCost): PackCost {
  return {
    readTokens: message.readTokens,
    writtenTokens: message.writtenTokens,
    baseTokens: message.baseTokens,
    price: message.price,
  };
}

/** The cost of a window's next packs. */
export interface CostEstimate {
  /** The next pack, one step longer than the last one, if the vendor's cache holds the last pack. */
  warm: PackCost;
  /** The next pack, if the cache holds nothing. */
  cold: PackCost;
  /** The pack after a fold. */
  fold: PackCost;
  /** All packs of the steps ahead, including their folds. */
  ahead: PackCost;
  /** Number of folds among those steps. */
  folds: number;
  /** The same steps with a sliding window, which drops the older half whenever it is full. */
  sliding: PackCost;
  /** Counted tokens of one step. */
  stepTokens: number;
  /** Expected billed tokens for each counted token: see RecordUsageResponse. */
  typicalFactor: number;
}

export function costEstimateOf(message: pb.EstimateCostResponse): CostEstimate {
  return {
    warm: packCostOf(message.warm ?? create(pb.PackCostSchema)),
    cold: packCostOf(message.cold ?? create(pb.PackCostSchema)),
    fold: packCostOf(message.fold ?? create(pb.PackCostSchema)),
    ahead: packCostOf(message.ahead ?? create(pb.PackCostSchema)),
    folds: message.folds,
    sliding: packCostOf(message.sliding ?? create(pb.PackCostSchema)),
    stepTokens: message.stepTokens,
    typicalFactor: message.typicalFactor,
  };
}

/** Statistics of a window. */
export interface WindowStats {
  stepCount: number;
  /** Tokens of all messages that it has read, as their context counts them. */
  logTokens: bigint;
  /** Counted tokens of the window; `tokensByZone` has them by zone. */
  tokens: number;
  tokensByZone: PackZones;
  /** What each zone shows of the log, the deepest zone first. */
  levels: LevelStats[];
  /** Share of the log, with prompt, tools and goal, that need not be sent: 0 to 1. */
  savings: number;
  /** Number of breaks of the prefix by reason, over the last 5,000 breaks. */
  breaks: Record<string, number>;
  /**
   * Cost of its packs with one pack after each step and a warm cache of the vendor. `predictedCachedShare` is the
   * share of their tokens with which the pack before also began.
   */
  predicted: PackCost;
  predictedCachedShare: number;
  /** Billed tokens: see windows.recordUsage. */
  usage: WindowUsage;
  /** See Window and RecordUsageResponse. */
  tokenFactor: number;
  typicalFactor: number;
  tokensAreEstimated: boolean;
}

export function windowStatsOf(message: pb.WindowStatsResponse): WindowStats {
  return {
    stepCount: message.stepCount,
    logTokens: message.logTokens,
    tokens: message.tokens,
    tokensByZone: packZonesOf(message.tokensByZone ?? create(pb.PackZonesSchema)),
    levels: message.levels.map(levelStatsOf),
    savings: message.savings,
    breaks: Object.fromEntries(message.breaks.map((item) => [item.reason, item.count])),
    predicted: packCostOf(message.predicted ?? create(pb.PackCostSchema)),
    predictedCachedShare: message.predictedCachedShare,
    usage: windowUsageOf(message.usage ?? create(pb.WindowUsageSchema)),
    tokenFactor: message.tokenFactor,
    typicalFactor: message.typicalFactor,
    tokensAreEstimated: message.tokensAreEstimated,
  };
}

/** What a zone of a window shows of the log. */
export interface LevelStats {
  /** "digests", "segments", "masked" or "verbatim". */
  zone: string;
  /** Number of steps that the zone stands for. */
  stepCount: number;
  /** Tokens of these steps in the log. */
  logTokens: bigint;
  /** Tokens that the zone shows. */
  tokens: number;
  /** `logTokens` divided by `tokens`. */
  ratio: number;
}

export function levelStatsOf(message: pb.LevelStats): LevelStats {
  return {
    zone: message.zone,
    stepCount: message.stepCount,
    logTokens: message.logTokens,
    tokens: message.tokens,
    ratio: message.ratio,
  };
}

/** Sum of all bills for packs of a window. */
export interface WindowUsage {
  callCount: bigint;
  /** Tokens of packs, as the window counted them. */
  packTokens: bigint;
  inputTokens: bigint;
  cachedTokens: bigint;
  cacheWriteTokens: bigint;
  outputTokens: bigint;
  /** Share of the input that was read from a cache: 0 to 1. */
  cachedShare: number;
  /** As in PackCost; only `price` includes answers. */
  baseTokens: number;
  /** The price, answers included. */
  price: number;
}

export function windowUsageOf(message: pb.WindowUsage): WindowUsage {
  return {
    callCount: message.callCount,
    packTokens: message.packTokens,
    inputTokens: message.inputTokens,
    cachedTokens: message.cachedTokens,
    cacheWriteTokens: message.cacheWriteTokens,
    outputTokens: message.outputTokens,
    cachedShare: message.cachedShare,
    baseTokens: message.baseTokens,
    price: message.price,
  };
}

/** An entry of the state of the work. */
export interface StateEntry {
  /**
   * "goal", "sub_goal", "constraint", "value", "contested" (a rule or a value that a later statement may
   * change: the text has the newer statement, then the older one), "other_rule" (a rule of a speaker that is not among
   * `ruleAuthors`), "decision", "next" (what the assistant said last
   * that it would do), "question", "error", "artifact", "progress" or "pin".
   * Counted entries are "tool" (tools that were called) and "entity" (things that were mentioned), up to 50 of each,
   * the most frequent first.
   */
  section: string;
  /**
   * Name of the entry, such as the name of a value or the path of a file. A later entry with the same key replaces it.
   * For a pin, its id. For an error of a tool, the call that failed.
   */
  key: string;
  /** The original text. */
  text: string;
  /**
   * For a value: the value itself. For a sub-goal: its status. For an error: what helped. For progress: per cent, if
   * known. For an artifact: "read" or "edited". For a question: the role that asks, followed by ", replied" after a
   * reply that did not surely answer it. For a contested entry: the value or the rule that may have changed. For an entity: "node" (an id in the entity graph that metadata or data
   * name), "path" or "name".
   */
  value: string;
  /** Ref of the source. Empty if a caller set the entry. */
  ref: string;
  createdAt: string;
  /**
   * The source of the entry: "rule" (a rule read it from the log), "model" (a model found it there when a fold was
   * prepared) or "caller".
   */
  source: string;
  /** For a tool: the number of its calls. For an entity: the number of steps that mention it. */
  count: number;
  /** For a tool: the number of failed calls. */
  failureCount: number;
  /** The newest step with the tool or the entity. */
  lastStep: number;
  /**
   * The speaker of the original text, such as "user Ann", "assistant" or "tool run_tests". Empty if a caller set the
   * entry, and for counted entries. An error with its solution has the speakers within its text.
   */
  speaker: string;
}

export function stateEntryOf(message: pb.StateEntry): StateEntry {
  return {
    section: message.section,
    key: message.key,
    text: message.text,
    value: message.value,
    ref: message.ref,
    createdAt: timeText(message.createdAt),
    source: message.source,
    count: message.count,
    failureCount: message.failureCount,
    lastStep: message.lastStep,
    speaker: message.speaker,
  };
}
