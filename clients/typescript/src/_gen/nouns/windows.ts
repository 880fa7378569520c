// Made from the protos by `make proto`.

import * as contextWindowsPb from "../../gen/contextkeep/context/v1/context_windows_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import {
  type Checkpoint,
  type CostEstimate,
  type ExplainedPack,
  type FoldReceipt,
  type Merged,
  type Original,
  type RolledBack,
  type Window,
  type WindowStats,
  checkpointOf,
  costEstimateOf,
  explainedPackOf,
  foldReceiptOf,
  mergedOf,
  originalOf,
  rolledBackOf,
  windowOf,
  windowStatsOf,
} from "../context-windows.js";

/** The calls of `windows` that are one method each. */
export class GeneratedWindows extends Noun<AppClient> {
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
   * Folds now, as `windows.pack` does when it must, and answers the account of it. With `dryRun` it says what it would do. Throws WindowNotFound,
   * WindowClosed, FoldNoProgress (FailedPrecondition: there is nothing to fold), Aborted, WindowBehind.
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
}
