/** Windows on contexts: what one model shall see of one, within its budget. */

import * as pb from "../gen/contextkeep/context/v1/context_windows_pb.js";
import { FORMATS, type MessageFormat } from "../history.js";
import { toJson } from "../json.js";
import { choice } from "../messages.js";
import { Rows, pages } from "../rows.js";
import { type Pack, type Window, packOf, windowOf } from "../windows.js";
import { type WriteOptions, requestId } from "../writes.js";
import type { ContextOptions } from "./contexts.js";
import { TaskCalls } from "./tasks.js";

const method = pb.ContextWindows.method;

/** A new window. */
export interface WindowOptions extends ContextOptions, WriteOptions {
  /** What stands in front of all, up to 256 KiB. */
  systemPrompt?: string;
  /** JSON values as the vendor wants them, up to 1 MiB. */
  tools?: readonly unknown[];
  /** Told to the model behind the system prompt, up to 16 KiB. */
  goal?: string;
  /** Else that of the model's vendor. */
  format?: MessageFormat;
  /** What the model takes, with its answer; else what is known of it. */
  contextTokens?: number;
  /** The share of it that a request may have; else 0.8. */
  tokenBudget?: number;
  /** Tokens that are kept for the answer; else 4,096. */
  outputReservation?: number;
}

/** An RPC is one method. A window that is of another's context, or not there at all, is `WindowNotFound`. */
export abstract class WindowCalls extends TaskCalls {
  /**
   * Open a window on a context, and return it.
   *
   * @param model Such as "gpt-5": of those that are known, so are tokens, tokenizer and format.
   * @throws ContextNotFound There is no such context.
   * @throws ContextClosed It is closed.
   * @throws BudgetTooSmall What stands in front of all does not fit.
   */
  async openWindow(contextId: string, model: string, options: WindowOptions = {}): Promise<Window> {
    const { systemPrompt, tools, goal, format, contextTokens, tokenBudget, outputReservation, subjectUserId } = options;
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
      subjectUserId,
      requestId: requestId(options),
    };
    return windowOf((await this.call(method.openWindow, request, options)).window!);
  }

  /** Return a window. */
  async getWindow(windowId: string, options: ContextOptions = {}): Promise<Window> {
    const { subjectUserId } = options;
    return windowOf((await this.call(method.getWindow, { windowId, subjectUserId }, options)).window!);
  }

  /** The windows of a context, the newest first, without prompts and tools. */
  listWindows(contextId: string, options: { pageSize?: number } & ContextOptions = {}): Rows<Window> {
    const { pageSize, subjectUserId } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listWindows, { contextId, subjectUserId, pageSize, pageToken }, options);
        return [page.windows.map(windowOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Return what the model shall see now: what it saw before with more behind it, until a fold leaves some out.
   *
   * @throws WindowClosed It packs no more.
   * @throws BudgetTooSmall The last step does not fit: `least` in the metadata.
   * @throws AnswerTooLarge What fits the model fits no answer.
   */
  async pack(windowId: string, options: ContextOptions = {}): Promise<Pack> {
    const { subjectUserId } = options;
    return packOf(await this.call(method.pack, { windowId, subjectUserId }, options));
  }

  /** Close a window, and return it without prompt, tools and goal; again is harmless. The log stays. */
  async closeWindow(windowId: string, options: ContextOptions & WriteOptions = {}): Promise<Window> {
    const { subjectUserId } = options;
    const request = { windowId, subjectUserId, requestId: requestId(options) };
    return windowOf((await this.call(method.closeWindow, request, options)).window!);
  }
}
