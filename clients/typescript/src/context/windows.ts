/** Windows on contexts: what one model shall see of one, within its budget. */

import type { ContextOptions } from "./app.js";
import {
  type Calibrated,
  type Pack,
  type StateEntry,
  type Window,
  type WindowConfig,
  type WindowEvent,
  type WindowFork,
  type WindowHit,
  calibratedOf,
  stateEntryOf,
  windowEventOf,
  windowForkOf,
  windowHitOf,
  windowOf,
} from "../_gen/context-windows.js";
import { GeneratedWindows } from "../_gen/nouns/windows.js";
import { type RecallFilter, recallFilter } from "../contexts.js";
import * as pb from "../gen/contextkeep/context/v1/context_windows_pb.js";
import { Unavailable } from "../gen/errors.js";
import { FORMATS, type MessageFormat } from "../history.js";
import { toJson } from "../json.js";
import { choice, whole } from "../messages.js";
import {
  type Billed,
  type Forked,
  type Outcome,
  type Recovered,
  type StateEntryInput,
  configInput,
  forkedOf,
  outcomeOf,
  packSince,
  recoveredOf,
} from "../windows.js";
import { type WriteOptions, requestId } from "../writes.js";

const method = pb.ContextWindows.method;
const ENTRIES_AT_ONCE = 1_000;

/** A new window. */
export interface WindowOptions extends ContextOptions, WriteOptions {
  /** What stands in front of all, up to 256 KiB. */
  systemPrompt?: string;
  /** JSON values as the vendor wants them, up to 1 MiB. */
  tools?: readonly unknown[];
  /** Told to the model behind the system prompt, up to 16 KiB. */
  goal?: string;
  /** What it keeps when it folds: "general", "coding", "research", "operations", or one that was put: "mine", or "mine@3". */
  compressionProfile?: string;
  /** How it folds, and what it may cost. */
  config?: WindowConfig;
  /** Else that of the model's vendor. */
  format?: MessageFormat;
  /** What the model takes, with its answer; else what is known of it. */
  contextTokens?: number;
  /** The share of it that a request may have; else 0.8. */
  tokenBudget?: number;
  /** Tokens that are kept for the answer; else 4,096. */
  outputReservation?: number;
}

const FORK_INHERITANCES = {
  state: pb.ForkInheritance.STATE,
  pins: pb.ForkInheritance.PINS,
  nothing: pb.ForkInheritance.NOTHING,
};

/** A fork; what is left out is as the window has it that is forked. */
export interface ForkOptions extends ContextOptions, WriteOptions {
  /** "state", which is the default: what holds, and what is pinned; "pins"; or "nothing". */
  inherits?: keyof typeof FORK_INHERITANCES;
  model?: string;
  /** What another model takes, with its answer; else what is known of it. */
  contextTokens?: number;
  systemPrompt?: string;
  tools?: readonly unknown[];
  /** Of its key: seconds until it ends, at most a day; else an hour. */
  keyTtlS?: number;
}

/** An RPC is one method. A window that is of another's context, or not there at all, is `WindowNotFound`. */
export class Windows extends GeneratedWindows {
  /**
   * Open a window on a context, and return it.
   *
   * @param model Such as "gpt-5": of those that are known, so are tokens, tokenizer and format.
   * @throws ContextNotFound There is no such context.
   * @throws ContextClosed It is closed.
   * @throws BudgetTooSmall What stands in front of all does not fit.
   */
  async open(contextId: string, model: string, options: WindowOptions = {}): Promise<Window> {
    const { systemPrompt, tools, goal, format, contextTokens, tokenBudget, outputReservation, subjectUserId } = options;
    const { compressionProfile, config } = options;
    const request = {
      contextId,
      model,
      contextTokens,
      format: format && choice("format", format, FORMATS),
      systemPrompt,
      toolsJson: tools && toJson(tools, "tools"),
      goal,
      tokenBudget,
      outputReservation,
      compressionProfile,
      config: config && configInput(config),
      subjectUserId,
      requestId: requestId(options),
    };
    return windowOf((await this.client.call(method.openWindow, request, options)).window!);
  }

  /** Return a window. */
  async get(windowId: string, options: ContextOptions = {}): Promise<Window & { forks: WindowFork[] }> {
    const { subjectUserId } = options;
    const { window, forks } = await this.client.call(method.getWindow, { windowId, subjectUserId }, options);
    return { ...windowOf(window!), forks: forks.map(windowForkOf) };
  }

  /**
   * Change what a window shows in front of all, or its config, and return it; the same again changes nothing.
   *
   * Another budget or config breaks no prefix, and holds from the next pack on.
   *
   * @param options What is not set stays as it is, also in `config`; what is empty is no more, and a budget of 0 is the default.
   * @throws WindowClosed It is closed.
   * @throws BudgetTooSmall It does not fit, with what is pinned and what must be there of the state: `least` in the metadata.
   */
  async update(
    windowId: string,
    options: Pick<WindowOptions, "systemPrompt" | "tools" | "goal" | "tokenBudget" | "outputReservation" | "config"> & ContextOptions & WriteOptions,
  ): Promise<Window> {
    const { systemPrompt, tools, goal, tokenBudget, outputReservation, subjectUserId } = options;
    const toolsJson = tools && (tools.length ? toJson(tools, "tools") : "");
    const config = options.config && configInput(options.config);
    const said = { systemPrompt, toolsJson, goal, tokenBudget, outputReservation, config };
    const request = { windowId, ...said, subjectUserId, requestId: requestId(options) };
    return windowOf((await this.client.call(method.updateWindow, request, options)).window!);
  }

  /**
   * Pin a text right behind the system prompt of every pack, and return the id of the pin.
   *
   * @param what A text of up to 16 KiB, or the `ref` of a message, "m37", or of a part, "m37/2": that pin goes when the message is retracted.
   * @throws WindowClosed It is closed.
   * @throws RefNotFound The context has nothing of this ref.
   * @throws Erased It was retracted.
   * @throws BudgetTooSmall All that is pinned does not fit: `least` in the metadata.
   */
  async pin(windowId: string, what: string | { ref: string }, options: ContextOptions & WriteOptions = {}): Promise<string> {
    const { subjectUserId } = options;
    const said = typeof what === "string" ? { text: what } : { ref: what.ref };
    const request = { windowId, ...said, subjectUserId, requestId: requestId(options) };
    return (await this.client.call(method.pin, request, options)).pinId;
  }

  /**
   * Remove a pin.
   *
   * @throws WindowClosed It is closed.
   * @throws PinNotFound The window has no such pin.
   */
  async unpin(windowId: string, pinId: string, options: ContextOptions & WriteOptions = {}): Promise<void> {
    const { subjectUserId } = options;
    await this.client.call(method.unpin, { windowId, pinId, subjectUserId, requestId: requestId(options) }, options);
  }

  /**
   * Say what holds in the state of the work, and what no longer does; return how many entries changed.
   *
   * The next pack that does not wait for results tells a model so behind the last step; the prefix stays.
   *
   * @param changes What is removed goes first; up to 100 in all.
   * @throws WindowClosed It is closed.
   * @throws BudgetTooSmall What must be in each pack does not fit: `least` in the metadata.
   */
  async patchState(
    windowId: string,
    changes: { set?: readonly StateEntryInput[]; remove?: readonly StateEntryInput[] },
    options: ContextOptions & WriteOptions = {},
  ): Promise<number> {
    const { subjectUserId } = options;
    const remove = changes.remove?.map(({ section, key, text }) => ({ section, key, text }));
    const request = { windowId, set: [...(changes.set ?? [])], remove, subjectUserId, requestId: requestId(options) };
    return (await this.client.call(method.patchState, request, options)).changedCount;
  }

  /**
   * Return what the model shall see now: what it saw before with more behind it, until a fold leaves some out.
   *
   * @param options `since` is the pack before: as long as this one begins with it, only what is new is sent.
   * @throws WindowClosed It packs no more.
   * @throws WindowBehind It has more to read than there was time for; the next call goes on.
   * @throws BudgetTooSmall The last step does not fit: `least` in the metadata.
   * @throws TokensSpent With this pack the window has more tokens than its `maxTotalTokens`.
   * @throws AnswerTooLarge What fits the model fits no answer.
   */
  async pack(windowId: string, options: { since?: Pack; withoutRecall?: boolean } & ContextOptions = {}): Promise<Pack> {
    const { since, withoutRecall, subjectUserId } = options;
    const known = since && { ifPrefixSha: since.prefixSha, ifPrefixBytes: since.prefixBytes };
    return packSince(await this.client.call(method.pack, { windowId, withoutRecall, subjectUserId, ...known }, options), since);
  }

  /**
   * Say what came of a pack, and return what to try again with; undefined: its response was valid.
   *
   * An invalid one takes back what led to it: the window goes back to its last checkpoint before the pack, and what is out of sight around the
   * pack's last messages is recalled. `recoveryStrategy` of its config says what is left out.
   *
   * @param options `expectedLastSeq` is the newest message that you know, such as the response, if it was appended; else the last of the pack.
   * @throws LogMoved The log has messages behind that one; nothing was done.
   */
  async reportResponse(
    windowId: string,
    pack: Pack,
    invalid: boolean,
    options: { expectedLastSeq?: bigint } & ContextOptions & WriteOptions = {},
  ): Promise<Recovered | undefined> {
    const { expectedLastSeq, subjectUserId } = options;
    const request = { windowId, packId: pack.packId, invalid, expectedLastSeq, subjectUserId, requestId: requestId(options) };
    const answer = await this.client.call(method.reportResponse, request, options);
    return answer.pack && recoveredOf(answer);
  }

  /**
   * Give a part of the work a context and a window of its own, for somebody else to work on meanwhile, such as another agent.
   *
   * The context begins with the task as the message of a user. Whoever sees the one that it is forked from sees it, and it goes with that; the
   * key in the answer reaches nothing else.
   *
   * @throws WindowClosed The window is closed.
   * @throws BudgetTooSmall What stands in front of all does not fit.
   */
  async fork(windowId: string, task: string, options: ForkOptions = {}): Promise<Forked> {
    const { inherits, model, contextTokens, systemPrompt, tools, keyTtlS, subjectUserId } = options;
    const request = {
      windowId,
      task,
      inherits: inherits && choice("inherits", inherits, FORK_INHERITANCES),
      model,
      contextTokens,
      systemPrompt,
      toolsJson: tools && toJson(tools, "tools"),
      keyTtlS,
      subjectUserId,
      requestId: requestId(options),
    };
    return forkedOf(await this.client.call(method.forkWindow, request, options));
  }

  /**
   * Return the passages of a window's log that a query finds, the best first, with the steps that they are of.
   *
   * @param options `limit` is up to 200, else 20; steps from `stepFrom` to `stepTo`, both included.
   */
  async search(
    windowId: string,
    query: string,
    options: { limit?: number; filter?: RecallFilter; stepFrom?: number; stepTo?: number } & ContextOptions = {},
  ): Promise<WindowHit[]> {
    const { limit, stepFrom, stepTo, subjectUserId } = options;
    const filter = options.filter && recallFilter(options.filter, "filter");
    const request = { windowId, query, limit, filter, stepFrom, stepTo, subjectUserId };
    return (await this.client.call(method.searchWindow, request, options)).hits.map(windowHitOf);
  }

  /** Return the state of the work, as rules read it from the log and callers said it; of some sections, such as "constraint" or "pin", or of all. */
  async getState(windowId: string, options: { sections?: string[] } & ContextOptions = {}): Promise<StateEntry[]> {
    const { sections, subjectUserId } = options;
    const entries: StateEntry[] = [];
    for (let pageToken = ""; ; ) {
      const asked = { windowId, sections, subjectUserId, pageSize: ENTRIES_AT_ONCE, pageToken };
      const page = await this.client.call(method.getState, asked, options);
      entries.push(...page.entries.map(stateEntryOf));
      if (!page.nextPageToken) return entries;
      pageToken = page.nextPageToken;
    }
  }

  /**
   * Yield what changes of a window: breaks of its prefix with their accounts, what came into the state, and the window as it is then. It
   * goes on from where it was when a replica stops, and ends when the window is closed.
   *
   * @param options `epochAfter` is an epoch such as that of the last pack, behind which breaks are told, `entryFrom` the first entry of the
   *   state; an event says from where on there is more. `untilNow` ends when all is told that is there.
   * @throws Unauthenticated The key is revoked, or over.
   */
  async *watch(
    windowId: string,
    options: { epochAfter?: number; entryFrom?: number; untilNow?: boolean } & ContextOptions = {},
  ): AsyncGenerator<WindowEvent> {
    const { untilNow, subjectUserId } = options;
    let epochAfter = options.epochAfter ?? 0;
    let entryFrom = whole("entry_from", options.entryFrom);
    for (;;) {
      let begun = false;
      try {
        const request = { windowId, epochAfter, entryFrom, untilNow, subjectUserId };
        for await (const answer of this.client.stream(method.watchWindow, request, options)) {
          begun = true;
          ({ epochAfter, entryFrom } = answer);
          if (answer.event.case) yield windowEventOf(answer);
        }
        return;
      } catch (error) {
        if (!begun || !(error instanceof Unavailable)) throw error;
      }
    }
  }

  /**
   * Say what a vendor billed for a call of the model, and return what that taught about the window's counts.
   *
   * @throws InvalidArgument A number cannot be, such as more tokens in the cache than in the prompt.
   */
  async recordUsage(windowId: string, billed: Billed, options: ContextOptions & WriteOptions = {}): Promise<Calibrated> {
    const { inputTokens, cachedTokens = 0, cacheWriteTokens = 0, outputTokens = 0, packTokens, epoch } = billed;
    const request = {
      windowId,
      epoch,
      packTokens,
      inputTokens: BigInt(inputTokens),
      cachedTokens: BigInt(cachedTokens),
      cacheWriteTokens: BigInt(cacheWriteTokens),
      outputTokens: BigInt(outputTokens),
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    return calibratedOf(await this.client.call(method.recordUsage, request, options));
  }

  /**
   * Say how steps of a window ended, and return which were meant: a fold keeps rather what ended well.
   *
   * @param options `quality` is how well, 0 to 1; steps from `stepFrom` to `stepTo`, both included, else the last; `lesson` is kept as a memory
   * of the user.
   * @throws InvalidArgument The window has no such steps.
   * @throws SubjectRequired The lesson is nobody's.
   */
  async recordOutcome(
    windowId: string,
    success: boolean,
    options: { quality?: number; stepFrom?: number; stepTo?: number; lesson?: string } & ContextOptions & WriteOptions = {},
  ): Promise<Outcome> {
    const { quality, stepFrom, stepTo, lesson, subjectUserId } = options;
    const request = { windowId, success, quality, stepFrom, stepTo, lesson, subjectUserId, requestId: requestId(options) };
    return outcomeOf(await this.client.call(method.recordOutcome, request, options));
  }
}
