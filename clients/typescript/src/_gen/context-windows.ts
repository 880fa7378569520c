// Made from contextkeep/context/v1/context_windows.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/context_windows_pb.js";
import * as contextsPb from "../gen/contextkeep/context/v1/contexts_pb.js";
import { type JsonObject, parseJson } from "../json.js";
import { timeText } from "../times.js";
import { bodyOf, formatOf } from "../windows.js";
import { type RecalledItem, recalledItemOf } from "./contexts.js";
import { type ChatMessage, type Imported, chatMessageOf, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

/** A change of a window: one of the first three fields. */
export interface WindowEvent {
  /** The prefix broke. */
  broken?: FoldReceipt;
  /** It came into the state, by what the window read, by a caller, or as a pin. */
  entry?: StateEntry;
  /** As it is now, without `systemPrompt` and `toolsJson`. At the beginning, whatever is known of it. */
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

/** What a model is to see of a context. */
export interface Window {
  windowId: string;
  contextId: string;
  model: string;
  /** Whose messages it packs. */
  format: string;
  /** Whose tokenizer counts: "o200k", "cl100k", "claude" or "gemini". */
  tokensFamily: string;
  /** What the model takes, with its answer. */
  contextTokens: number;
  /** What a request may have: the smaller of the budget and what the answer leaves. */
  tokenLimit: number;
  /** Empty in lists, like `toolsJson`. */
  systemPrompt: string;
  tools: unknown[];
  goal: string;
  /**
   * How often the prefix of its packs was broken: by folds, by other prompts, tools, goals and pins, by messages that were retracted, and by
   * rollbacks.
   */
  epoch: number;
  /** All messages up to this `seq` are in it. */
  reachedSeq: bigint;
  /** Steps that it has, and of them those that summaries stand for. */
  stepCount: number;
  /** Steps for which summaries stand. */
  leftOutCount: number;
  ownerUserId: string;
  /** The subject of the credential that opened it. */
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  isClosed: boolean;
  /** What it keeps when it folds: "general", "coding", "research" or "operations", or one of the tenant's with its version, such as "mine@3". */
  compressionProfile: string;
  /** As it was said, and the defaults. */
  config: WindowConfig;
  /**
   * Of its packs together, and of those of all that was forked from it, each counted once, since `config` has a `maxTotalTokens`; 0 without
   * one. Of a fork: of its own.
   */
  spentTokens: number;
  /**
   * Tokens as it counts them, times this, are what a vendor bills for them in 95 of 100 calls at most: 1, until windows.recordUsage says better. It is
   * never over `tokenLimit` by that.
   */
  tokenFactor: number;
  /** Its counts are estimates: the vendor's tokenizer is not public, or not installed. */
  tokensAreEstimated: boolean;
  /** Of messages that rollbacks left out: "m51..m90". */
  leftOutRefs: string[];
  /** Unset: no import wrote it. */
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
 * How a window folds, and what it may cost. Unset is the default, which is named. Numbers that are none (NaN, infinite), out of their range, or
 * that contradict each other are InvalidArgument with the field's name, such as "config.tier_ratios".
 */
export interface WindowConfig {
  importanceWeights?: ImportanceWeights;
  tierRatios?: TierRatios;
  /** Shares of `tokenLimit`: over `highMark` (0.97; 0.1 to 1) it folds, until `lowMark` is left (0.5; 0 and more, below the other). */
  highMark?: number;
  /** The share that is left after a fold; 0.5. */
  lowMark?: number;
  /** The last steps, which a fold leaves as they are if they fit `tier_ratios.hot`: 10; 1 to 1,000. */
  keepLastSteps?: number;
  /** Steps of a segment: 20; 1 to 1,000. */
  summarizeEveryNSteps?: number;
  prices?: TokenPrices;
  /**
   * Tokens that the packs of the window may have together, up to 10^15; 0: any number, which is the default. Each pack counts once, with what it
   * says in `tokens`, one that waits for results not at all; it is what the packs would cost, whatever was sent to a model. Packs of its forks,
   * and of theirs, count, too: the run may have so many, whoever works. A fork begins without a limit of its own, and may get one besides.
   */
  maxTotalTokens?: number;
  /**
   * How long the vendor's cache keeps a prompt that nobody sends, up to 86,400 seconds; 0: for ever. By default 300, of OpenAI's models 600. A
   * window that was not packed for longer, by the database's clock, folds with its next message if it is above half way between its marks and
   * that takes away a quarter: all of it would be written anew anyway. Another pack of the same log is the same, whenever.
   */
  cacheTtlS?: number;
  /** It makes a checkpoint behind so many steps, up to 1,000, and before each fold: 50. 0: it makes none. */
  checkpointEveryNSteps?: number;
  /** What windows.reportResponse leaves out: "rollback_to_checkpoint", the default, or "reread_from_checkpoint". */
  recoveryStrategy?: string;
  /**
   * What writes the segments of folds that are prepared (windows.prepareFold): "auto", the default, is the first of LLM_MODEL that takes so much, if
   * there is one; or one of these by its name; "none" are lines of the originals, which all other folds choose.
   */
  summarizationModel?: string;
  /** What it shall write down, up to 4,000 characters, in the place of the default; the form of its answer and what becomes of it stay. */
  summarizationPrompt?: string;
  /** "structured", the default: each line says one thing by itself, the most important first; or "narrative": they tell in order what happened. */
  summarizationStyle?: string;
  /**
   * Off. What is expanded and searched for of what folds took out of sight is counted, by kinds of lines and rules of results of the profile, of
   * all windows of the app and profile that learn; a key of a context teaches nothing. From 20 contexts on, and again from twice as many, a
   * version of the profile follows whose weights and caps differ by up to a fifth; a window that is opened with this gets the newest.
   */
  learning?: boolean;
  /**
   * Off. Behind a user's message, what the things at hand were last used with is recalled, too: those that the open sub-goals name, then
   * those of the last ten steps.
   */
  prefetch?: boolean;
}

export function windowConfigOf(message: pb.WindowConfig): WindowConfig {
  const value: WindowConfig = {
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
  return value;
}

/** What makes a line worth keeping, when not all have room. 0 to 1 each; not all 0; they need not add up to 1. */
export interface ImportanceWeights {
  /** How new it is: half as much every 30 steps. 0.1. */
  recency?: number;
  /** What it has of the goal's words. 0.15. */
  relevance?: number;
  /** How many later steps speak of the same things. 0.1. */
  causal?: number;
  /** Whether it says where something is. 0.05. */
  references?: number;
  /** Whether its step ended well. 0.05. */
  success?: number;
  /** What the profile makes of its kind. 0.55. */
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

/** What a fold leaves to each zone, as shares of `tokenLimit`: caps, not sizes. 0 to 1 each, and together up to 1. */
export interface TierRatios {
  /** The last steps, as they were. 0.4. */
  hot?: number;
  /** 0.14. */
  segments?: number;
  /** 0.14. */
  digests?: number;
  /** Of the state, what need not be there: constraints and values are there, whatever they have. 0.07. */
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

/** Of a token each, in one unit, such as dollars a million. 0 to 1,000,000. */
export interface TokenPrices {
  /** Of a prompt. 1. */
  input?: number;
  /** Of a prompt, written to the vendor's cache. 1.25. */
  cacheWrite?: number;
  /** Of a prompt, read from it. 0.1. */
  cacheRead?: number;
  /** Of an answer. 5. */
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

/** What is worth keeping of a log. */
export interface CompressionProfile {
  name: string;
  /** From 1; 0 of one that comes with the service. */
  version: number;
  isBuiltIn: boolean;
  /** YAML or JSON, if it was asked for. */
  text: string;
  /** Of the version; none of one that comes with the service. */
  createdBy: string;
  /** When the version was made. Empty: the profile comes with the service. */
  createdAt: string;
  /** Of a version that was learned, which has no `text`. */
  learned?: LearnedProfile;
  /** Of the version. Unset: no import wrote it. */
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

/** What was learned of a profile: it is `base` with other numbers. */
export interface LearnedProfile {
  /** Such as "coding" or "mine@2". */
  base: string;
  /** Of whose windows; empty: of those of no app. */
  appId: string;
  /** From how many contexts: at least 20. */
  contextCount: number;
  /**
   * By what the weights of kinds of lines are multiplied, and the characters of rules of `tool_output_trim`, by their number, from 0, or
   * "default": 0.8 to 1.2. What is not named is as it is in `base`.
   */
  lineFactors: Record<string, number>;
  /** By what characters of rules of `tool_output_trim` are multiplied, by the rule's number, or "default". */
  resultFactors: Record<string, number>;
  /** Of which counts this follows, if it was asked for. */
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

/** How often something was looked up. */
export interface LearnedCount {
  /** That folds took out of sight. */
  seen: bigint;
  /** How often such a one was looked up then. */
  asked: bigint;
}

export function learnedCountOf(message: pb.LearnedCount): LearnedCount {
  return {
    seen: message.seen,
    asked: message.asked,
  };
}

/** What is known of a profile and an app. */
export interface Learning {
  /** As windows have it that learn of it. */
  profile: string;
  appId: string;
  /** Nothing more is counted and learned. */
  isFrozen: boolean;
  /** That windows get which learn; 0: none was learned. */
  version: number;
  /** In how many something was looked up, since it was undone. */
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

/** What was forked from a window. */
export interface WindowFork {
  /** Such as "f3": what its refs begin with. A fork of a fork is "f3:f1". */
  ref: string;
  contextId: string;
  windowId: string;
  createdAt: string;
  /** The message that its result came back as, such as "m57". Empty: it was not merged. */
  mergedRef: string;
  /** It was merged, or it is erased. */
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

/** What a pack is made of, the most stable first, in tokens. */
export interface PackZones {
  /** System prompt, goal and tools. */
  system: number;
  /** Notes: on what is superseded, and on a beginning. */
  note: number;
  /** Steps as they were. */
  verbatim: number;
  /** Steps with results cut to what matters. */
  masked: number;
  digests: number;
  segments: number;
  state: number;
  recalled: number;
  /** What callers pinned. */
  pins: number;
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
  };
}

/** What a pack shows in excerpts only. */
export interface PackOmissions {
  stepCount: number;
  tokens: number;
  /** What `windows.expand` takes for their messages, the oldest first: one for each summary that stands for some. */
  refs: string[];
}

export function packOmissionsOf(message: pb.PackOmissions): PackOmissions {
  return {
    stepCount: message.stepCount,
    tokens: Number(message.tokens),
    refs: message.refs,
  };
}

/** What a model is to see now. */
export interface Pack {
  /** A JSON object for the body of a request, as in GetChatHistoryResponse, with `tools` if there are any. */
  messagesJson: string;
  /**
   * The first bytes of it, with which the next pack begins, too, as long as the `epoch` is the same: how many, and their SHA-256 in
   * hexadecimal.
   */
  prefixBytes: number;
  /** SHA-256 of those bytes, in hexadecimal. */
  prefixSha: string;
  /** Of all that is sent, as they are counted, and what they are made of. */
  tokens: number;
  /** The tokens of each zone. */
  tokensByZone: PackZones;
  /** Steps that are seen. */
  stepCount: number;
  /** What is seen in excerpts only; `refs` are of its messages. */
  omitted: PackOmissions;
  epoch: number;
  /** The newest message that was read. */
  lastSeq: bigint;
  /** The last step waits for results of its calls: a model is to be asked when they are there. */
  isWaiting: boolean;
  /** After about how many more steps like the last ones it folds. */
  foldEtaSteps: number;
  /** The work should come to its end: of `maxTotalTokens` 90 % are spent, or a pack twice as large would not fit. */
  wrapUp: boolean;
  /** `tokens` times the window's `tokenFactor`: what is billed at most, as far as is known. Never more than its `tokenLimit`. */
  calibratedTokens: number;
  /**
   * Where a vendor's cache of prompts is to be told that something ends that stays: up to 4, in their order, the last one at the end of what
   * begins the next pack, too. Those with less than 1,024 tokens in front of them, which no vendor keeps, are left out, but for the last.
   */
  breakpoints: CacheBreakpoint[];
  /** For windows.reportResponse. All packs of an epoch and a `lastSeq` have the same. */
  packId: string;
  /** Of the passages that it recalls, such as "m37.0", in their order, each once. */
  recalledRefs: string[];
  /** What an extension of the operator's says of it: see docs/windows.md. */
  annotations: Record<string, string>;
  /** What goes into the request: `messages`, and for Anthropic `system`; for Gemini `contents`; for Responses `input`; and `tools`. */
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
    body: bodyOf(message),
  };
}

/** A place of a pack. */
export interface CacheBreakpoint {
  /**
   * The last piece in front of it, as a JSON Pointer into the whole `messagesJson`: "/system/0", "/messages/3/content/1" for Anthropic, which takes a
   * `cache_control` there; for OpenAI "/messages/3" or "/input/3", for Gemini "/contents/3/parts/0".
   */
  pointer: string;
  /** What ends there: "system" (with tools and goal), "digests" (with pins), "state" (with segments) or "verbatim" (all). */
  zone: string;
  /** Of the pack up to there. */
  tokens: number;
}

export function cacheBreakpointOf(message: pb.CacheBreakpoint): CacheBreakpoint {
  return {
    pointer: message.pointer,
    zone: message.zone,
    tokens: message.tokens,
  };
}

/** The account of a break of the prefix. */
export interface FoldReceipt {
  /** Since it. */
  epoch: number;
  /** Of folds "high_mark", "cache_cold", "requested", "goal" or "prepared"; else "updated", "pinned", "unpinned", "retracted" or "rolled_back". */
  reason: string;
  /** Empty: the fold is not done. */
  createdAt: string;
  /** How far the window had read. */
  lastSeq: bigint;
  stepCount: number;
  /** Of what was seen before, and behind it. */
  tokensBefore: number;
  tokensAfter: number;
  /** What was done, a sentence each. */
  rules: string[];
  /** Numbers of the steps that are masked since, and how many are in summaries since. */
  maskedSteps: number[];
  /** Steps that are in summaries since. */
  mergedStepCount: number;
  /** Notes and recalled passages that are shown no longer. */
  droppedCount: number;
  /** Those that are new. */
  summaries: PackPart[];
  /** Of the state, and entries for which it had no room. */
  stateTokens: number;
  /** Entries for which the state had no room. */
  stateLeftOutCount: number;
  /**
   * Where the prefix breaks: "system", "pins", "digests", "segments", "state" or, of what it is rolled back to, "verbatim"; tokens in front of it, which a vendor's cache keeps, and behind, which are
   * written again.
   */
  firstChange: string;
  /** Tokens in front of that: a vendor's cache keeps them. */
  tokensKept: number;
  /** Tokens after it, which are written again. */
  tokensWrittenAgain: number;
  /** After how many steps the smaller prompt has paid for that, at the window's prices. -1: never. */
  paysAfterSteps: number;
  /** Entries that the state shows since and did not show before, and those that it shows no longer: superseded, taken back, or of no room. */
  stateAdded: StateChange[];
  /** Entries that the state shows no longer. */
  stateRemoved: StateChange[];
  /** Of a fold: by which the budget was kept, and is from then on: see Window. */
  tokenFactor: number;
  /** Of a fold that was prepared: how far the window had read when it was. 0: it was not. */
  preparedLastSeq: bigint;
  /** Of a rollback: to which checkpoint, the messages that are left out since, such as "m51..m90", and how many steps are counted no more. */
  checkpoint: number;
  /** Of messages that are left out since. */
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

/** A way back. */
export interface Checkpoint {
  /** From 1, of the window; none is given twice. */
  number: number;
  /** "steps", "fold" (before it) or "caller". */
  reason: string;
  /** Of a caller's. */
  label: string;
  /** Empty: the window made it. */
  createdBy: string;
  createdAt: string;
  epoch: number;
  /** The newest message that the window had read, and how many steps it had. */
  lastSeq: bigint;
  stepCount: number;
  /** Unset: no import wrote it. */
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

/** What a rollback did. */
export interface RolledBack {
  receipt: FoldReceipt;
  /** Ids of the messages that are left out since, oldest first: the first 1,000 of them, without those that were retracted. */
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

/** An entry that came into the state as a model reads it, or left it. What it says is where it was said, and goes with that. */
export interface StateChange {
  /** See StateEntry. */
  section: string;
  /** Expand takes it and returns the entry's text. */
  ref: string;
}

export function stateChangeOf(message: pb.StateChange): StateChange {
  return {
    section: message.section,
    ref: message.ref,
  };
}

/** What came back of a fork: a message where it was forked. */
export interface Merged {
  /** Of what it was forked from. */
  contextId: string;
  windowId: string;
  /** The message that came back, such as "m57". */
  ref: string;
  messageId: string;
  /** Of its text. */
  tokens: number;
  /** All that there was to bring back had room. */
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

/** What a ref names: the bytes of a part or a passage, or messages. */
export interface Original {
  /** Of a part or a passage: its bytes as they came, text or JSON, and their SHA-256 in hexadecimal. */
  content: Uint8Array;
  /** SHA-256 of `content`, in hexadecimal. */
  sha256: string;
  /** Of messages: themselves, up to 2 MiB; those that were retracted are missing. */
  messages: ChatMessage[];
  /** What comes behind them, if there is more. */
  nextRef: string;
  /** `content` is JSON, as of data, calls and results: what a tool answered as a text is a JSON string. */
  isJson: boolean;
}

export function originalOf(message: pb.ExpandResponse): Original {
  return {
    content: message.content,
    sha256: message.sha256,
    messages: message.messages.map(chatMessageOf),
    nextRef: message.nextRef,
    isJson: message.isJson,
  };
}

/** A passage of a window's log, with its steps. 0: the window has not read it. */
export interface WindowHit {
  item: RecalledItem;
  /** The step that it is of, or the steps of its segment. 0: none that the window has read. */
  stepFrom: number;
  stepTo: number;
  /** Whether the window shows its step: "verbatim", "masked", "segments" or "digests"; empty: it has not read it. */
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

/** A part of what a window shows. */
export interface PackPart {
  /** "pins", "digests", "segments", "state", "masked", "verbatim", "recalled" or "note". */
  zone: string;
  /** Of summaries: 2 a segment, 3 a digest of segments, 4 one of digests, and so on. */
  level: number;
  stepFrom: number;
  stepTo: number;
  /** What `windows.expand` takes for the originals. Empty of what the window says itself. */
  ref: string;
  tokens: number;
  /**
   * Of summaries: "extractive", lines of the originals, or "model". If a model was asked, what became of what it wrote: "accepted", or which
   * check it failed, such as "grounding: 8443 is in no source of its line"; then it is not used.
   */
  method: string;
  /** Of a summary that a model wrote: "accepted", or why it is not used. Empty: no model was asked. */
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

/** How a window's counts of tokens compare with a bill. */
export interface Calibrated {
  /** What the window's budget is kept by from now on: see Window. */
  tokenFactor: number;
  /** What tokens are billed at in half of the calls: for what is expected, and not at most. */
  typicalFactor: number;
  /** The ratio of this call was beyond what is believed, and counts as 0.5 or 2: such a bill is for something else, such as pictures. */
  isClamped: boolean;
}

export function calibratedOf(message: pb.RecordUsageResponse): Calibrated {
  return {
    tokenFactor: message.tokenFactor,
    typicalFactor: message.typicalFactor,
    isClamped: message.isClamped,
  };
}

/** Tokens of prompts, as they are billed, and what they cost. */
export interface PackCost {
  /** Read from the vendor's cache, and written to it. */
  readTokens: bigint;
  /** Tokens written to the vendor's cache. */
  writtenTokens: bigint;
  /** In tokens that no cache is asked for: 0.1 of one that is read, 1.25 of one that is written. */
  baseTokens: number;
  /** By `prices` of the window's config, if those are of a million tokens each. */
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

/** What a window's next packs cost. */
export interface CostEstimate {
  /** The next pack, a step longer than the last: if the vendor's cache holds that, and if it holds nothing. */
  warm: PackCost;
  /** The next pack, if the cache holds nothing. */
  cold: PackCost;
  /** The pack behind a fold. */
  fold: PackCost;
  /** All packs of the steps, and how many folds they have. */
  ahead: PackCost;
  /** Folds among those steps. */
  folds: number;
  /** The same of a window that leaves out the older half whenever it is full. */
  sliding: PackCost;
  /** Of one step, as counted. */
  stepTokens: number;
  /** What is billed for a token that is counted: see RecordUsageResponse. */
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

/** A window in numbers. */
export interface WindowStats {
  stepCount: number;
  /** Of all messages that it has read, as their context counts them. */
  logTokens: bigint;
  /** Of what it shows, as they are counted, and by zone. */
  tokens: number;
  tokensByZone: PackZones;
  /** What each zone shows of the log, the deepest first. */
  levels: LevelStats[];
  /** Share of the log, with what stands in front, that need not be sent: 0 to 1. */
  savings: number;
  /** How often the prefix broke, and why; of the last 5,000 breaks. */
  breaks: Record<string, number>;
  /**
   * Of its packs, if there was one behind each step and the vendor's cache stayed warm: what they cost, and the share of their tokens that the
   * pack before had in front.
   */
  predicted: PackCost;
  predictedCachedShare: number;
  /** What was billed: see windows.recordUsage. */
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
  /** Steps that the zone stands for, and their tokens in the log. */
  stepCount: number;
  /** Of the log that it stands for, and of what is shown of it; and how many times fewer that is. */
  logTokens: bigint;
  /** Tokens that the zone shows, and how many times fewer that is. */
  tokens: number;
  /** `logTokens` by `tokens`. */
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

/** What was billed for the packs of a window, together. */
export interface WindowUsage {
  callCount: bigint;
  /** Tokens of packs, as the window counted them. */
  packTokens: bigint;
  inputTokens: bigint;
  cachedTokens: bigint;
  cacheWriteTokens: bigint;
  outputTokens: bigint;
  /** Of the input, what was read from a cache: 0 to 1. */
  cachedShare: number;
  /** As in PackCost, with answers in `price`. */
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

/** A statement of the state. */
export interface StateEntry {
  /**
   * "goal", "sub_goal", "constraint", "value", "decision", "question", "error", "artifact", "progress" or "pin"; and of what is counted "tool",
   * the tools that were called, and "entity", the things that are spoken of, up to 50 of each, the most frequent first.
   */
  section: string;
  /** What it is of, such as the name of a value or the path of a file: a later one takes its place. Of a pin its id. */
  key: string;
  /** As it was said. */
  text: string;
  /**
   * Of a value, what it is; of a sub-goal its status; of an error, what helped; of progress the per cent, if it says them; of an artifact "read"
   * or "edited"; of an entity "node" (an id in the entity graph that metadata or data name), "path" or "name".
   */
  value: string;
  /** Where. Empty of what a caller said. */
  ref: string;
  createdAt: string;
  /** Who says so: "rule", which read it in the log, "model", which found it there when a fold was prepared, or "caller". */
  source: string;
  /** Of a tool its calls, and how many of them failed; of an entity the steps that speak of it. And the last step that has it. */
  count: number;
  /** Of a tool. */
  failureCount: number;
  /** The newest step that has it. */
  lastStep: number;
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
  };
}
