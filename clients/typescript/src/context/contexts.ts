/** Contexts and their messages. */

import type { ContextOptions } from "./app.js";
import {
  type Context,
  type ContextEvent,
  type ContextIndex,
  type ExternalId,
  type Recalled,
  type RecalledItem,
  type SyncedHistory,
  contextEventOf,
  contextIndexOf,
  contextOf,
  recalledItemOf,
  recalledOf,
  syncedHistoryOf,
} from "../_gen/contexts.js";
import { GeneratedContexts } from "../_gen/nouns/contexts.js";
import * as contexts from "../contexts.js";
import type {
  ContextChanges,
  ContextInput,
  MessageInput,
  RecallFilter,
  RecallOptions,
  SentMessage,
} from "../contexts.js";
import * as pb from "../gen/contextkeep/context/v1/contexts_pb.js";
import { Unavailable } from "../gen/errors.js";
import { toObject } from "../json.js";
import { choice, whole } from "../messages.js";
import { type NodeName, nameFields } from "../names.js";
import { Rows, pages } from "../rows.js";
import { toTimestamp } from "../times.js";
import { type WriteOptions, requestId } from "../writes.js";

const method = pb.Contexts.method;

const STATES = { open: pb.ContextState.OPEN, closed: pb.ContextState.CLOSED };

/** Where messages go: to a context that is there, to the one that has an id of yours, or to a new one. */
export interface SendOptions extends ContextOptions, WriteOptions {
  contextId?: string;
  /** What to say of a new context; of one that is there, it is left aside. */
  context?: ContextInput;
  /** Instead of a `contextId`: the one context that tenant and owner have for this id, made by whoever is first. */
  getOrCreate?: ExternalId;
}

/** Which contexts are meant; all that is said must hold. */
export interface ContextFilter {
  /** In which this agent has spoken. */
  agentId?: string;
  /** Of those that the caller sees. */
  ownerUserId?: string;
  /** Created then or later. */
  createdFrom?: Date | string;
  /** Created before. */
  createdTo?: Date | string;
  state?: keyof typeof STATES;
  externalId?: ExternalId;
  metadataContains?: object;
  /** Else of any app. */
  appId?: string;
  /** That hang on this node. */
  entityNodeId?: string;
}

/**
 * An RPC is one method. A context that is another tenant's or user's, outside of what the key is bound to, expired, or not there at
 * all is `ContextNotFound`.
 */
export class Contexts extends GeneratedContexts {
  /**
   * Write a message, and return what became of it; without a `contextId` it begins a new context.
   *
   * @param message A text is a user's. The same `messageId` again is the same message, and answers as the first time.
   * @param options `standalone` stores nothing: the message is only checked. `contexts.recall` says how much of the context's past comes along
   *   in `recalled`: `false` is nothing; else, for a message of a user in a context that was there, as much as `contexts.recall` gives.
   * @throws ContextNotFound There is no such context; nothing was made.
   * @throws ContextClosed It takes no more messages.
   * @throws MessageExists The `messageId` is that of another message of the context.
   * @throws TaskNotFound A task that it names is not of the context.
   * @throws TaskEnded The task that it belongs to has ended.
   * @throws RecordNotFound A part names a record that the caller cannot read.
   * @throws LimitExceeded A text, a document or the whole is too large.
   */
  async send(
    message: MessageInput | string,
    options: SendOptions & { standalone?: boolean; recall?: RecallOptions | false } = {},
  ): Promise<SentMessage> {
    const { recall } = options;
    const request = {
      ...this.target(options),
      message: contexts.messageInput(message, "message"),
      standalone: options.standalone,
      recall: recall === undefined ? undefined : contexts.recallOptions(recall, "recall"),
    };
    const answer = await this.client.call(method.sendMessage, request, options);
    return contexts.sentMessageOf(answer.message!, answer);
  }

  /** Write up to 500 messages in their order, all or none, and return what became of each; else as `contexts.send`. */
  async append(said: (MessageInput | string)[], options: SendOptions = {}): Promise<SentMessage[]> {
    const messages = said.map((one, place) => contexts.messageInput(one, `messages[${place}]`));
    const answer = await this.client.call(method.appendMessages, { ...this.target(options), messages }, options);
    return answer.messages.map((sent) => contexts.sentMessageOf(sent, answer));
  }

  /**
   * Return what of a context's past matters to a text, within a budget of tokens.
   *
   * @param text A question, or the message to which it is to matter; its first 20,000 characters count.
   * @param options `referenceTaskIds` are up to 100 tasks of the context, whose artifacts come first.
   * @throws InvalidArgument The text is empty, or there is no such profile.
   * @throws LimitExceeded More is asked for than there may be.
   */
  async recall(
    contextId: string,
    text: string,
    options: RecallOptions & { referenceTaskIds?: string[] } & ContextOptions = {},
  ): Promise<Recalled> {
    const { referenceTaskIds, subjectUserId } = options;
    const recallOptions = contexts.recallOptions(options, "options");
    const request = { contextId, text, options: recallOptions, referenceTaskIds, subjectUserId };
    return recalledOf((await this.client.call(method.recall, request, options)).recalled!);
  }

  /**
   * Return the passages of a context that a query finds, the best first: as `contexts.recall`, without a budget.
   *
   * @param options `limit` is up to 200, else 20.
   */
  async search(
    contextId: string,
    query: string,
    options: { limit?: number; filter?: RecallFilter } & Pick<RecallOptions, "profile" | "withFeatures"> & ContextOptions = {},
  ): Promise<RecalledItem[]> {
    const { limit, profile, withFeatures, subjectUserId } = options;
    const filter = options.filter && contexts.recallFilter(options.filter, "filter");
    const request = { contextId, query, limit, profile, filter, withFeatures, subjectUserId };
    return (await this.client.call(method.searchContext, request, options)).hits.map(recalledItemOf);
  }

  /** Contexts, newest first. */
  list(options: ContextFilter & { pageSize?: number } & ContextOptions = {}): Rows<Context> {
    const { agentId, ownerUserId, externalId, appId, entityNodeId, subjectUserId, pageSize } = options;
    const request = {
      agentId,
      ownerUserId,
      createdFrom: toTimestamp(options.createdFrom, "created_from"),
      createdTo: toTimestamp(options.createdTo, "created_to"),
      state: options.state === undefined ? undefined : choice("state", options.state, STATES),
      externalId,
      metadataContainsJson: toObject(options.metadataContains, "metadata_contains_json"),
      appId,
      entityNodeId,
      subjectUserId,
      pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(method.listContexts, { ...request, pageToken }, options);
        return [page.contexts.map(contextOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Change fields of a context, each as a whole, and return it: what is not given stays, what is empty is emptied.
   *
   * @throws ContextClosed It is closed.
   */
  async update(contextId: string, changes: ContextChanges & ContextOptions & WriteOptions): Promise<Context> {
    const request = {
      contextId,
      context: contexts.contextInput(changes),
      updateMask: { paths: contexts.contextMask(changes) },
      subjectUserId: changes.subjectUserId,
      requestId: requestId(changes),
    };
    return contextOf((await this.client.call(method.updateContext, request, changes)).context!);
  }

  /**
   * Wait until what was written is found by all that it is found by, and return how far that is. Words find a message as soon as it is
   * sent; vectors, where the service has an embedder, follow.
   *
   * @param options `seq`: up to which message, else all that are written now; `waitS`: seconds to wait, 30, and up to 300.
   * @throws ContextNotFound There is none, or it was deleted meanwhile.
   */
  async waitForIndex(
    contextId: string,
    options: { seq?: number; waitS?: number } & ContextOptions = {},
  ): Promise<ContextIndex> {
    const { waitS = 30, subjectUserId } = options;
    const request = { contextId, seq: whole("seq", options.seq), timeoutS: waitS, subjectUserId };
    const answer = await this.client.call(method.waitForIndex, request, { timeoutMs: (waitS + 5) * 1000, ...options });
    return contextIndexOf(answer.index!);
  }

  /**
   * Fill a context from a chat history of the graph, and return what changed; again, with what is new or has changed: of a node that
   * changed the new message is appended, and the old one retracted. A call that fails half-way leaves what it wrote, and the next one
   * goes on.
   *
   * @param node The conversation's node; it is read as the key's own caller, by the mapping `mappingName`, else "simple_chat".
   * @param options The context is `contextId`, or `getOrCreate`, which the first message begins.
   * @throws ContextClosed It takes no messages.
   * @throws NodeNotFound There is no such node.
   * @throws MappingNotFound Nobody has registered the mapping.
   */
  async syncHistory(
    node: NodeName,
    options: Pick<SendOptions, "contextId" | "getOrCreate" | "context"> & { mappingName?: string; appId?: string } & ContextOptions,
  ): Promise<SyncedHistory> {
    const { mappingName, appId } = options;
    const { requestId: _, ...target } = this.target(options);
    const request = { ...target, ...nameFields("nodeId", node), mappingName, appId: appId ?? this.client.appId };
    const answer = await this.client.call(method.syncHistory, request, options);
    return syncedHistoryOf(answer);
  }

  private target(options: SendOptions) {
    const { contextId, context = {}, getOrCreate, subjectUserId } = options;
    const said = contexts.contextInput({ ...context, appId: context.appId ?? this.client.appId });
    return { contextId, context: said, getOrCreate, subjectUserId, requestId: requestId(options) };
  }

  /**
   * Yield what happens in a context: messages, and tasks and artifacts as they are when they changed. It goes on from where it was
   * when a replica stops, and ends when the context is closed.
   *
   * @param options `seqFrom` is the first message, `changeAfter` behind which change of tasks and artifacts; an event says from where on
   *   there is more. `untilNow` ends when all is told that is there.
   * @throws Unauthenticated The key is revoked, or over.
   */
  async *watch(
    contextId: string,
    options: { seqFrom?: number; changeAfter?: number; untilNow?: boolean } & ContextOptions = {},
  ): AsyncGenerator<ContextEvent> {
    const { untilNow, subjectUserId } = options;
    let seqFrom = whole("seq_from", options.seqFrom);
    let changeAfter = whole("change_after", options.changeAfter);
    for (;;) {
      let begun = false;
      try {
        const request = { contextId, seqFrom, changeAfter, untilNow, subjectUserId };
        for await (const answer of this.client.stream(method.watchContext, request, options)) {
          begun = true;
          ({ seqFrom, changeAfter } = answer);
          if (answer.event.case) yield contextEventOf(answer);
        }
        return;
      } catch (error) {
        if (!begun || !(error instanceof Unavailable)) throw error;
      }
    }
  }
}
