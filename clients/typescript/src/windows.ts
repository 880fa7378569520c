/** Windows on contexts: what callers see of them. */

import { create } from "@bufbuild/protobuf";

import {
  type Pack,
  type RolledBack,
  type Window,
  type WindowConfig,
  packOf,
  rolledBackOf,
  windowOf,
} from "./_gen/context-windows.js";
import type { ContextKey } from "./_gen/contexts.js";
import * as pb from "./gen/contextkeep/context/v1/context_windows_pb.js";
import { FORMATS } from "./history.js";
import { type JsonObject, parseObject } from "./json.js";
import { whole } from "./messages.js";
import { timeText } from "./times.js";

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

/** What to try again with, behind a response that was of no use. */
export interface Recovered {
  pack: Pack;
  /** Left out: it was done before. */
  rolledBack?: RolledBack;
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

/** Return the message of how a window folds. */
export function configInput(said: WindowConfig) {
  return { ...said, maxTotalTokens: whole("config.max_total_tokens", said.maxTotalTokens) };
}

/** Return a pack; `since` is the pack whose first bytes the message leaves out. */
export function packSince(message: pb.PackResponse, since?: Pack): Pack {
  if (!since || !message.offsetBytes) return packOf(message);
  const known = Buffer.from(since.messagesJson).subarray(0, message.offsetBytes).toString();
  return packOf({ ...message, messagesJson: known + message.messagesJson });
}

/** Return the body of a pack. */
export function bodyOf(message: pb.PackResponse): JsonObject {
  return parseObject(message.messagesJson);
}

/** Return the format of a window as callers name it. */
export function formatOf(message: pb.Window): string {
  return Object.entries(FORMATS).find(([, value]) => value === message.format)?.[0] ?? String(message.format);
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

export function recoveredOf(message: pb.ReportResponseResponse): Recovered {
  const pack = packOf(message.pack!);
  const { receipt, leftOutMessageIds, leftOutMessageCount } = message;
  if (!receipt) return { pack };
  return { pack, rolledBack: rolledBackOf(create(pb.RollbackResponseSchema, { receipt, leftOutMessageIds, leftOutMessageCount })) };
}
