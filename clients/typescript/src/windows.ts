/** Windows on contexts: what callers see of them. */

import { create } from "@bufbuild/protobuf";

import * as pb from "./gen/contextkeep/context/v1/context_windows_pb.js";
import { type ContextKey, type RecalledItem, recalledItemOf } from "./contexts.js";
import { type ChatMessage, FORMATS, chatMessageOf } from "./history.js";
import { type Imported, importedField } from "./imported.js";
import { type JsonObject, parseJson, parseObject } from "./json.js";
import { fieldsOf, whole } from "./messages.js";
import { timeText } from "./times.js";

/** What is worth keeping of a log, as data. */
export interface CompressionProfile {
  name: string;
  /** From 1; 0 of one that comes with the service. */
  version: number;
  isBuiltIn: boolean;
  /** YAML or JSON, if it was asked for. */
  text: string;
  createdBy: string;
  /** Of the version; empty of one that comes with the service. */
  createdAt: string;
  /** Of a version that was learned, which has no `text`. */
  learned?: LearnedProfile;
}

/** What was learned of a profile: it is `base` with other numbers. */
export interface LearnedProfile {
  base: string;
  /** Of whose windows; empty: of those of no app. */
  appId: string;
  /** From how many contexts. */
  contextCount: number;
  /** By what weights of kinds of lines are multiplied, and characters of rules of `tool_output_trim`: 0.8 to 1.2. */
  lineFactors: Record<string, number>;
  resultFactors: Record<string, number>;
  /** Of which counts this follows, if they were asked for. */
  lineCounts: Record<string, LearnedCount>;
  resultCounts: Record<string, LearnedCount>;
}

export interface LearnedCount {
  /** That folds took out of sight. */
  seen: bigint;
  /** How often such a one was looked up then. */
  asked: bigint;
}

/** What is known of a profile and an app. */
export interface Learning {
  profile: string;
  appId: string;
  /** Nothing more is counted and learned. */
  isFrozen: boolean;
  /** That windows get which learn; 0: none was learned. */
  version: number;
  /** In how many something was looked up, since it was undone. */
  contextCount: number;
}

/** What one model shall see of a context. */
export interface Window {
  windowId: string;
  contextId: string;
  model: string;
  /** Whose messages it packs: see `MessageFormat`. */
  format: string;
  /** Whose tokenizer counts: "o200k", "cl100k", "claude" or "gemini". */
  tokensFamily: string;
  /** What the model takes, with its answer. */
  contextTokens: number;
  /** What a request may have. */
  tokenLimit: number;
  /** A list of windows lacks it, and `tools`. */
  systemPrompt: string;
  tools: unknown[];
  goal: string;
  /** How often the prefix of its packs was broken. */
  epoch: number;
  /** All messages up to it are in it. */
  reachedSeq: bigint;
  stepCount: number;
  /** Of them, steps that summaries stand for. */
  leftOutCount: number;
  ownerUserId: string;
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  /** Unset: no import wrote it. */
  imported?: Imported;
  isClosed: boolean;
  /** What it keeps when it folds. */
  compressionProfile: string;
  /** Tokens as it counts them, times this, are what is billed at most in 95 of 100 calls. */
  tokenFactor: number;
  /** The vendor's tokenizer is not public, or not installed. */
  tokensAreEstimated: boolean;
  /** With the defaults. */
  config: WindowConfig;
  /** Of messages that rollbacks left out: "m51..m90". */
  leftOutRefs: string[];
  /** What was forked from it, the newest 100, the newest first; `getWindow` alone says it. */
  forks?: WindowFork[];
  /** Of its packs together, if its config has `maxTotalTokens`. */
  spentTokens: number;
}

/** How a window folds, and what it may cost; what is left out has its default. */
export interface WindowConfig {
  /** What makes a line worth keeping, from 0 to 1 each: 0.1, 0.15, 0.1, 0.05, 0.05 and 0.55. */
  importanceWeights?: { recency?: number; relevance?: number; causal?: number; references?: number; success?: number; domain?: number };
  /** What a fold leaves to a zone at most, as shares of the limit: 0.4, 0.14, 0.14 and 0.07. */
  tierRatios?: { hot?: number; segments?: number; digests?: number; state?: number };
  /** Share of the limit over which it folds: 0.97. */
  highMark?: number;
  /** To which it folds: 0.5. */
  lowMark?: number;
  /** That a fold leaves as they are, if they fit `tierRatios.hot`: 10. */
  keepLastSteps?: number;
  /** Steps of a segment: 20. */
  summarizeEveryNSteps?: number;
  /** Of a token each, in one unit: 1, 1.25, 0.1 and 5. */
  prices?: { input?: number; cacheWrite?: number; cacheRead?: number; output?: number };
  /** That its packs may have together; 0: any number. */
  maxTotalTokens?: number;
  /** How long the vendor's cache keeps a prompt that nobody sends, in seconds: 300, of OpenAI's models 600; 0: for ever. */
  cacheTtlS?: number;
  /** It makes a checkpoint behind so many steps, and before each fold: 50; 0: none. */
  checkpointEveryNSteps?: number;
  /** What `reportResponse` leaves out: "rollback_to_checkpoint", the default, or "reread_from_checkpoint". */
  recoveryStrategy?: string;
  /** What writes the segments of folds that are prepared: "auto", a model of the service by its name, or "none". */
  summarizationModel?: string;
  /** What it shall write down; "": the default. */
  summarizationPrompt?: string;
  /** "structured" or "narrative". */
  summarizationStyle?: string;
  /** It counts what is looked up, and takes what was learned of its profile; off. */
  learning?: boolean;
  /** What the things at hand were last used with is recalled, too; off. */
  prefetch?: boolean;
}

/** What a model shall see now. */
export interface Pack {
  /** What goes into the request: `messages`, and for Anthropic `system`; for Gemini `contents`; for Responses `input`; and `tools`. */
  body: JsonObject;
  /** The same, byte for byte. */
  messagesJson: string;
  /** So many bytes of it begin the next pack, too, until the epoch is another one. */
  prefixBytes: number;
  /** Their SHA-256, in hexadecimal. */
  prefixSha: string;
  /** Of the whole. */
  tokens: number;
  tokensByZone: PackZones;
  /** Steps that are seen, as they were or masked. */
  stepCount: number;
  /** What is seen in excerpts only: `refs` are of its messages. */
  omitted: { stepCount: number; tokens: number; refs: string[] };
  epoch: number;
  /** The newest message that was read. */
  lastSeq: bigint;
  /** The last step waits for results: the model is to be asked when they are there. */
  isWaiting: boolean;
  /** After about how many more steps it folds. */
  foldEtaSteps: number;
  /** For `reportResponse`. */
  packId: string;
  /** The work should come to its end: `maxTotalTokens` of the window are nearly spent. */
  wrapUp: boolean;
  /** What is billed for `tokens` at most, as far as is known. */
  calibratedTokens: number;
  /** Where a vendor's cache of prompts is to be told that something ends that stays: up to 4, in their order. */
  breakpoints: CacheBreakpoint[];
  /** Of the passages that it recalls, in their order, each once. */
  recalledRefs: string[];
  /** Of what the operator of the service installed to decide on packs. */
  annotations: Record<string, string>;
}

/** A place of a pack. */
export interface CacheBreakpoint {
  /** The last piece in front of it, as a JSON Pointer into the body: for Anthropic "/messages/3/content/1", which takes a `cache_control`. */
  pointer: string;
  /** What ends there: "system", "digests", "state" or "verbatim". */
  zone: string;
  /** Of the pack up to there. */
  tokens: number;
}

/** Tokens of what a pack is made of. */
export interface PackZones {
  /** System prompt, goal and tools. */
  system: number;
  pins: number;
  /** What is superseded; that a conversation begins with the assistant. */
  note: number;
  digests: number;
  segments: number;
  state: number;
  /** Steps with results cut to what matters. */
  masked: number;
  /** Steps as they were. */
  verbatim: number;
  recalled: number;
}

/** Something that changed of a window: one of the first three. */
export interface WindowEvent {
  /** What is cached of packs of an earlier epoch holds no longer, and why. */
  broken?: FoldReceipt;
  /** It came into the state. */
  entry?: StateEntry;
  /** As it is now, without `systemPrompt` and `tools`. */
  window?: Window;
  /** From where on there is more, as the next one. */
  epochAfter: number;
  entryFrom: number;
}

/** A part of what a window shows. */
export interface PackPart {
  /** See `PackZones`. */
  zone: string;
  /** Of summaries: 2 a segment, 3 a digest of segments, 4 one of digests. */
  level: number;
  stepFrom: number;
  stepTo: number;
  /** What `expand` takes for the originals; empty of what the window says itself. */
  ref: string;
  tokens: number;
  /** Of summaries: "extractive", lines of the originals, or "model". */
  method: string;
  /** Of what a model wrote for it: "accepted", or why it is not used; empty: none was asked. */
  verdict: string;
}

/** An entry that came into the state as a model reads it, or left it; `expand` of its ref has what it says. */
export interface StateChange {
  /** See `StateEntry`. */
  section: string;
  ref: string;
}

/** The account of a break of a window's prefix. */
export interface FoldReceipt {
  /** Since it. */
  epoch: number;
  /** "high_mark", "cache_cold", "requested", "goal" or "prepared"; or "updated", "pinned", "unpinned", "retracted" or "rolled_back". */
  reason: string;
  /** Empty: it is not done. */
  createdAt: string;
  lastSeq: bigint;
  stepCount: number;
  tokensBefore: number;
  tokensAfter: number;
  /** What was done. */
  rules: string[];
  maskedSteps: number[];
  /** Steps that are in summaries since. */
  mergedStepCount: number;
  droppedCount: number;
  summaries: PackPart[];
  stateTokens: number;
  stateLeftOutCount: number;
  /** Entries that the state shows since and did not show before, and those that it shows no longer. */
  stateAdded: StateChange[];
  stateRemoved: StateChange[];
  /** The zone in which the prefix breaks, with the tokens in front of it, and those behind that are written again. */
  firstChange: string;
  tokensKept: number;
  tokensWrittenAgain: number;
  /** When the smaller prompt has paid for that; -1: never. */
  paysAfterSteps: number;
  /** Of a fold: by which the budget was kept, and is since. */
  tokenFactor: number;
  /** How far the window had read when it was prepared; 0: it was not. */
  preparedLastSeq: bigint;
  /** That it was rolled back to, and what is left out since; 0: it was not. */
  checkpoint: number;
  leftOutRefs: string[];
  leftOutStepCount: number;
}

/** A way back: what a window was. */
export interface Checkpoint {
  /** From 1, of the window. */
  number: number;
  /** "steps", "fold" (before it) or "caller". */
  reason: string;
  label: string;
  /** Empty: the window itself. */
  createdBy: string;
  createdAt: string;
  epoch: number;
  /** The newest message that the window had read. */
  lastSeq: bigint;
  stepCount: number;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

/** What was forked from a window. */
export interface WindowFork {
  /** Such as "f3": what its refs begin with. */
  ref: string;
  contextId: string;
  windowId: string;
  createdAt: string;
  /** The message that its result came back as. Empty: it was not merged. */
  mergedRef: string;
  /** It was merged, or it is erased. */
  isEnded: boolean;
}

/** A window of its own for a part of the work. */
export interface Forked {
  window: Window;
  /** Such as "f3": what its refs begin with, where it was forked. */
  ref: string;
  /** For its context alone, shown once. Left out: the caller's is of a context itself, and reaches it. */
  key?: ContextKey;
}

/** Of which steps it is known how they ended, and what is remembered of them. */
export interface Outcome {
  stepFrom: number;
  stepTo: number;
  /** Of the lesson, if there was one. */
  memoryId?: string;
}

/** What came back of a fork: a message where it was forked. */
export interface Merged {
  contextId: string;
  windowId: string;
  /** Such as "m57". */
  ref: string;
  messageId: string;
  tokens: number;
  /** All that there was to bring back had room. */
  isWhole: boolean;
  forkRef: string;
}

/** What to try again with, behind a response that was of no use. */
export interface Recovered {
  pack: Pack;
  /** Left out: it was done before. */
  rolledBack?: RolledBack;
}

/** What a rollback did. */
export interface RolledBack {
  receipt: FoldReceipt;
  /** The oldest first, up to 1,000. */
  leftOutMessageIds: string[];
  leftOutMessageCount: bigint;
}

/** What a vendor billed for a call of the model. */
export interface Billed {
  /** Of all of the prompt: of Anthropic's answers the sum of what was read from its cache, written to it, and neither. */
  inputTokens: number;
  /** Of them, what was read from a cache of the prompt. */
  cachedTokens?: number;
  /** And what was written to one. */
  cacheWriteTokens?: number;
  outputTokens?: number;
  /** `tokens` of the pack that was sent; without them the bill is kept, and nothing is learned of it. */
  packTokens?: number;
  /** And its `epoch`; else that which the window has now. */
  epoch?: number;
}

/** What a bill taught about a window's counts of tokens. */
export interface Calibrated {
  /** By which its budget is kept from now on: see `Window`. */
  tokenFactor: number;
  /** What a token is billed at in half of the calls. */
  typicalFactor: number;
  /** The bill was beyond what is believed, and counts as half or twice what was counted. */
  isClamped: boolean;
}

/** Tokens of prompts, as they are billed, and what they cost. */
export interface PackCost {
  /** From the vendor's cache. */
  readTokens: bigint;
  /** To it. */
  writtenTokens: bigint;
  /** What they cost, in tokens that no cache is asked for. */
  baseTokens: number;
  /** By the window's `prices`, if those are of a million tokens. */
  price: number;
}

/** What a window's next packs cost. */
export interface CostEstimate {
  /** The next one, if the vendor's cache holds the last; and if it holds nothing. */
  warm: PackCost;
  cold: PackCost;
  /** The one behind a fold. */
  fold: PackCost;
  /** All of the steps, and how many folds they have. */
  ahead: PackCost;
  folds: number;
  /** The same of a window that leaves out the older half whenever it is full. */
  sliding: PackCost;
  /** Of one step, as counted. */
  stepTokens: number;
  /** What a token that is counted is billed at. */
  typicalFactor: number;
}

/** What a zone of a window shows of the log. */
export interface LevelStats {
  /** "digests", "segments", "masked" or "verbatim". */
  zone: string;
  /** That it stands for, with their tokens. */
  stepCount: number;
  logTokens: bigint;
  /** That are shown, and how many times fewer that is. */
  tokens: number;
  ratio: number;
}

/** What was billed for the packs of a window, together. */
export interface WindowUsage {
  callCount: bigint;
  packTokens: bigint;
  inputTokens: bigint;
  cachedTokens: bigint;
  cacheWriteTokens: bigint;
  outputTokens: bigint;
  /** Of the input, what was read from a cache. */
  cachedShare: number;
  baseTokens: number;
  /** With the answers. */
  price: number;
}

/** A window in numbers. */
export interface WindowStats {
  stepCount: number;
  /** Of all messages that it has read, as their context counts them. */
  logTokens: bigint;
  /** Of what it shows. */
  tokens: number;
  tokensByZone: PackZones;
  /** The deepest first. */
  levels: LevelStats[];
  /** Share of the log, with what stands in front, that need not be sent. */
  savings: number;
  /** Of the prefix, by reason. */
  breaks: Record<string, number>;
  /** Of its packs, if there was one behind each step and the cache stayed warm. */
  predicted: PackCost;
  predictedCachedShare: number;
  usage: WindowUsage;
  tokenFactor: number;
  typicalFactor: number;
  tokensAreEstimated: boolean;
}

/** What a ref names: the bytes of a part or a passage, or messages. */
export interface Original {
  content: Uint8Array;
  /** Of `content`, in hexadecimal. */
  sha256: string;
  /** `content` is JSON, as of data, calls and results. */
  isJson: boolean;
  messages: ChatMessage[];
  /** What comes behind the messages, if there is more. */
  nextRef: string;
}

/** A passage of a window's log, with the steps that it is of; 0: of none that the window has read. */
export interface WindowHit {
  item: RecalledItem;
  stepFrom: number;
  stepTo: number;
  /** In which zone the window shows it. */
  zone: string;
}

/** A statement of the state of the work. */
export interface StateEntry {
  /**
   * "goal", "sub_goal", "constraint", "value", "decision", "question", "error", "artifact", "progress" or "pin"; of what is counted "tool" or
   * "entity".
   */
  section: string;
  /** What it is of: a later one takes its place; of a pin its id. */
  key: string;
  /** As it was said. */
  text: string;
  /** Of a value, what it is; of a sub-goal its status; of progress the per cent; of an artifact "read" or "edited"; of an entity "node", "path" or "name". */
  value: string;
  /** Where; empty of what a caller said. */
  ref: string;
  createdAt: string;
  /** Who says so: "rule", which read it in the log, or "caller". */
  source: string;
  /** Of a tool its calls, of an entity the steps that speak of it. */
  count: number;
  /** Of a tool. */
  failureCount: number;
  /** That has it. */
  lastStep: number;
}

/** What holds in the state of a window's work; to remove it, its section and key are enough. */
export interface StateEntryInput {
  section: "goal" | "sub_goal" | "constraint" | "value" | "decision" | "question" | "error" | "artifact" | "progress";
  /** What it is of, and what takes its place later; of "goal" and "progress" there is one, without a key. */
  key?: string;
  /** One line; of a value it may be missing; of an entry to be removed that has no key, its text. */
  text?: string;
  /** Of a value, what it is; of a sub-goal "open", which is the default, "done" or "dropped". */
  value?: string;
}

export function windowOf(message: pb.Window): Window {
  const { format, toolsJson, createdAt, updatedAt, config, spentTokens, imported, ...fields } = fieldsOf(message);
  return {
    ...fields,
    config: configOf(config),
    spentTokens: Number(spentTokens),
    format: Object.entries(FORMATS).find(([, value]) => value === format)?.[0] ?? String(format),
    tools: toolsJson ? parseJson(toolsJson) : [],
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
    ...importedField(imported),
  };
}

export function profileOf(message: pb.CompressionProfile): CompressionProfile {
  const { createdAt, learned, ...fields } = fieldsOf(message);
  return { ...fields, createdAt: createdAt ? timeText(createdAt) : "", ...(learned && { learned: learnedOf(learned) }) };
}

export function learningOf(message: pb.SetLearningResponse): Learning {
  return fieldsOf(message);
}

function learnedOf(message: pb.LearnedProfile): LearnedProfile {
  const { lineCounts, resultCounts, ...fields } = fieldsOf(message);
  const counts = (said: Record<string, pb.LearnedCount>) =>
    Object.fromEntries(Object.entries(said).map(([kind, one]) => [kind, fieldsOf(one)]));
  return { ...fields, lineCounts: counts(lineCounts), resultCounts: counts(resultCounts) };
}

export function configOf(message: pb.WindowConfig | undefined): WindowConfig {
  const { importanceWeights, tierRatios, prices, maxTotalTokens, ...fields } = fieldsOf(message ?? create(pb.WindowConfigSchema));
  return {
    ...fields,
    importanceWeights: importanceWeights && fieldsOf(importanceWeights),
    tierRatios: tierRatios && fieldsOf(tierRatios),
    prices: prices && fieldsOf(prices),
    maxTotalTokens: maxTotalTokens === undefined ? undefined : Number(maxTotalTokens),
  };
}

/** Return the message of how a window folds. */
export function configInput(said: WindowConfig) {
  return { ...said, maxTotalTokens: whole("config.max_total_tokens", said.maxTotalTokens) };
}

/** `since` is the pack whose first bytes the message leaves out. */
export function packOf(message: pb.PackResponse, since?: Pack): Pack {
  const { messagesJson: added, offsetBytes, tokensByZone, omitted, breakpoints, ...fields } = fieldsOf(message);
  const known = since && offsetBytes ? Buffer.from(since.messagesJson).subarray(0, offsetBytes).toString() : "";
  const messagesJson = known + added;
  return {
    ...fields,
    body: parseObject(messagesJson),
    messagesJson,
    tokensByZone: zonesOf(tokensByZone),
    breakpoints: breakpoints.map((one) => fieldsOf(one)),
    omitted: {
      stepCount: omitted?.stepCount ?? 0,
      tokens: Number(omitted?.tokens ?? 0),
      refs: omitted?.refs ?? [],
    },
  };
}

export function partOf(message: pb.PackPart): PackPart {
  return fieldsOf(message);
}

export function zonesOf(message: pb.PackZones | undefined): PackZones {
  return fieldsOf(message ?? create(pb.PackZonesSchema));
}

export function receiptOf(message: pb.FoldReceipt): FoldReceipt {
  const { createdAt, summaries, stateAdded, stateRemoved, ...fields } = fieldsOf(message);
  return {
    ...fields,
    createdAt: createdAt ? timeText(createdAt) : "",
    summaries: summaries.map(partOf),
    stateAdded: stateAdded.map((one) => fieldsOf(one)),
    stateRemoved: stateRemoved.map((one) => fieldsOf(one)),
  };
}

export function checkpointOf(message: pb.Checkpoint): Checkpoint {
  const { createdAt, imported, ...fields } = fieldsOf(message);
  return { ...fields, createdAt: timeText(createdAt!), ...importedField(imported) };
}

export function windowForkOf(message: pb.WindowFork): WindowFork {
  const { createdAt, ...fields } = fieldsOf(message);
  return { ...fields, createdAt: timeText(createdAt!) };
}

export function forkedOf(message: pb.ForkWindowResponse): Forked {
  const { window, ref, key, keyExpiresAt } = message;
  const made = { window: windowOf(window!), ref };
  return key ? { ...made, key: { key, expiresAt: timeText(keyExpiresAt!) } } : made;
}

export function outcomeOf(message: pb.RecordOutcomeResponse): Outcome {
  const { stepFrom, stepTo, memoryId } = message;
  return memoryId ? { stepFrom, stepTo, memoryId } : { stepFrom, stepTo };
}

export function mergedOf(message: pb.MergeWindowResponse): Merged {
  return fieldsOf(message);
}

export function rolledBackOf(message: pb.RollbackResponse | pb.ReportResponseResponse): RolledBack {
  const { receipt, leftOutMessageIds, leftOutMessageCount } = message;
  return { receipt: receiptOf(receipt!), leftOutMessageIds, leftOutMessageCount };
}

export function recoveredOf(message: pb.ReportResponseResponse): Recovered {
  const pack = packOf(message.pack!);
  return message.receipt ? { pack, rolledBack: rolledBackOf(message) } : { pack };
}

export function calibratedOf(message: pb.RecordUsageResponse): Calibrated {
  return fieldsOf(message);
}

export function estimateOf(message: pb.EstimateCostResponse): CostEstimate {
  const { warm, cold, fold, ahead, sliding, ...fields } = fieldsOf(message);
  return { ...fields, warm: costOf(warm), cold: costOf(cold), fold: costOf(fold), ahead: costOf(ahead), sliding: costOf(sliding) };
}

export function statsOf(message: pb.WindowStatsResponse): WindowStats {
  const { tokensByZone, levels, breaks, predicted, usage, ...fields } = fieldsOf(message);
  return {
    ...fields,
    tokensByZone: zonesOf(tokensByZone),
    levels: levels.map((level) => fieldsOf(level)),
    breaks: Object.fromEntries(breaks.map(({ reason, count }) => [reason, count])),
    predicted: costOf(predicted),
    usage: fieldsOf(usage ?? create(pb.WindowUsageSchema)),
  };
}

function costOf(message: pb.PackCost | undefined): PackCost {
  return fieldsOf(message ?? create(pb.PackCostSchema));
}

export function originalOf(message: pb.ExpandResponse): Original {
  const { messages, ...fields } = fieldsOf(message);
  return { ...fields, messages: messages.map(chatMessageOf) };
}

export function windowHitOf(message: pb.WindowHit): WindowHit {
  const { item, ...fields } = fieldsOf(message);
  return { ...fields, item: recalledItemOf(item!) };
}

export function stateEntryOf(message: pb.StateEntry): StateEntry {
  const { createdAt, ...fields } = fieldsOf(message);
  return { ...fields, createdAt: timeText(createdAt) };
}

/** Return an event of an answer. */
export function windowEventOf({ event, epochAfter, entryFrom }: pb.WatchWindowResponse): WindowEvent {
  const from = { epochAfter, entryFrom: Number(entryFrom) };
  switch (event.case) {
    case "broken":
      return { broken: receiptOf(event.value), ...from };
    case "entry":
      return { entry: stateEntryOf(event.value), ...from };
    case "window":
      return { window: windowOf(event.value), ...from };
    default:
      return from;
  }
}
