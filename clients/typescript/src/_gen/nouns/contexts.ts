// Made from the protos by `make proto`.

import * as contextsPb from "../../gen/contextkeep/context/v1/contexts_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import {
  type MessageInput,
  type RecallOptions,
  type SentMessage,
  allSentOf,
  messageOf,
  recallInput,
  sentOf,
} from "../../contexts.js";
import { toObject } from "../../json.js";
import { enumInput, maskOf, whole } from "../../messages.js";
import { type NodeName, nameFields } from "../../names.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { toTimestamp } from "../../times.js";
import { type WriteOptions, requestId } from "../../writes.js";
import {
  type Context,
  type ContextHistory,
  type ContextKey,
  type Erasure,
  type ExternalId,
  type Recalled,
  type RecalledItem,
  type SyncedHistory,
  contextHistoryOf,
  contextKeyOf,
  contextOf,
  erasureOf,
  recalledItemOf,
  recalledOf,
  syncedHistoryOf,
} from "../contexts.js";
import { type ContextInput, type RecallFilter, contextInput, recallFilter } from "../inputs.js";
import { type ChatMessage, chatMessageOf } from "../message.js";

/** Options of `contexts.send`. */
export interface SendOptions {
  /** Empty: the message begins a new context, or goes to that of its task. */
  contextId?: string;
  /** Of a new context. With a `contextId`, or where `getOrCreate` finds one, it is left aside. */
  context?: ContextInput;
  /**
   * Instead of a `contextId`: the one context that the owner has for this id in the app and the agent bundle that a new one would have;
   * made by whoever is first. It is one of the context's `externalIds`.
   */
  getOrCreate?: ExternalId;
  /** Stores nothing: the message is checked, and the answer has no context. */
  standalone?: boolean;
  /** What is recalled for the message. Unset: with the defaults, for a message of a user in a context that was there. */
  recall?: RecallOptions | false;
}

/** Options of `contexts.append`. */
export interface AppendOptions {
  contextId?: string;
  context?: ContextInput;
  getOrCreate?: ExternalId;
}

/** Options of `contexts.recall`. */
export interface ContextsRecallOptions {
  /** Of `promptText`, at most; 0: 2,000. Up to 100,000. */
  tokensMax?: number;
  /** 0: 20. Up to 200. */
  itemsMax?: number;
  /** The ranking: "default", "conversation". Empty: the context's, else the default. */
  profile?: string;
  /** Only what stands up to this `seq`; 0: all. For callers who hold the newest messages already. */
  notAfterSeq?: number;
  /** Which passages may be recalled. */
  filter?: RecallFilter;
  /** Say of each item what its score is made of. */
  withFeatures?: boolean;
  /** Up to 100 tasks of the context, whose artifacts come first. Of a message that is sent, its `referenceTaskIds` are meant. */
  referenceTaskIds?: string[];
}

/** Options of `contexts.list`. */
export interface ContextFilter {
  /** Contexts in which this agent has spoken. */
  agentId?: string;
  /** Contexts of this owner, of those that the caller sees. */
  ownerUserId?: string;
  /** Created at or after, and before. */
  createdFrom?: Date | string;
  /** Created before. */
  createdTo?: Date | string;
  /** Unset: open and closed ones. */
  state?: "open" | "closed";
  /** Contexts that carry it. */
  externalId?: ExternalId;
  /** A JSON object: contexts whose metadata contain it. */
  metadataContains?: object;
  /** Empty: of any app. */
  appId?: string;
  /** Contexts that hang at this node. */
  entityNodeId?: string;
  pageSize?: number;
}

/** Options of `contexts.update`. */
export interface ContextChanges {
  /** Up to 400 characters. */
  title?: string;
  /** Up to 20. */
  externalIds?: ExternalId[];
  /** A JSON object up to 64 KiB. Empty: {}. */
  metadata?: object;
  /** Optional; not checked against the graph. */
  entityNodeId?: string;
  expiresAt?: Date | string;
  recallProfile?: string;
}

/** Options of `contexts.syncHistory`. */
export interface ContextsSyncHistoryOptions {
  /** Which context: this, or the one of `getOrCreate`, which the first message of the history begins. */
  contextId?: string;
  /** Instead of `contextId`: the one context of this id, which the first message begins. */
  getOrCreate?: ExternalId;
  /** Of a new context, as of contexts.append. */
  context?: ContextInput;
  /** The app that the mapping is looked up in; empty: the key's if it has exactly one, else the tenant's shared scope. */
  appId?: string;
  /** Empty: the default, as of history.get. */
  mappingName?: string;
}

/** The calls of `contexts` that are one method each. */
export class GeneratedContexts extends Noun<AppClient> {
  /**
   * Writes one message: without a `contextId` the first one of a new context.
   *
   * When this is answered, the message is stored and indexed: the next call finds it by its words. `seq` has no gaps. The same `messageId`
   * again is the same message, and answers as the first time; secrets are taken out before anything is kept, and the answer names them.
   *
   * Throws InvalidArgument, ContextNotFound, ContextClosed (FailedPrecondition), MessageExists (the id is another message's),
   * TaskNotFound (a task that it names is not of the context), TaskEnded (FailedPrecondition; its `taskId` is that of an ended task),
   * RecordNotFound (a part names a record that the caller cannot read), RequestIdReused, LimitExceeded, PermissionDenied. What was
   * written is written: if recalling fails behind it, `recall.error` says so, and Recall may be called.
   *
   * The same `requestId` again answers as the first time for a day, also if the context is closed or past its time by then; Erased
   * (NotFound) if the context was deleted. So do all calls with a `requestId`.
   */
  async send(
    message: MessageInput | string,
    options: SendOptions & ContextOptions & WriteOptions = {},
  ): Promise<SentMessage> {
    const request = {
      contextId: options.contextId,
      message: messageOf(message, "message"),
      context: contextInput(options.context ?? {}, "context", this.client.appId),
      getOrCreate: options.getOrCreate,
      standalone: options.standalone,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
      recall: options.recall === undefined ? undefined : recallInput(options.recall, "recall"),
    };
    const answer = await this.client.call(contextsPb.Contexts.method.sendMessage, request, options);
    return sentOf(answer);
  }

  /** Writes up to 500 messages in their order, all or none. Throws those of contexts.send. */
  async append(
    messages: (MessageInput | string)[],
    options: AppendOptions & ContextOptions & WriteOptions = {},
  ): Promise<SentMessage[]> {
    const request = {
      contextId: options.contextId,
      messages: messages.map((item, place) => messageOf(item, `messages[${place}]`)),
      context: contextInput(options.context ?? {}, "context", this.client.appId),
      getOrCreate: options.getOrCreate,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextsPb.Contexts.method.appendMessages, request, options);
    return allSentOf(answer);
  }

  /**
   * Finds the passages of a context that matter to a text, within a budget of tokens. It looks at words, at what stands next to them, at
   * authors and dates, and, where the service has an embedder, at meaning. An embedder that fails, or takes too long, leaves words;
   * `byMeaning` says so.
   *
   * Items come the most relevant first; `promptText` has the same as one block for a model, oldest first, each marked as a quotation
   * with its ref, and never of more than `tokensMax`. Tool results are at most a third of the items, and near-duplicates are left out.
   *
   * Throws ContextNotFound, TaskNotFound (of `referenceTaskIds`), InvalidArgument (no text; an unknown `profile`),
   * LimitExceeded.
   *
   * @param text A question, or the message to which it is to matter. The first 20,000 characters count.
   */
  async recall(
    contextId: string,
    text: string,
    options: ContextsRecallOptions & ContextOptions = {},
  ): Promise<Recalled> {
    const request = {
      contextId,
      text,
      options: {
        tokensMax: options.tokensMax,
        itemsMax: options.itemsMax,
        profile: options.profile,
        notAfterSeq: whole("options.not_after_seq", options.notAfterSeq),
        filter: options.filter === undefined ? undefined : recallFilter(options.filter, "options.filter"),
        withFeatures: options.withFeatures,
      },
      subjectUserId: options.subjectUserId,
      referenceTaskIds: options.referenceTaskIds,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.recall, request, options);
    return recalledOf(answer.recalled!);
  }

  /**
   * Finds passages of a context by the words of a query, the best first: what Recall ranks, without a budget.
   *
   * Throws those of Recall.
   *
   * @param query Words to find.
   * @param options.limit 0: 20. Up to 200.
   * @param options.profile As of RecallOptions.
   * @param options.filter Which passages may be found.
   * @param options.withFeatures Say of each passage what its score is made of.
   */
  async search(
    contextId: string,
    query: string,
    options: { limit?: number; profile?: string; filter?: RecallFilter; withFeatures?: boolean } & ContextOptions = {},
  ): Promise<RecalledItem[]> {
    const request = {
      contextId,
      query,
      limit: options.limit,
      profile: options.profile,
      filter: options.filter === undefined ? undefined : recallFilter(options.filter, "filter"),
      withFeatures: options.withFeatures,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.searchContext, request, options);
    return answer.hits.map(recalledItemOf);
  }

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

  /**
   * Lists the contexts that carry an id of another system, newest first: there may be several. Throws InvalidPageToken.
   *
   * @param externalId Several contexts may carry it, or none.
   */
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

  /** Lists contexts, newest first. Throws InvalidArgument, InvalidPageToken. */
  list(options: ContextFilter & ContextOptions = {}): Rows<Context> {
    const request = {
      agentId: options.agentId,
      ownerUserId: options.ownerUserId,
      createdFrom: toTimestamp(options.createdFrom, "created_from"),
      createdTo: toTimestamp(options.createdTo, "created_to"),
      state: enumInput("state", options.state, contextsPb.ContextState),
      externalId: options.externalId,
      metadataContainsJson: toObject(options.metadataContains, "metadata_contains_json"),
      appId: options.appId,
      entityNodeId: options.entityNodeId,
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextsPb.Contexts.method.listContexts, { ...request, pageToken }, options);
        return [page.contexts.map(contextOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Changes the fields that `updateMask` names, each as a whole: title, external_ids, metadata_json, entity_node_id, expires_at,
   * recall_profile. A named field that is empty is emptied.
   *
   * Throws ContextNotFound, ContextClosed, InvalidArgument (also a mask that names another field), RequestIdReused.
   */
  async update(contextId: string, options: ContextChanges & ContextOptions & WriteOptions = {}): Promise<Context> {
    const request = {
      contextId,
      context: {
        title: options.title,
        externalIds: options.externalIds,
        metadataJson: toObject(options.metadata, "context.metadata_json"),
        entityNodeId: options.entityNodeId,
        expiresAt: toTimestamp(options.expiresAt, "context.expires_at"),
        recallProfile: options.recallProfile,
      },
      updateMask: maskOf({
        title: options.title,
        external_ids: options.externalIds,
        metadata_json: options.metadata,
        entity_node_id: options.entityNodeId,
        expires_at: options.expiresAt,
        recall_profile: options.recallProfile,
      }),
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextsPb.Contexts.method.updateContext, request, options);
    return contextOf(answer.context!);
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
   * @param options.seqTo Up to this one, included. 0: to the last.
   * @param options.newestFirst The newest first; else the oldest.
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
   * Fills a context from a chat history of the entity graph. Call it again and again, so that sessions of the graph are recalled.
   *
   * The graph is read as the caller, by a mapping as of history.get, in the mapping's order. A message gets its id from its node, rule
   * and place, and the node's version: what is there already is not written again, and of a node that changed the new message is appended
   * and the old one retracted. What came of nodes that the history has no longer, or on which a rule fails now, stays. A message that
   * cannot be written is left out, and the answer says why: an older version of it stays, and the next call tries it again. Messages are
   * written in batches of up to 500: if the call fails half-way, what is written stays, and the next one goes on. After another mapping,
   * fill another context.
   *
   * Throws ContextNotFound, ContextClosed, those of history.get (NodeNotFound, MappingNotFound, CostExceeded, Unavailable),
   * InvalidArgument, and LimitExceeded of the new context.
   *
   * @param nodeId Which history: a node by its id, or by the caller's own in a graph.
   */
  async syncHistory(
    nodeId: NodeName,
    options: ContextsSyncHistoryOptions & ContextOptions = {},
  ): Promise<SyncedHistory> {
    const request = {
      contextId: options.contextId,
      getOrCreate: options.getOrCreate,
      context: contextInput(options.context ?? {}, "context", this.client.appId),
      ...nameFields("nodeId", nodeId),
      appId: options.appId ?? this.client.appId,
      mappingName: options.mappingName,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.syncHistory, request, options);
    return syncedHistoryOf(answer);
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
