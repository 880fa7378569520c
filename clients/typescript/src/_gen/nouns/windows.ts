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
  type MessageTrace,
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
  messageTraceOf,
  rolledBackOf,
  stateEntryOf,
  windowHitOf,
  windowOf,
  windowStatsOf,
} from "../context-windows.js";
import { type RecallFilter, type StateEntryInput, type StateEntryName, recallFilter } from "../inputs.js";

/** Options of `windows.open`. */
export interface WindowOptions {
  /** Tokens that the model accepts, including its answer, up to 10,000,000. 0 means the known size of the model. */
  contextTokens?: number;
  /** Unset means the format of the model's vendor. For an unknown model, it means OpenAI's Chat Completions. */
  format?: MessageFormat;
  /** The beginning of every pack. Up to 256 KiB. */
  systemPrompt?: string;
  /** A JSON list in the form of the vendor, up to 1 MiB. */
  tools?: readonly unknown[];
  /** Up to 16 KiB. The model reads it after the system prompt. */
  goal?: string;
  /** Share of `contextTokens` that a request may have, up to 1. 0 means 0.8. */
  tokenBudget?: number;
  /** Tokens to reserve for the answer. 0 means 4,096. */
  outputReservation?: number;
  /**
   * "general", "coding", "research", "operations", or a profile of the tenant: "mine" for its newest version, or
   * "mine@3". Empty means "general".
   */
  compressionProfile?: string;
  /** How the window folds, and how many tokens it may use. Unset means the defaults. */
  config?: WindowConfig;
}

/** Options of `windows.update`. */
export interface WindowChanges {
  /** As in windows.open. Unset means no change. Empty removes it. */
  systemPrompt?: string;
  /** As in windows.open. Unset means no change. */
  tools?: readonly unknown[];
  /** As in windows.open. Unset means no change. Empty removes it. */
  goal?: string;
  /** Only fields that are set change. This holds for each field of `tierRatios` and of the other groups too. */
  config?: WindowConfig;
  /** As in windows.open. Unset means no change. 0 means the default. */
  tokenBudget?: number;
  /** As in windows.open. Unset means no change. 0 means the default. */
  outputReservation?: number;
}

/** Options of `windows.fork`. */
export interface ForkOptions {
  inherits?: "nothing" | "pins" | "state";
  /** As in windows.open. Empty means the model of the parent. */
  model?: string;
  contextTokens?: number;
  /** Unset means those of the parent. */
  systemPrompt?: string;
  tools?: readonly unknown[];
  /** Lifetime of the key in seconds, at most 86,400 (one day). 0 means 3,600 (one hour). */
  keyTtlS?: number;
}

/** Options of `windows.recordUsage`. */
export interface Billed {
  /** `epoch` of the pack that was sent. Unset means the current epoch of the window. */
  epoch?: number;
  /** `tokens` of the pack that was sent. 0 means that the bill is stored and does not calibrate the counts. */
  packTokens?: number;
  /**
   * All tokens of the prompt that the vendor billed, 1 to 100,000,000, including tokens that were read from or written
   * to a cache. For Anthropic, the sum of all three numbers in its answer.
   */
  inputTokens: number;
  /** Tokens of the prompt that were read from a cache, up to 100,000,000. */
  cachedTokens?: number;
  /** Tokens of the prompt that were written to a cache, up to 100,000,000. */
  cacheWriteTokens?: number;
  /** Tokens of the answer, up to 100,000,000. */
  outputTokens?: number;
}

/** The calls of `windows` that are one method each. */
export class GeneratedWindows extends Noun<AppClient> {
  /**
   * Open a window on a context. Its format and its model cannot be changed later.
   *
   * Throws ContextNotFound, ContextClosed (FailedPrecondition), InvalidArgument (an unknown model without
   * `contextTokens`; a number out of range), BudgetTooSmall (ResourceExhausted: system prompt, tools and goal do
   * not fit), LimitExceeded, RequestIdReused.
   *
   * @param model Name of the model, such as "gpt-5", "claude-sonnet-4-5" or "gemini-2.5-pro", up to 200 characters. The service knows the context size and the tokenizer of common models.
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
    const answer = await this.client.call(contextWindowsPb.Windows.method.openWindow, request, options);
    return windowOf(answer.window!);
  }

  /** Read a window and list its forks. Throws WindowNotFound. */
  async get(windowId: string, options: ContextOptions = {}): Promise<WindowWithForks> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextWindowsPb.Windows.method.getWindow, request, options);
    return windowWithForksOf(answer);
  }

  /** List the windows of a context, newest first. Throws ContextNotFound, InvalidPageToken. */
  list(contextId: string, options: { pageSize?: number } & ContextOptions = {}): Rows<Window> {
    const request = {
      contextId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextWindowsPb.Windows.method.listWindows, { ...request, pageToken }, options);
        return [page.windows.map(windowOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Close a window, so that it packs no more. The stored data of its packs are removed, with its system prompt, tools
   * and goal. Closing a closed window changes nothing.
   *
   * Throws WindowNotFound, RequestIdReused.
   */
  async close(windowId: string, options: ContextOptions & WriteOptions = {}): Promise<Window> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextWindowsPb.Windows.method.closeWindow, request, options);
    return windowOf(answer.window!);
  }

  /**
   * Change the fields of a window that the request sets, all or none. A new system prompt, new tools or a new goal
   * break the prefix, and have a receipt ("updated"). After a new goal the window folds at once if there is something
   * to fold, with a second receipt ("goal"); the answer is the window before that fold. A new `config` or budget
   * applies from the next pack on and breaks nothing; a pack that exceeds the new budget folds. Setting the same values
   * again changes nothing.
   *
   * Throws WindowNotFound, WindowClosed, BudgetTooSmall (the prompt, the tools and the goal do not fit together
   * with the pins and the required part of the state; metadata `least`), InvalidArgument, LimitExceeded,
   * RequestIdReused, Aborted (too many concurrent writes to the window; retry).
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
    const answer = await this.client.call(contextWindowsPb.Windows.method.updateWindow, request, options);
    return windowOf(answer.window!);
  }

  /**
   * Pin a text after the system prompt of every pack. The text stays word for word, and no fold cuts it. The pin of a
   * ref is removed when its message is retracted. Pinning breaks the prefix, and has a receipt ("pinned").
   *
   * Throws WindowNotFound, WindowClosed, RefNotFound, Erased, BudgetTooSmall, InvalidArgument, LimitExceeded
   * (`pins`: a window has up to 100; a pin has up to 16 KiB), RequestIdReused, Aborted.
   *
   * @param options.text The text to pin. Set either this or `ref`.
   * @param options.ref The part of the log to pin, instead of a text: "m37" is a message, "m37/2" its second part and "m37/0" its content, as a model reads it. The pin is removed when its message is retracted.
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
    const answer = await this.client.call(contextWindowsPb.Windows.method.pin, request, options);
    return answer.pinId;
  }

  /**
   * Remove a pin, with a receipt ("unpinned"). Throws WindowNotFound, WindowClosed, PinNotFound,
   * RequestIdReused, Aborted.
   */
  async unpin(windowId: string, pinId: string, options: ContextOptions & WriteOptions = {}): Promise<void> {
    const request = {
      windowId,
      pinId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    await this.client.call(contextWindowsPb.Windows.method.unpin, request, options);
  }

  /**
   * Add, replace and remove entries of the state of the work, all or none. The state also has entries that rules
   * read from the log. An entry of the request replaces the earlier entry with the same key, whatever its source, and a
   * later entry from the log replaces it in turn.
   *
   * The next pack that does not wait for results tells the model about the changes, after its last step and without
   * breaking the prefix. The next fold writes the whole state again. Setting the same entries again changes nothing.
   * The entries stay when messages are retracted.
   *
   * Throws WindowNotFound, WindowClosed, BudgetTooSmall (the required part of a pack does not fit; metadata
   * `least`), InvalidArgument (an unknown section; control characters; no key), LimitExceeded (100 changes of a call,
   * 500 entries of callers in a window, texts of up to 2,000 characters, keys of 200), RequestIdReused, Aborted.
   *
   * @param options.remove Entries to remove, before `set` is applied. An entry that does not exist is ignored.
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
    const answer = await this.client.call(contextWindowsPb.Windows.method.patchState, request, options);
    return answer.changedCount;
  }

  /**
   * List the state of the work, oldest entry first. Rules read the entries from the log, or callers set them. The last
   * page also has the counts of tools and entities over all steps that the window has read. If a message was retracted,
   * the counts are missing until the next pack. Throws WindowNotFound, InvalidArgument, InvalidPageToken.
   *
   * @param options.sections Empty means all sections.
   * @param options.pageSize Maximum number of entries on a page. The counted entries come in addition, with the last page.
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
        const page = await this.client.call(contextWindowsPb.Windows.method.getState, { ...request, pageToken }, options);
        return [page.entries.map(stateEntryOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Find passages of the log of a window, best first. Each hit has its step, and whether the last pack shows it.
   * Throws those of contexts.search, and WindowNotFound.
   *
   * @param query Words to find.
   * @param options.limit Maximum number of hits, up to 200. 0 means 20.
   * @param options.filter Which passages may be found.
   * @param options.stepFrom The first step to search. 0 means no bound. If a step is in a summary, all steps of its segment match.
   * @param options.stepTo The last step to search, included. 0 means no bound.
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
    const answer = await this.client.call(contextWindowsPb.Windows.method.searchWindow, request, options);
    return answer.hits.map(windowHitOf);
  }

  /** List the parts of a window, as in its last pack. Throws WindowNotFound. */
  async explainPack(windowId: string, options: ContextOptions = {}): Promise<ExplainedPack> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextWindowsPb.Packing.method.explainPack, request, options);
    return explainedPackOf(answer);
  }

  /** List every break of the prefix with its receipt, newest first. Throws WindowNotFound, InvalidPageToken. */
  getLineage(windowId: string, options: { pageSize?: number } & ContextOptions = {}): Rows<FoldReceipt> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextWindowsPb.Packing.method.getLineage, { ...request, pageToken }, options);
        return [page.receipts.map(foldReceiptOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Find where messages are in the packs of a window, and since when. Use it when a model seems to have forgotten
   * something. A message is verbatim, cleared, in a summary, or left out; the answer names the fold and the rule, and the
   * lines that packs still show. With a `text`, it also names the fold that removed the text from the packs. The answer
   * is about the window as it is; the call does not read new messages.
   *
   * Throws WindowNotFound, RefNotFound (NotFound: this context has no such ref), Erased (NotFound: all messages
   * of the ref were retracted), InvalidArgument (`ref` is malformed, or names an artifact or a message of a fork).
   *
   * @param ref A message, a part of it, or a range of messages: "m37", "m37/2" or "m12..m400". See ExpandRequest.
   * @param options.text A sentence or a part of one. Then the answer has only the messages with this text, and when packs showed it last. Upper and lower case and the kind of white space do not matter.
   */
  async traceMessage(
    windowId: string,
    ref: string,
    options: { text?: string } & ContextOptions = {},
  ): Promise<MessageTrace> {
    const request = {
      windowId,
      ref,
      text: options.text,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextWindowsPb.Packing.method.traceMessage, request, options);
    return messageTraceOf(answer);
  }

  /**
   * Fold a window now, as `windows.pack` does when it must, and return the receipt. With `dryRun` it changes nothing and
   * returns the receipt that a fold would have.
   *
   * With `instructions`, summaries show lines that concern them first. If a model writes the segments of the window, it
   * gets the instructions too, and the call waits for its text. Packs continue meanwhile.
   *
   * Throws WindowNotFound, WindowClosed, FoldNoProgress (FailedPrecondition: there is nothing to fold),
   * LimitExceeded (`instructions`), InvalidArgument, Aborted, WindowBehind.
   *
   * @param options.dryRun Return the receipt that a fold would have, and change nothing.
   * @param options.instructions What this fold must keep, such as "keep everything about the invoices".
   */
  async fold(
    windowId: string,
    options: { dryRun?: boolean; instructions?: string } & ContextOptions = {},
  ): Promise<FoldReceipt> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      dryRun: options.dryRun,
      instructions: options.instructions,
    };
    const answer = await this.client.call(contextWindowsPb.Folding.method.fold, request, options);
    return foldReceiptOf(answer.receipt!);
  }

  /**
   * Prepare a fold before it is needed, in parallel with the calls of a model, and store it with the window. Packs
   * stay the same, byte for byte. The call first catches up with the log. A prepared fold replaces an earlier one. It
   * becomes invalid with any new epoch or config: after a fold, a new prompt, new tools, a new goal or budget, a pin,
   * or a retracted message.
   *
   * Throws WindowNotFound, WindowClosed, FoldNoProgress (there is nothing to fold), FoldStale (Aborted: the
   * epoch of the window is not `expectedEpoch`; metadata `epoch`), LimitExceeded (`instructions`), Aborted,
   * WindowBehind.
   *
   * @param options.expectedEpoch Epoch of the pack, as `windows.pack` returned it, for which to prepare the fold. Unset means any epoch.
   * @param options.instructions What this fold must keep: see FoldRequest.
   */
  async prepareFold(
    windowId: string,
    options: { expectedEpoch?: number; instructions?: string } & ContextOptions = {},
  ): Promise<FoldReceipt> {
    const request = {
      windowId,
      expectedEpoch: options.expectedEpoch,
      subjectUserId: options.subjectUserId,
      instructions: options.instructions,
    };
    const answer = await this.client.call(contextWindowsPb.Folding.method.prepareFold, request, options);
    return foldReceiptOf(answer.receipt!);
  }

  /**
   * Commit the prepared fold, without choosing lines again, and return the receipt. All messages that came after the
   * preparation stay verbatim. The state of the work is written as it is now, with those messages. If no message came,
   * the result is that of `windows.fold`. If too many came, the next pack folds again.
   *
   * Throws WindowNotFound, WindowClosed, FoldNotPrepared (FailedPrecondition: no fold was prepared with this
   * config), FoldStale (Aborted: the epoch of the window is not `expectedEpoch`, or not the epoch of the prepared
   * fold, for example because that fold was committed; metadata `epoch`), Aborted, WindowBehind, RequestIdReused.
   *
   * @param options.expectedEpoch The epoch that windows.prepareFold returned. Unset means the epoch of the fold that was prepared last.
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
    const answer = await this.client.call(contextWindowsPb.Folding.method.commitFold, request, options);
    return foldReceiptOf(answer.receipt!);
  }

  /**
   * Store the current state of a window as a checkpoint, to which `windows.rollback` can return. The window first reads its
   * log. A checkpoint takes one row, however long the log is, and does not change packs. A step that waits for results
   * is not in it.
   *
   * A window also makes checkpoints by itself: after each 50 steps (`checkpointEveryNSteps`) and before each fold.
   * It keeps the newest 20 of each of these two kinds, and the newest 100 checkpoints of callers. Retracting a message
   * removes all checkpoints of the window, because they may contain its words.
   *
   * Throws WindowNotFound, WindowClosed, WindowBehind, LimitExceeded (`label`: 200 characters),
   * InvalidArgument, RequestIdReused, Aborted.
   *
   * @param options.label A label for people, up to 200 characters.
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
    const answer = await this.client.call(contextWindowsPb.Checkpoints.method.createCheckpoint, request, options);
    return checkpointOf(answer.checkpoint!);
  }

  /** List the checkpoints of a window, newest first. Throws WindowNotFound, InvalidPageToken. */
  listCheckpoints(windowId: string, options: { pageSize?: number } & ContextOptions = {}): Rows<Checkpoint> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextWindowsPb.Checkpoints.method.listCheckpoints, { ...request, pageToken }, options);
        return [page.checkpoints.map(checkpointOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Roll a window back to a checkpoint, completely or not at all. The next pack is the same as at the checkpoint, byte
   * for byte, with the current prompt, tools and goal. Later folds, pins and state entries of callers are undone, and
   * later checkpoints are deleted. The prefix breaks, with a receipt ("rolled_back").
   *
   * Messages after the checkpoint are left out of the window permanently, and out of its recall. The log keeps them:
   * `windows.expand` returns them, and other windows show them. To keep some of them in this window, send them again as new
   * messages.
   *
   * Throws WindowNotFound, WindowClosed, CheckpointNotFound (NotFound: the window has no checkpoint with this
   * number, or no longer has it), LogMoved (Aborted: the log has messages after `expectedLastSeq`, which the caller
   * would lose unseen; metadata `lastSeq`), LimitExceeded (`rollbacks`: a window leaves out up to 1,000 separate
   * ranges of messages), InvalidArgument, RequestIdReused.
   *
   * @param checkpoint The number of the checkpoint.
   * @param expectedLastSeq `seq` of the newest message of the log that the caller knows, such as `lastSeq` of the last pack, or the `seq` that appending returned.
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
    const answer = await this.client.call(contextWindowsPb.Checkpoints.method.rollback, request, options);
    return rolledBackOf(answer);
  }

  /**
   * Report whether the model's response to a pack was usable. A valid response changes nothing. A response is
   * `invalid` if, for example, it does not have the requested form or rests on facts that do not exist. Then the window
   * is rolled back to its newest checkpoint from before the pack, and relevant passages that the last messages of the
   * pack no longer show are recalled, once. The answer is the pack for the next attempt.
   *
   * The `recoveryStrategy` of the window's config decides which messages are left out: all messages after the
   * checkpoint ("rollback_to_checkpoint"; send again what the model must know), or only the messages after the pack,
   * while the others are read again ("reread_from_checkpoint"). A window without a checkpoint leaves out the messages
   * after the pack and reads its log again. If the window was already rolled back after the pack, it is not rolled back
   * again.
   *
   * Throws WindowNotFound, WindowClosed, LogMoved (the log has messages that the caller does not know),
   * LimitExceeded (`rollbacks`), InvalidArgument (the window has had no such pack), RequestIdReused, and those of
   * Pack, after which the same request returns the pack.
   *
   * @param pack The id of the pack that was sent to the model.
   * @param options.expectedLastSeq `seq` of the newest message of the log that the caller knows, such as the response if it was appended. Unset means the `lastSeq` of the pack.
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
    const answer = await this.client.call(contextWindowsPb.Checkpoints.method.reportResponse, request, options);
    return recoveredOf(answer);
  }

  /**
   * Fork a window: give a part of the work its own context and window, for example for another agent. A window can
   * have several forks at once. The new context is a child of the window's context. It begins with the task, as the
   * message of a user. Callers who see the parent context see it too, also with a key of contexts.issueKey, and it is
   * closed and deleted with its parent.
   *
   * The new window has the model and the config of its parent, and the task as its goal. The prompt and the tools are
   * those of the parent unless the request sets them. `inherits` says what else the fork gets: the current state after
   * the parent has read its log, without refs, because they would lead to another log. After the fork, neither window
   * sees later changes of the other.
   *
   * Throws WindowNotFound, WindowClosed, ContextClosed, BudgetTooSmall (prompt, tools, task and the inherited
   * state do not fit), LimitExceeded (`forks`: 64 of a context that are not merged; `fork_depth`: 8),
   * InvalidArgument, PermissionDenied (of contexts.issueKey), RequestIdReused, Aborted, WindowBehind.
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
    const answer = await this.client.call(contextWindowsPb.Forks.method.forkWindow, request, options);
    return forkedOf(answer);
  }

  /**
   * Merge a fork: write its result as one message to the log of its parent. The message is the result of a tool. It
   * has the last message of the fork's assistant, then the decisions, values, changes and errors in the state of the
   * fork. Each of these has a ref, such as "f3:m57/0", with which `windows.expand` of any window of the parent returns the
   * original. The message is cut to `tokensMax`. Its lines do not become rules in the parent.
   *
   * Merging closes the context and the window of the fork, and ends its keys. A fork is merged once: merging it again
   * returns the same message.
   *
   * Throws WindowNotFound, InvalidArgument (windows.fork did not open this window), PermissionDenied (the key does
   * not reach the parent), WindowClosed, ContextClosed (the parent's), RequestIdReused, Aborted, WindowBehind.
   *
   * @param windowId The window of the fork.
   * @param options.tokensMax Maximum number of tokens of the result, by the tokenizer of the parent window. 0 means 2,000. At most an eighth of the parent's `tokenLimit`.
   * @param options.toolCallId Id of the tool call in the log of the parent that asked for the fork: the message becomes its result. Empty means that the message stands alone.
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
    const answer = await this.client.call(contextWindowsPb.Forks.method.mergeWindow, request, options);
    return mergedOf(answer);
  }

  /**
   * Record what the vendor billed for a call of the model with a pack. The bill is stored with the window, and
   * calibrates the counts of tokens. From the last 128 calls of the tenant with the same model and compression profile,
   * the service takes the ratio of `inputTokens` to `packTokens` that 95 of 100 calls did not exceed. This ratio is
   * the `tokenFactor`, and budgets use it from then on. The bytes of the current epoch stay as they are. A ratio
   * counts as at least 0.5 and at most 2. Bills that are recorded with a key of contexts.issueKey calibrate only their
   * own window.
   *
   * Throws WindowNotFound, InvalidArgument (a number out of range; an epoch that the window has not had),
   * RequestIdReused.
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
    const answer = await this.client.call(contextWindowsPb.Usage.method.recordUsage, request, options);
    return calibratedOf(answer);
  }

  /**
   * Record whether steps succeeded. Rules cannot see this: they only see whether a call failed. When a fold chooses
   * lines, lines of successful steps get the additional weight `importance_weights.success` (0.05; increase it if
   * outcomes should count more). The call first catches up with the log. A later outcome of the same steps replaces the
   * earlier one. A rollback deletes the outcomes of later steps; so does a retraction after which the window reads its
   * log again. A `lesson` is stored as a memory of kind "experience" of the user, with the goal of the window: see
   * `Memories`.
   *
   * Throws WindowNotFound, WindowClosed, InvalidArgument (the window has no such steps; an invalid quality),
   * LimitExceeded (`lesson`: 8,000 characters; `memories`), SubjectRequired and PermissionDenied (a lesson without a
   * user, or with a key of contexts.issueKey), WindowBehind, RequestIdReused, Aborted.
   *
   * @param success Whether the steps achieved their purpose.
   * @param options.stepFrom The first step, from 1. 0 means the same as `stepTo`.
   * @param options.stepTo The last step, included. 0 means the newest step.
   * @param options.quality How well the steps succeeded, 0 to 1. Unset means 1. Failed steps count as 0.
   * @param options.lesson A lesson for other windows of the user. Empty means that no memory is stored.
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
    const answer = await this.client.call(contextWindowsPb.Usage.method.recordOutcome, request, options);
    return outcomeOf(answer);
  }

  /**
   * Estimate the cost of the next packs and their folds, with the vendor's prompt cache warm. For comparison, it also
   * estimates a sliding window, which drops the older half whenever it is full. The costs of answers are not included.
   * Throws WindowNotFound, InvalidArgument.
   *
   * @param options.steps Number of steps ahead, up to 100,000, with a pack after each.
   * @param options.stepTokens Counted tokens of one step, up to 10,000,000. 0 means as long as the last steps.
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
    const answer = await this.client.call(contextWindowsPb.Usage.method.estimateCost, request, options);
    return costEstimateOf(answer);
  }

  /**
   * Return the statistics of a window: how much of its log it shows, how often its prefix broke, and its bill. It also
   * shows how much consecutive packs had in common. Throws WindowNotFound.
   */
  async stats(windowId: string, options: ContextOptions = {}): Promise<WindowStats> {
    const request = {
      windowId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextWindowsPb.Usage.method.windowStats, request, options);
    return windowStatsOf(answer);
  }
}
