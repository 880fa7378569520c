// Made from the protos by `make proto`.

import type { Contexts } from "../context/contexts.js";
import type { Windows } from "../context/windows.js";
import type { Argument, Options, Rest } from "../noun.js";

/** A context, by its id: the methods of `contexts` that are about one. */
export class ContextHandle {
  readonly #contexts: Contexts;

  constructor(contexts: Contexts, readonly contextId: string) {
    this.#contexts = contexts;
  }

  /** As `contexts.send`. */
  send(
    message: Argument<Contexts["send"]>,
    options: Omit<Options<Contexts["send"]>, "contextId"> = {},
  ): ReturnType<Contexts["send"]> {
    return this.#contexts.send(message, { ...options, contextId: this.contextId });
  }

  /** As `contexts.append`. */
  append(
    messages: Argument<Contexts["append"]>,
    options: Omit<Options<Contexts["append"]>, "contextId"> = {},
  ): ReturnType<Contexts["append"]> {
    return this.#contexts.append(messages, { ...options, contextId: this.contextId });
  }

  /** As `contexts.recall`. */
  recall(...rest: Rest<Contexts["recall"]>): ReturnType<Contexts["recall"]> {
    return this.#contexts.recall(this.contextId, ...rest);
  }

  /** As `contexts.search`. */
  search(...rest: Rest<Contexts["search"]>): ReturnType<Contexts["search"]> {
    return this.#contexts.search(this.contextId, ...rest);
  }

  /** As `contexts.get`. */
  get(...rest: Rest<Contexts["get"]>): ReturnType<Contexts["get"]> {
    return this.#contexts.get(this.contextId, ...rest);
  }

  /** As `contexts.update`. */
  update(...rest: Rest<Contexts["update"]>): ReturnType<Contexts["update"]> {
    return this.#contexts.update(this.contextId, ...rest);
  }

  /** As `contexts.close`. */
  close(...rest: Rest<Contexts["close"]>): ReturnType<Contexts["close"]> {
    return this.#contexts.close(this.contextId, ...rest);
  }

  /** As `contexts.listMessages`. */
  listMessages(...rest: Rest<Contexts["listMessages"]>): ReturnType<Contexts["listMessages"]> {
    return this.#contexts.listMessages(this.contextId, ...rest);
  }

  /** As `contexts.getMessage`. */
  getMessage(...rest: Rest<Contexts["getMessage"]>): ReturnType<Contexts["getMessage"]> {
    return this.#contexts.getMessage(this.contextId, ...rest);
  }

  /** As `contexts.retractMessages`. */
  retractMessages(...rest: Rest<Contexts["retractMessages"]>): ReturnType<Contexts["retractMessages"]> {
    return this.#contexts.retractMessages(this.contextId, ...rest);
  }

  /** As `contexts.syncHistory`. */
  syncHistory(
    nodeId: Argument<Contexts["syncHistory"]>,
    options: Omit<Options<Contexts["syncHistory"]>, "contextId"> = {},
  ): ReturnType<Contexts["syncHistory"]> {
    return this.#contexts.syncHistory(nodeId, { ...options, contextId: this.contextId });
  }

  /** As `contexts.issueKey`. */
  issueKey(...rest: Rest<Contexts["issueKey"]>): ReturnType<Contexts["issueKey"]> {
    return this.#contexts.issueKey(this.contextId, ...rest);
  }

  /** As `contexts.waitForIndex`. */
  waitForIndex(...rest: Rest<Contexts["waitForIndex"]>): ReturnType<Contexts["waitForIndex"]> {
    return this.#contexts.waitForIndex(this.contextId, ...rest);
  }

  /** As `contexts.delete`. */
  delete(...rest: Rest<Contexts["delete"]>): ReturnType<Contexts["delete"]> {
    return this.#contexts.delete(this.contextId, ...rest);
  }

  /** As `contexts.watch`. */
  watch(...rest: Rest<Contexts["watch"]>): ReturnType<Contexts["watch"]> {
    return this.#contexts.watch(this.contextId, ...rest);
  }

  /** As `contexts.getSummary`. */
  getSummary(...rest: Rest<Contexts["getSummary"]>): ReturnType<Contexts["getSummary"]> {
    return this.#contexts.getSummary(this.contextId, ...rest);
  }
}

/** A window, by its id: the methods of `windows` that are about one. */
export class WindowHandle {
  readonly #windows: Windows;

  constructor(windows: Windows, readonly windowId: string) {
    this.#windows = windows;
  }

  /** As `windows.get`. */
  get(...rest: Rest<Windows["get"]>): ReturnType<Windows["get"]> {
    return this.#windows.get(this.windowId, ...rest);
  }

  /** As `windows.close`. */
  close(...rest: Rest<Windows["close"]>): ReturnType<Windows["close"]> {
    return this.#windows.close(this.windowId, ...rest);
  }

  /** As `windows.update`. */
  update(...rest: Rest<Windows["update"]>): ReturnType<Windows["update"]> {
    return this.#windows.update(this.windowId, ...rest);
  }

  /** As `windows.pin`. */
  pin(...rest: Rest<Windows["pin"]>): ReturnType<Windows["pin"]> {
    return this.#windows.pin(this.windowId, ...rest);
  }

  /** As `windows.unpin`. */
  unpin(...rest: Rest<Windows["unpin"]>): ReturnType<Windows["unpin"]> {
    return this.#windows.unpin(this.windowId, ...rest);
  }

  /** As `windows.patchState`. */
  patchState(...rest: Rest<Windows["patchState"]>): ReturnType<Windows["patchState"]> {
    return this.#windows.patchState(this.windowId, ...rest);
  }

  /** As `windows.getState`. */
  getState(...rest: Rest<Windows["getState"]>): ReturnType<Windows["getState"]> {
    return this.#windows.getState(this.windowId, ...rest);
  }

  /** As `windows.expand`. */
  expand(...rest: Rest<Windows["expand"]>): ReturnType<Windows["expand"]> {
    return this.#windows.expand(this.windowId, ...rest);
  }

  /** As `windows.search`. */
  search(...rest: Rest<Windows["search"]>): ReturnType<Windows["search"]> {
    return this.#windows.search(this.windowId, ...rest);
  }

  /** As `windows.watch`. */
  watch(...rest: Rest<Windows["watch"]>): ReturnType<Windows["watch"]> {
    return this.#windows.watch(this.windowId, ...rest);
  }

  /** As `windows.pack`. */
  pack(...rest: Rest<Windows["pack"]>): ReturnType<Windows["pack"]> {
    return this.#windows.pack(this.windowId, ...rest);
  }

  /** As `windows.packBody`. */
  packBody(...rest: Rest<Windows["packBody"]>): ReturnType<Windows["packBody"]> {
    return this.#windows.packBody(this.windowId, ...rest);
  }

  /** As `windows.explainPack`. */
  explainPack(...rest: Rest<Windows["explainPack"]>): ReturnType<Windows["explainPack"]> {
    return this.#windows.explainPack(this.windowId, ...rest);
  }

  /** As `windows.getLineage`. */
  getLineage(...rest: Rest<Windows["getLineage"]>): ReturnType<Windows["getLineage"]> {
    return this.#windows.getLineage(this.windowId, ...rest);
  }

  /** As `windows.traceMessage`. */
  traceMessage(...rest: Rest<Windows["traceMessage"]>): ReturnType<Windows["traceMessage"]> {
    return this.#windows.traceMessage(this.windowId, ...rest);
  }

  /** As `windows.fold`. */
  fold(...rest: Rest<Windows["fold"]>): ReturnType<Windows["fold"]> {
    return this.#windows.fold(this.windowId, ...rest);
  }

  /** As `windows.prepareFold`. */
  prepareFold(...rest: Rest<Windows["prepareFold"]>): ReturnType<Windows["prepareFold"]> {
    return this.#windows.prepareFold(this.windowId, ...rest);
  }

  /** As `windows.commitFold`. */
  commitFold(...rest: Rest<Windows["commitFold"]>): ReturnType<Windows["commitFold"]> {
    return this.#windows.commitFold(this.windowId, ...rest);
  }

  /** As `windows.createCheckpoint`. */
  createCheckpoint(...rest: Rest<Windows["createCheckpoint"]>): ReturnType<Windows["createCheckpoint"]> {
    return this.#windows.createCheckpoint(this.windowId, ...rest);
  }

  /** As `windows.listCheckpoints`. */
  listCheckpoints(...rest: Rest<Windows["listCheckpoints"]>): ReturnType<Windows["listCheckpoints"]> {
    return this.#windows.listCheckpoints(this.windowId, ...rest);
  }

  /** As `windows.rollback`. */
  rollback(...rest: Rest<Windows["rollback"]>): ReturnType<Windows["rollback"]> {
    return this.#windows.rollback(this.windowId, ...rest);
  }

  /** As `windows.reportResponse`. */
  reportResponse(...rest: Rest<Windows["reportResponse"]>): ReturnType<Windows["reportResponse"]> {
    return this.#windows.reportResponse(this.windowId, ...rest);
  }

  /** As `windows.fork`. */
  fork(...rest: Rest<Windows["fork"]>): ReturnType<Windows["fork"]> {
    return this.#windows.fork(this.windowId, ...rest);
  }

  /** As `windows.merge`. */
  merge(...rest: Rest<Windows["merge"]>): ReturnType<Windows["merge"]> {
    return this.#windows.merge(this.windowId, ...rest);
  }

  /** As `windows.recordUsage`. */
  recordUsage(...rest: Rest<Windows["recordUsage"]>): ReturnType<Windows["recordUsage"]> {
    return this.#windows.recordUsage(this.windowId, ...rest);
  }

  /** As `windows.recordOutcome`. */
  recordOutcome(...rest: Rest<Windows["recordOutcome"]>): ReturnType<Windows["recordOutcome"]> {
    return this.#windows.recordOutcome(this.windowId, ...rest);
  }

  /** As `windows.estimateCost`. */
  estimateCost(...rest: Rest<Windows["estimateCost"]>): ReturnType<Windows["estimateCost"]> {
    return this.#windows.estimateCost(this.windowId, ...rest);
  }

  /** As `windows.stats`. */
  stats(...rest: Rest<Windows["stats"]>): ReturnType<Windows["stats"]> {
    return this.#windows.stats(this.windowId, ...rest);
  }
}
