// Made from the protos by `make proto`.

import * as contextWindowsPb from "../../gen/contextkeep/context/v1/context_windows_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { type MessageFormat, formatInput } from "../../history.js";
import { enumInput, whole } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import {
  type Forked,
  type Outcome,
  type Pack,
  type Recovered,
  type WindowConfig,
  type WindowWithForks,
  configInput,
  forkedOf,
  outcomeOf,
  packIdOf,
  recoveredOf,
  toolsInput,
  windowWithForksOf,
} from "../../windows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import {
  type Calibrated,
  type Checkpoint,
  type CostEstimate,
  type ExplainedPack,
  type FoldReceipt,
  type Merged,
  type Original,
  type RolledBack,
  type StateEntry,
  type Window,
  type WindowHit,
  type WindowStats,
  calibratedOf,
  checkpointOf,
  costEstimateOf,
  explainedPackOf,
  foldReceiptOf,
  mergedOf,
  originalOf,
  rolledBackOf,
  stateEntryOf,
  windowHitOf,
  windowOf,
  windowStatsOf,
} from "../context-windows.js";
import { type RecallFilter, type StateEntryInput, type StateEntryName, recallFilter } from "../inputs.js";

/** Options of `windows.open`. */
export interface WindowOptions {
  /** What the model takes, with its answer, up to 10,000,000. 0: what is known of it. */
  contextTokens?: number;
  /** Unset: that of the model's vendor; of an unknown one OpenAI's Chat Completions. */
  format?: MessageFormat;
  /** Up to 256 KiB. What stands in front of all. */
  systemPrompt?: string;
  /** A JSON list as the vendor wants it, up to 1 MiB. */
  tools?: readonly unknown[];
  /** Up to 16 KiB; told to the model behind the system prompt. */
  goal?: string;
  /** Share of `contextTokens` that a request may have, up to 1. 0: 0.8. */
  tokenBudget?: number;
  /** Tokens that are kept for the answer. 0: 4,096. */
  outputReservation?: number;
  /** "general", "coding", "research", "operations", or one that was put: "mine", as it was put last, or "mine@3". Empty: "general". */
  compressionProfile?: string;
  /** How the window folds, and what it may cost. Unset: the defaults. */
  config?: WindowConfig;
}

/** Options of `windows.update`. */
export interface WindowChanges {
  /** As of windows.open. Unset: as it is. Empty: none. */
  systemPrompt?: string;
  /** As of windows.open. Unset: as they are. */
  tools?: readonly unknown[];
  /** As of windows.open. Unset: as it is. Empty: none. */
  goal?: string;
  /** What is set in it; the rest stays as it is, also of `tierRatios` and other groups. */
  config?: WindowConfig;
  /** As of windows.open. Unset: as it is. 0: the default. */
  tokenBudget?: number;
  /** As of windows.open. Unset: as it is. 0: the default. */
  outputReservation?: number;
}

/** Options of `windows.fork`. */
export interface ForkOptions {
  inherits?: "nothing" | "pins" | "state";
  /** As of windows.open. Empty: as of the window. */
  model?: string;
  contextTokens?: number;
  /** Unset: those of the window. */
  systemPrompt?: string;
  tools?: readonly unknown[];
  /** Of the key: seconds until it ends, at most a day. 0: an hour. */
  keyTtlS?: number;
}

/** Options of `windows.recordUsage`. */
export interface Billed {
  /**
   * `epoch` and `tokens` of the pack that was sent, as Pack answered them. Without an epoch it is the one that the window has now; without
   * `packTokens` nothing is learned of the call, and it is kept all the same.
   */
  epoch?: number;
  /** `tokens` of the pack that was sent. 0: the bill is kept, and nothing is learned from it. */
  packTokens?: number;
  /**
   * What the vendor billed, up to 100,000,000 each. `inputTokens` is all of the prompt, at least 1, with what was read from a cache of it and
   * what was written to one (of Anthropic's answers the sum of all three).
   */
  inputTokens: number;
  /** Tokens of the prompt that were read from a cache. */
  cachedTokens?: number;
  /** Tokens of the prompt that were written to a cache. */
  cacheWriteTokens?: number;
  /** Tokens of the answer. */
  outputTokens?: number;
}

/** The calls of `windows` that are one method each. */
export class GeneratedWindows extends Noun<AppClient> {
  /**
   * Opens a window on a context. Its format and its model stay.
   *
   * Throws ContextNotFound, ContextClosed (FailedPrecondition), InvalidArgument (an unknown model without `contextTokens`; a number
   * that cannot be), BudgetTooSmall (ResourceExhausted: system prompt, tools and goal do not fit), LimitExceeded, RequestIdReused.
   *
   * @param model Such as "gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro", up to 200 characters: of those that are known, so are tokens and tokenizer.
   */
  async open(
    contextId: string,
    model: string,
    options: WindowOptions & ContextOptions & WriteOptions = {},
  ): Promise<Window> {
    const request = {
      contextId,
      model,
      contextTokens: options.contextTokens,
      format: options.format === undefined ? undefined : formatInput(options.format, "format"),
      systemPrompt: options.systemPrompt,
      toolsJson: options.tools === undefined ? undefined : toolsInput(options.tools, "tools_json"),
      goal: options.goal,
      tokenBudget: options.tokenBudget,
      outputReservation: options.outputReservation,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
      compressionProfile: options.compressionProfile,
      config: options.config === undefined ? undefined : configInput(options.config, "config"),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.openWindow, request, options);
    return windowOf(answer.window!);
  }

  /** Reads a window, and says what was forked from it. Throws WindowNotFound. */
  async get(windowId: string, options: ContextOptions = {}): Promise<WindowWithForks> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.getWindow, request, options);
    return windowWithForksOf(answer);
  }

  /** Lists the windows of a context, the newest first. Throws ContextNotFound, InvalidPageToken. */
  list(contextId: string, options: { pageSize?: number } & ContextOptions = {}): Rows<Window> {
    const request = {
      contextId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextWindowsPb.ContextWindows.method.listWindows, { ...request, pageToken }, options);
        return [page.windows.map(windowOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Closes a window: it packs no more. The data of its packs are removed, with its system prompt, tools and goal. Again is harmless.
   *
   * Throws WindowNotFound, RequestIdReused.
   */
  async close(windowId: string, options: ContextOptions & WriteOptions = {}): Promise<Window> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.closeWindow, request, options);
    return windowOf(answer.window!);
  }

  /**
   * Changes what is set, to what it is; all of it, or nothing. Another prompt, other tools and another goal break the prefix, with a receipt
   * ("updated"). After another goal the window folds at once, if there is something to fold (a receipt of its own: "goal"); the answer is the
   * window before that fold. Another `config` and another budget hold from the next pack on, and break nothing: a pack that is over them folds.
   * The same again changes nothing.
   *
   * Throws WindowNotFound, WindowClosed, BudgetTooSmall (`least`: what stands in front of all does not fit, with what is pinned and what
   * must be there of the state), InvalidArgument, LimitExceeded, RequestIdReused, Aborted (others write to it all the time; again).
   */
  async update(windowId: string, options: WindowChanges & ContextOptions & WriteOptions = {}): Promise<Window> {
    const request = {
      windowId,
      systemPrompt: options.systemPrompt,
      toolsJson: options.tools === undefined ? undefined : toolsInput(options.tools, "tools_json"),
      goal: options.goal,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
      config: options.config === undefined ? undefined : configInput(options.config, "config"),
      tokenBudget: options.tokenBudget,
      outputReservation: options.outputReservation,
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.updateWindow, request, options);
    return windowOf(answer.window!);
  }

  /**
   * Pins a text right behind the system prompt of every pack, word for word: no fold cuts it. What is pinned of a ref goes when its message
   * is retracted. It breaks the prefix, and has a receipt ("pinned").
   *
   * Throws WindowNotFound, WindowClosed, RefNotFound, Erased, BudgetTooSmall, InvalidArgument, LimitExceeded (`pins`: a window has
   * up to 100; one is of up to 16 KiB), RequestIdReused, Aborted.
   *
   * @param options.text Either a text, or what is pinned of the log: "m37", a message, or "m37/2", its second part ("m37/0" its content), as a model reads it.
   * @param options.ref Instead of a text: the part of the log that is pinned. The pin goes when its message is retracted.
   */
  async pin(
    windowId: string,
    options: { text?: string; ref?: string } & ContextOptions & WriteOptions = {},
  ): Promise<string> {
    const request = {
      windowId,
      text: options.text,
      ref: options.ref,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.pin, request, options);
    return answer.pinId;
  }

  /** Removes a pin, with a receipt ("unpinned"). Throws WindowNotFound, WindowClosed, PinNotFound, RequestIdReused, Aborted. */
  async unpin(windowId: string, pinId: string, options: ContextOptions & WriteOptions = {}): Promise<void> {
    const request = {
      windowId,
      pinId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    await this.client.call(contextWindowsPb.ContextWindows.method.unpin, request, options);
  }

  /**
   * Says what holds in the state of the work, beside what rules read in the log: entries that are set take the place of what was said of the
   * same before, by whomever, and give way to what is said in the log later; what is removed holds no longer. A model is told of all of it
   * behind the last step of the next pack that does not wait for results, without a break of the prefix, and the next fold writes the state
   * anew. All of it happens, or nothing; the same again changes nothing. It stays when messages are retracted.
   *
   * Throws WindowNotFound, WindowClosed, BudgetTooSmall (what must be in each pack does not fit: `least`), InvalidArgument (a section
   * that there is not; control characters; no key), LimitExceeded (100 changes of a call, 500 entries of callers in a window, texts of up to
   * 2,000 characters, keys of 200), RequestIdReused, Aborted.
   *
   * @param options.remove First. One that is not there is passed over.
   */
  async patchState(
    windowId: string,
    options: { set?: StateEntryInput[]; remove?: StateEntryName[] } & ContextOptions & WriteOptions = {},
  ): Promise<number> {
    const request = {
      windowId,
      set: options.set,
      remove: options.remove,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.patchState, request, options);
    return answer.changedCount;
  }

  /**
   * Folds now, as `windows.pack` does when it must, and answers the account of it. With `dryRun` it says what it would do. Throws WindowNotFound,
   * WindowClosed, FoldNoProgress (FailedPrecondition: there is nothing to fold), Aborted, WindowBehind.
   *
   * @param options.dryRun Say what a fold would do, and change nothing.
   */
  async fold(windowId: string, options: { dryRun?: boolean } & ContextOptions = {}): Promise<FoldReceipt> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      dryRun: options.dryRun,
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.fold, request, options);
    return foldReceiptOf(answer.receipt!);
  }

  /**
   * Works out a fold ahead of need, next to the calls of a model, and keeps it with the window. Packs stay as they are, byte for byte. It
   * catches up with the log first. A later one takes its place. It holds as long as the epoch and the config: a fold, another prompt,
   * tools, goal or budget, a pin and a message that was retracted make it void.
   *
   * Throws WindowNotFound, WindowClosed, FoldNoProgress (there is nothing to fold), FoldStale (Aborted: the window has another
   * epoch than `expectedEpoch`; metadata `epoch`), Aborted, WindowBehind.
   *
   * @param options.expectedEpoch Of the pack that it is for, as Pack answered it. Unset: any.
   */
  async prepareFold(windowId: string, options: { expectedEpoch?: number } & ContextOptions = {}): Promise<FoldReceipt> {
    const request = {
      windowId,
      expectedEpoch: options.expectedEpoch,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.prepareFold, request, options);
    return foldReceiptOf(answer.receipt!);
  }

  /**
   * Folds as was prepared, without choosing lines anew, and answers the account of it. Of what came since, all stays
   * verbatim, and the state of the work is written as of now: what was said meanwhile is in it. If nothing came, it is what `windows.fold` would do.
   * If too much did, the next pack folds again.
   *
   * Throws WindowNotFound, WindowClosed, FoldNotPrepared (FailedPrecondition: none was, by this config), FoldStale (Aborted: the window has another
   * epoch than `expectedEpoch`, or than the fold was prepared for, also because that was committed; metadata `epoch`), Aborted,
   * WindowBehind, RequestIdReused.
   *
   * @param options.expectedEpoch As windows.prepareFold answered it. Unset: that of the fold which was prepared last.
   */
  async commitFold(
    windowId: string,
    options: { expectedEpoch?: number } & ContextOptions & WriteOptions = {},
  ): Promise<FoldReceipt> {
    const request = {
      windowId,
      expectedEpoch: options.expectedEpoch,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.commitFold, request, options);
    return foldReceiptOf(answer.receipt!);
  }

  /**
   * Keeps what the window is when it has read its log: a way back. It takes one row, however long the log is; packs stay what they are. A step
   * that waits for results is not in it. By itself a window makes one behind each 50 steps (`checkpointEveryNSteps`) and before each fold.
   * Of these it keeps the newest 20 each, of those of callers the newest 100. A message that is retracted takes all of them with it.
   *
   * Throws WindowNotFound, WindowClosed, WindowBehind, LimitExceeded (`label`: 200 characters), InvalidArgument,
   * RequestIdReused, Aborted.
   *
   * @param options.label Up to 200 characters, for whoever lists them.
   */
  async createCheckpoint(
    windowId: string,
    options: { label?: string } & ContextOptions & WriteOptions = {},
  ): Promise<Checkpoint> {
    const request = {
      windowId,
      label: options.label,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.createCheckpoint, request, options);
    return checkpointOf(answer.checkpoint!);
  }

  /** Lists the checkpoints of a window, the newest first. Throws WindowNotFound, InvalidPageToken. */
  listCheckpoints(windowId: string, options: { pageSize?: number } & ContextOptions = {}): Rows<Checkpoint> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextWindowsPb.ContextWindows.method.listCheckpoints, { ...request, pageToken }, options);
        return [page.checkpoints.map(checkpointOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Takes a window back to a checkpoint. The next pack is the one of then, byte for byte, with the prompt, tools and goal of now. Folds,
   * pins, and what callers said of the state behind it are undone; messages behind it are left out of the window from then on, and so of
   * whatever it recalls: what comes later follows the checkpoint. The log has them still: Expand answers them, other windows see them,
   * and what of them shall be known is sent again, as new messages. Checkpoints behind it are gone. All of it happens, or nothing; the
   * prefix breaks, with a receipt ("rolled_back").
   *
   * Throws WindowNotFound, WindowClosed, CheckpointNotFound (NotFound: none of this number, or no longer), LogMoved (Aborted:
   * the log has messages behind `expectedLastSeq`, which nobody should lose unseen; metadata `lastSeq`), LimitExceeded (`rollbacks`:
   * a window leaves out up to 1,000 separate rows of messages), InvalidArgument, RequestIdReused.
   *
   * @param checkpoint The number of the checkpoint.
   * @param expectedLastSeq The newest message of the log that the caller knows, such as `lastSeq` of the last pack, or what appending answered.
   */
  async rollback(
    windowId: string,
    checkpoint: number,
    expectedLastSeq: bigint,
    options: ContextOptions & WriteOptions = {},
  ): Promise<RolledBack> {
    const request = {
      windowId,
      checkpoint,
      expectedLastSeq,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.rollback, request, options);
    return rolledBackOf(answer);
  }

  /**
   * Says what came of a pack. A response that is `invalid`, such as one that is none of what was asked for, or rests on what never was, takes back
   * what led to it: the window is rolled back to the newest checkpoint that the pack had behind it, and what is out of sight around the pack's
   * last messages is recalled, once; answered is the pack to try again with. By `recoveryStrategy` of the window's config all messages behind
   * the checkpoint are left out ("rollback_to_checkpoint"; send again what shall be known), or those behind the pack alone, and the others are
   * read anew ("reread_from_checkpoint"). A window without a checkpoint leaves out what came behind the pack, and reads its log anew. If it was
   * rolled back since the pack, it is not again. One that is valid changes nothing.
   *
   * Throws WindowNotFound, WindowClosed, LogMoved (the log has messages that the caller does not know), LimitExceeded (`rollbacks`),
   * InvalidArgument (the window has had no such pack), RequestIdReused, and those of Pack, behind which the same request answers the pack.
   *
   * @param pack Of the pack that the model was asked with.
   * @param options.expectedLastSeq The newest message of the log that the caller knows, such as the response, if it was appended. Unset: the pack's `lastSeq`.
   */
  async reportResponse(
    windowId: string,
    pack: Pick<Pack,
    "packId">,
    invalid: boolean,
    options: { expectedLastSeq?: bigint } & ContextOptions & WriteOptions = {},
  ): Promise<Recovered | undefined> {
    const request = {
      windowId,
      packId: packIdOf(pack, "pack_id"),
      invalid,
      expectedLastSeq: options.expectedLastSeq,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.reportResponse, request, options);
    return recoveredOf(answer);
  }

  /**
   * Gives a part of the work a context and a window of its own, for somebody else to work on meanwhile, such as another agent; several at once.
   * The context is new, below that of the window: it begins with the task as the message of a user, whoever sees that one sees it, by a key
   * of contexts.issueKey, too, and it goes with it. The window has the model, the config and, if nothing else is said, the prompt and the tools of
   * the one that it is forked from, and the task as its goal. What the other inherits besides says `inherits`: as it is when this one has read its
   * log, without refs, which would lead to another log. From then on neither sees the other.
   *
   * Throws WindowNotFound, WindowClosed, ContextClosed, BudgetTooSmall (prompt, tools, task and what is inherited do not fit), LimitExceeded
   * (`forks`: 64 of a context that are not merged; `fork_depth`: 8), InvalidArgument, PermissionDenied (of contexts.issueKey), RequestIdReused,
   * Aborted, WindowBehind.
   *
   * @param task Up to 16 KiB.
   */
  async fork(
    windowId: string,
    task: string,
    options: ForkOptions & ContextOptions & WriteOptions = {},
  ): Promise<Forked> {
    const request = {
      windowId,
      task,
      inherits: enumInput("inherits", options.inherits, contextWindowsPb.ForkInheritance),
      model: options.model,
      contextTokens: options.contextTokens,
      systemPrompt: options.systemPrompt,
      toolsJson: options.tools === undefined ? undefined : toolsInput(options.tools, "tools_json"),
      keyTtlS: options.keyTtlS,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.forkWindow, request, options);
    return forkedOf(answer);
  }

  /**
   * Merges a fork: writes its result as one message to the log that it was forked from. The message is the result of a tool: what the
   * fork's assistant said last, then what it decided, set, changed and found broken, by its state. Each has a ref, such as "f3:m57/0",
   * that Expand of any window there answers with the original. It is cut to `tokensMax`. No statement of it holds by itself where it
   * came back: what was said in a fork makes no rule there. The fork is closed with that, context and window, and its keys end. A fork is
   * merged once: again is the same message.
   *
   * Throws WindowNotFound, InvalidArgument (the window is none that windows.fork opened), PermissionDenied (the key does not reach
   * what it was forked from), WindowClosed, ContextClosed (of what it was forked from), RequestIdReused, Aborted, WindowBehind.
   *
   * @param windowId Of the fork.
   * @param options.tokensMax Of the message that comes back, by the tokenizer of the window that it was forked from. 0: 2,000. An eighth of that one's `tokenLimit` at most.
   * @param options.toolCallId The call of a tool that asked for the fork, in the log that it was forked from: the message is its result. Empty: it is told for itself.
   */
  async merge(
    windowId: string,
    options: { tokensMax?: number; toolCallId?: string } & ContextOptions & WriteOptions = {},
  ): Promise<Merged> {
    const request = {
      windowId,
      tokensMax: options.tokensMax,
      toolCallId: options.toolCallId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.mergeWindow, request, options);
    return mergedOf(answer);
  }

  /**
   * Answers the original of a ref that a pack, a receipt or a recall printed. Throws WindowNotFound, RefNotFound (NotFound: none of this
   * context, whoever else has it), Erased (NotFound: it was retracted), InvalidArgument.
   *
   * @param ref "m37": a message; "m37/2": its second part, "m37/0" its content; "m37..m58": messages; "m37.0": a passage, as recall names it. Of a fork with what names it in front: "f3:m37".
   */
  async expand(windowId: string, ref: string, options: ContextOptions = {}): Promise<Original> {
    const request = {
      windowId,
      ref,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.expand, request, options);
    return originalOf(answer);
  }

  /**
   * Finds passages of the window's log, the best first. It says which step each is of, and whether the last pack shows it. Reasons as
   * contexts.search, and WindowNotFound.
   *
   * @param query Words to find.
   * @param options.limit 0: 20. Up to 200.
   * @param options.filter Which passages may be found.
   * @param options.stepFrom Steps, both included; 0: any. Of those in summaries, all steps of the segment count.
   * @param options.stepTo The last step that is searched. 0: any.
   */
  async search(
    windowId: string,
    query: string,
    options: { limit?: number; filter?: RecallFilter; stepFrom?: number; stepTo?: number } & ContextOptions = {},
  ): Promise<WindowHit[]> {
    const request = {
      windowId,
      query,
      limit: options.limit,
      filter: options.filter === undefined ? undefined : recallFilter(options.filter, "filter"),
      stepFrom: options.stepFrom,
      stepTo: options.stepTo,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.searchWindow, request, options);
    return answer.hits.map(windowHitOf);
  }

  /** Says part by part what the window shows, as the last pack had it. Throws WindowNotFound. */
  async explainPack(windowId: string, options: ContextOptions = {}): Promise<ExplainedPack> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.explainPack, request, options);
    return explainedPackOf(answer);
  }

  /** Lists every break of the prefix with its account, the newest first. Throws WindowNotFound, InvalidPageToken. */
  getLineage(windowId: string, options: { pageSize?: number } & ContextOptions = {}): Rows<FoldReceipt> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextWindowsPb.ContextWindows.method.getLineage, { ...request, pageToken }, options);
        return [page.receipts.map(foldReceiptOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Says what the vendor billed for a call of the model with a pack. It is kept with the window, and teaches how counts meet bills: of the last
   * 128 calls of the tenant with the same model and compression profile, the ratio of `inputTokens` to `packTokens` that 95 of 100 did not
   * pass is the `tokenFactor` by which budgets are kept from then on; the bytes of an epoch stay as they are. A ratio counts as 0.5 at least
   * and as 2 at most. What a key of contexts.issueKey was billed teaches its window alone.
   *
   * Throws WindowNotFound, InvalidArgument (a number that cannot be; an epoch that the window has not had), RequestIdReused.
   */
  async recordUsage(windowId: string, options: Billed & ContextOptions & WriteOptions): Promise<Calibrated> {
    const request = {
      windowId,
      epoch: options.epoch,
      packTokens: options.packTokens,
      inputTokens: whole("input_tokens", options.inputTokens),
      cachedTokens: whole("cached_tokens", options.cachedTokens),
      cacheWriteTokens: whole("cache_write_tokens", options.cacheWriteTokens),
      outputTokens: whole("output_tokens", options.outputTokens),
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.recordUsage, request, options);
    return calibratedOf(answer);
  }

  /**
   * Says how steps ended, which rules cannot see: they know of a step only whether a call failed. When a fold chooses lines, what ended well is
   * worth more by `importance_weights.success` (0.05; say more, if outcomes are to weigh more). It catches up with the log first. What is said
   * later of the same steps takes its place; a rollback, and a retraction that has the window read its log anew, forget it of the steps behind.
   * A `lesson` is kept as a memory of kind "experience" of the user, with the window's goal: see Knowledge.
   *
   * Throws WindowNotFound, WindowClosed, InvalidArgument (the window has no such steps; a quality that is none), LimitExceeded (`lesson`:
   * 8,000 characters; `memories`), SubjectRequired and PermissionDenied (a lesson of nobody, or by a key of contexts.issueKey), WindowBehind,
   * RequestIdReused, Aborted.
   *
   * @param success Whether they did what they were for; and how well, 0 to 1. Unset: 1. What failed counts as 0.
   * @param options.stepFrom Steps, both included, from 1. `stepTo` 0: the last one; `stepFrom` 0: as `stepTo`.
   * @param options.stepTo The last step. 0: the last that there is.
   * @param options.quality How well the steps ended, 0 to 1. Unset: 1. What failed counts as 0.
   * @param options.lesson What was learned, for other windows of the user. Empty: nothing is remembered.
   */
  async recordOutcome(
    windowId: string,
    success: boolean,
    options: {
      stepFrom?: number;
      stepTo?: number;
      quality?: number;
      lesson?: string;
    } & ContextOptions & WriteOptions = {},
  ): Promise<Outcome> {
    const request = {
      windowId,
      stepFrom: options.stepFrom,
      stepTo: options.stepTo,
      success,
      quality: options.quality,
      lesson: options.lesson,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.recordOutcome, request, options);
    return outcomeOf(answer);
  }

  /**
   * Estimates what the next packs cost, with their folds, as a vendor's cache bills them that stays warm. For comparison it says what a
   * window would cost that leaves out the older half whenever it is full. Of answers nothing is counted. Throws WindowNotFound,
   * InvalidArgument.
   *
   * @param options.steps How many steps are ahead, up to 100,000, with a pack behind each.
   * @param options.stepTokens Of one, as they are counted, up to 10,000,000. 0: like the last ones.
   */
  async estimateCost(
    windowId: string,
    options: { steps?: number; stepTokens?: number } & ContextOptions = {},
  ): Promise<CostEstimate> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      steps: options.steps,
      stepTokens: options.stepTokens,
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.estimateCost, request, options);
    return costEstimateOf(answer);
  }

  /**
   * Answers the numbers of a window: how much of its log it shows, how often its prefix broke, and its bill. It says how much its packs
   * had in common, too. Throws WindowNotFound.
   */
  async stats(windowId: string, options: ContextOptions = {}): Promise<WindowStats> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextWindowsPb.ContextWindows.method.windowStats, request, options);
    return windowStatsOf(answer);
  }

  /**
   * Answers the state of the work, as rules read it from the log and callers said it, the oldest first, and behind it what is counted of all
   * steps that the window has read: tools and entities, with the last page. While a retraction waits for the next pack, nothing is answered of
   * what is counted.
   * Throws WindowNotFound, InvalidArgument, InvalidPageToken.
   *
   * @param options.sections Empty: all.
   * @param options.pageSize Entries that hold; what is counted comes with the last page besides.
   */
  getState(
    windowId: string,
    options: { sections?: string[]; pageSize?: number } & ContextOptions = {},
  ): Rows<StateEntry> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      sections: options.sections,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextWindowsPb.ContextWindows.method.getState, { ...request, pageToken }, options);
        return [page.entries.map(stateEntryOf), page.nextPageToken];
      }),
    );
  }
}
