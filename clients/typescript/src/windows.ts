/** Windows on contexts: what callers see of them. */

import { create } from "@bufbuild/protobuf";

import {
  type Pack,
  type PackSpan,
  type RolledBack,
  type Window,
  type WindowConfig as StoredConfig,
  type WindowFork,
  packOf,
  rolledBackOf,
  windowForkOf,
  windowOf,
} from "./_gen/context-windows.js";
import type { ContextKey } from "./_gen/contexts.js";
import * as pb from "./gen/contextkeep/context/v1/context_windows_pb.js";
import { FORMATS } from "./history.js";
import { type JsonObject, parseObject, toJson } from "./json.js";
import { whole } from "./messages.js";
import { timeText } from "./times.js";

export type { Pack };

/** How a window folds: the fields to set. */
export type WindowConfig = Partial<StoredConfig>;

/** A window of its own for a part of the work. */
export interface Forked {
  window: Window;
  /** Such as "f3": what its refs begin with, where it was forked. */
  ref: string;
  /** For its context alone, shown once. Left out: the caller's is of a context itself, and reaches it. */
  key?: ContextKey;
}

/** The steps whose outcome is recorded, and the memories of them. */
export interface Outcome {
  stepFrom: number;
  stepTo: number;
  /** Of the lesson, if there was one. */
  memoryId?: string;
}

/** The pack to retry with, after an invalid response. */
export interface Recovered {
  pack: Pack;
  /** Left out: it was done before. */
  rolledBack?: RolledBack;
}

/** Return the message of how a window folds. */
export function configInput(config: WindowConfig, path: string) {
  return { ...config, maxTotalTokens: whole(`${path}.max_total_tokens`, config.maxTotalTokens) };
}

/** Return the JSON text of tools; empty: there are none. */
export function toolsInput(tools: readonly unknown[], path: string): string {
  return tools.length ? toJson(tools, path) : "";
}

export function packIdOf(pack: Pick<Pack, "packId">, _path: string): string {
  return pack.packId;
}

/**
 * Return the spans of a pack that have a text: who wrote it. Refuse a tool call if only data has its arguments.
 *
 * @param text - an argument of a tool call, such as an address or a command, as it was written
 */
export function sourcesOf(pack: Pick<Pack, "body" | "spans">, text: string): PackSpan[] {
  return pack.spans.filter((span) => textOf(pieceAt(pack.body, span.pointer), span).includes(text));
}

function pieceAt(body: unknown, pointer: string): unknown {
  let piece: any = body;
  for (const name of pointer.split("/").slice(1)) piece = piece[name];
  return piece;
}

/** Return the text of a piece, or the lines of it that a span names. */
function textOf(piece: unknown, { firstLine, lastLine }: PackSpan): string {
  const text = stringsIn(piece).join("\n");
  return firstLine ? text.split("\n").slice(firstLine - 1, lastLine).join("\n") : text;
}

/** Return the texts of a piece, without the names of its fields, its role and its type. */
function stringsIn(piece: unknown): string[] {
  if (typeof piece === "string") return [piece];
  if (Array.isArray(piece)) return piece.flatMap(stringsIn);
  if (typeof piece !== "object" || piece === null) return [];
  return Object.entries(piece).flatMap(([name, value]) => (name === "role" || name === "type" ? [] : stringsIn(value)));
}

/** A window and its forks. */
export interface WindowWithForks extends Window {
  forks: WindowFork[];
}

export function windowWithForksOf({ window, forks }: pb.GetWindowResponse): WindowWithForks {
  return { ...windowOf(window!), forks: forks.map(windowForkOf) };
}

/** Return a pack; `since` is the pack whose first bytes the message leaves out. */
export function packSince(message: pb.PackResponse, since?: Pack): Pack {
  if (!since || !message.offsetBytes) return packOf(message);
  const known = Buffer.from(since.messagesJson).subarray(0, message.offsetBytes).toString();
  const pack = packOf({ ...message, messagesJson: known + message.messagesJson, knownSpanCount: 0 });
  return { ...pack, spans: [...since.spans.slice(0, message.knownSpanCount), ...pack.spans] };
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

/** Return what to try again with; undefined: the response was valid. */
export function recoveredOf(message: pb.ReportResponseResponse): Recovered | undefined {
  if (!message.pack) return undefined;
  const pack = packOf(message.pack);
  const { receipt, leftOutMessageIds, leftOutMessageCount } = message;
  if (!receipt) return { pack };
  return { pack, rolledBack: rolledBackOf(create(pb.RollbackResponseSchema, { receipt, leftOutMessageIds, leftOutMessageCount })) };
}
