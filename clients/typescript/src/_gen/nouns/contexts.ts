// Made from the protos by `make proto`.

import * as contextsPb from "../../gen/contextkeep/context/v1/contexts_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { whole } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import {
  type Context,
  type ContextHistory,
  type ContextKey,
  type Erasure,
  type ExternalId,
  contextHistoryOf,
  contextKeyOf,
  contextOf,
  erasureOf,
} from "../contexts.js";
import { type ChatMessage, chatMessageOf } from "../message.js";

/** The calls of `contexts` that are one method each. */
export class GeneratedContexts extends Noun<AppClient> {
  /**
   * Reads a context with its newest messages, oldest of them first.
   *
   * Throws ContextNotFound.
   *
   * @param options.historyLength The newest so many messages. Unset: all that fit (2 MiB); 0: none.
   */
  async get(contextId: string, options: { historyLength?: number } & ContextOptions = {}): Promise<ContextHistory> {
    const request = {
      contextId,
      historyLength: options.historyLength,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.getContext, request, options);
    return contextHistoryOf(answer);
  }

  /** Lists the contexts that carry an id of another system, newest first: there may be several. Throws InvalidPageToken. */
  getByExternalId(externalId: ExternalId, options: { pageSize?: number } & ContextOptions = {}): Rows<Context> {
    const request = {
      externalId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextsPb.Contexts.method.getContextsByExternalId, { ...request, pageToken }, options);
        return [page.contexts.map(contextOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Closes a context, and what was forked from it: it is read and recalled as before, and takes no more messages. Again is harmless.
   *
   * Throws ContextNotFound.
   */
  async close(contextId: string, options: ContextOptions & WriteOptions = {}): Promise<Context> {
    const request = {
      contextId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextsPb.Contexts.method.closeContext, request, options);
    return contextOf(answer.context!);
  }

  /**
   * Lists the messages of a context by their `seq`. Retracted ones are left out.
   *
   * A page ends at `pageSize` messages or 2 MiB. Throws ContextNotFound, InvalidPageToken.
   *
   * @param options.seqFrom From this `seq` on, and up to this one, both included; 0: from the first, to the last.
   */
  listMessages(
    contextId: string,
    options: { seqFrom?: number; seqTo?: number; newestFirst?: boolean; pageSize?: number } & ContextOptions = {},
  ): Rows<ChatMessage> {
    const request = {
      contextId,
      seqFrom: whole("seq_from", options.seqFrom),
      seqTo: whole("seq_to", options.seqTo),
      newestFirst: options.newestFirst,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextsPb.Contexts.method.listMessages, { ...request, pageToken }, options);
        return [page.messages.map(chatMessageOf), page.nextPageToken];
      }),
    );
  }

  /** Reads one message. Throws ContextNotFound, MessageNotFound (also of a retracted one). */
  async getMessage(contextId: string, messageId: string, options: ContextOptions = {}): Promise<ChatMessage> {
    const request = {
      contextId,
      messageId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.getMessage, request, options);
    return chatMessageOf(answer.message!);
  }

  /**
   * Hides messages from reads, recall and later windows. Their `seq` stays theirs, and so do their ids: sent again, they stay
   * retracted. Again is harmless.
   *
   * Throws ContextNotFound, MessageNotFound (of any of them: then none is retracted), ContextClosed, LimitExceeded.
   *
   * @param messageIds 1 to 500.
   */
  async retractMessages(
    contextId: string,
    messageIds: string[],
    options: ContextOptions & WriteOptions = {},
  ): Promise<number> {
    const request = {
      contextId,
      messageIds,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextsPb.Contexts.method.retractMessages, request, options);
    return answer.retractedCount;
  }

  /**
   * Makes a short-lived key that reaches this context, its forks, and nothing else in either service. It is for an agent that must not
   * reach another context, whatever it is talked into. It has no more than the key that asks, makes no keys, and dies with it: of a JWT
   * with the token, of an anonymous caller in development after an hour.
   *
   * Throws ContextNotFound, PermissionDenied (a scope that the caller lacks; a key of a context asks), InvalidArgument.
   *
   * @param options.scopes "read", "write". Empty: those of both that the caller has.
   * @param options.ttlS Seconds until it ends, at most a day. 0: an hour.
   */
  async issueKey(
    contextId: string,
    options: { scopes?: string[]; ttlS?: number } & ContextOptions = {},
  ): Promise<ContextKey> {
    const request = {
      contextId,
      scopes: options.scopes,
      ttlS: options.ttlS,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.issueContextKey, request, options);
    return contextKeyOf(answer);
  }

  /**
   * Deletes a context for good, with its forks. When this is answered, the context is ContextNotFound for everybody, its keys are
   * ended, and the id of `getOrCreate` is free. Its messages, its index, its external ids, the records that were uploaded for it and
   * that nothing else refers to, and the answers that repeated calls would get are removed after that, in steps; the receipt says how far
   * that is. Again is harmless, and answers the same receipt. A context that is past its `expiresAt` is removed by itself in the same
   * way, and has a receipt, too. A credential with `admin` deletes what is any user's; a key of a context deletes nothing.
   *
   * Throws ContextNotFound, RequestIdReused.
   *
   * @param options.now Begins to remove its rows at once. Else the next pass does, within SWEEP_INTERVAL_S.
   */
  async delete(contextId: string, options: { now?: boolean } & ContextOptions & WriteOptions = {}): Promise<Erasure> {
    const request = {
      contextId,
      now: options.now,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextsPb.Contexts.method.deleteContext, request, options);
    return erasureOf(answer.erasure!);
  }

  /**
   * Reads a receipt as it is now. It is kept for a year after all was removed, and has numbers and times, nothing of what was said.
   *
   * Throws ErasureNotFound.
   */
  async getErasure(erasureId: string, options: ContextOptions = {}): Promise<Erasure> {
    const request = {
      erasureId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.getErasure, request, options);
    return erasureOf(answer.erasure!);
  }
}
