/** Windows on contexts: what callers see of them. */

import * as pb from "./gen/contextkeep/context/v1/context_windows_pb.js";
import { FORMATS } from "./history.js";
import { type JsonObject, parseJson, parseObject } from "./json.js";
import { fieldsOf } from "./messages.js";
import { timeText } from "./times.js";

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
  /** Of them, steps that packs leave out. */
  leftOutCount: number;
  ownerUserId: string;
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  isClosed: boolean;
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
  /** Of them: system prompt, goal and tools; the note on what is left out; steps as they were. */
  tokensByZone: { system: number; note: number; verbatim: number };
  /** Steps that are seen. */
  stepCount: number;
  omitted: { stepCount: number; tokens: number };
  epoch: number;
  /** The newest message that was read. */
  lastSeq: bigint;
  /** The last step waits for results: the model is to be asked when they are there. */
  isWaiting: boolean;
}

export function windowOf(message: pb.Window): Window {
  const { format, toolsJson, createdAt, updatedAt, ...fields } = fieldsOf(message);
  return {
    ...fields,
    format: Object.entries(FORMATS).find(([, value]) => value === format)?.[0] ?? String(format),
    tools: toolsJson ? parseJson(toolsJson) : [],
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
  };
}

export function packOf(message: pb.PackResponse): Pack {
  const { messagesJson, tokensByZone, omitted, ...fields } = fieldsOf(message);
  const { system = 0, note = 0, verbatim = 0 } = tokensByZone ?? {};
  return {
    ...fields,
    body: parseObject(messagesJson),
    messagesJson,
    tokensByZone: { system, note, verbatim },
    omitted: { stepCount: omitted?.stepCount ?? 0, tokens: Number(omitted?.tokens ?? 0) },
  };
}
