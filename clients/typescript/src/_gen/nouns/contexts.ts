// Made from the protos by `make proto`.

import * as contextSettingsPb from "../../gen/contextkeep/context/v1/context_settings_pb.js";
import * as contextsPb from "../../gen/contextkeep/context/v1/contexts_pb.js";
import * as summariesPb from "../../gen/contextkeep/context/v1/summaries_pb.js";
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
  type FoundContexts,
  type Recalled,
  type RecalledItem,
  type SyncedHistory,
  contextHistoryOf,
  contextKeyOf,
  contextOf,
  erasureOf,
  foundContextsOf,
  recalledItemOf,
  recalledOf,
  syncedHistoryOf,
} from "../contexts.js";
import { type ContextInput, type RecallFilter, contextInput, recallFilter } from "../inputs.js";
import { type ChatMessage, chatMessageOf } from "../message.js";
import { type ContextSummary, contextSummaryOf } from "../summaries.js";

/** Options of `contexts.send`. */
export interface SendOptions {
  /** Empty means the context of the message's task; without a task, the message creates a new context. */
  contextId?: string;
  /** The fields of a new context. Ignored if `contextId` is set or `getOrCreate` finds a context. */
  context?: ContextInput;
  /**
   * Instead of `contextId`. Names the one context that the owner has for this id in the app and agent bundle of
   * `context`. The first caller creates it. The id becomes one of its `externalIds`.
   */
  getOrCreate?: ExternalId;
  /** Check the message and store nothing. The answer has no context. */
  standalone?: boolean;
  /** What to recall for the message. Unset means the defaults, for a message of a user in a context that existed before. */
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
  /** Maximum number of tokens of `promptText`, up to 100,000. 0 means 2,000. */
  tokensMax?: number;
  /** Maximum number of items, up to 200. 0 means 20. */
  itemsMax?: number;
  /**
   * Name of the ranking: "default" or "conversation". Empty means the ranking of the context. If it has none, the service
   * chooses: "conversation" where only people speak, else "default".
   */
  profile?: string;
  /** Recall only up to this `seq`. 0 means all. For callers that already hold the newest messages. */
  notAfterSeq?: number;
  /** Which passages may be recalled. */
  filter?: RecallFilter;
  /** Return for each item the parts of its ranking. */
  withFeatures?: boolean;
  /**
   * Recall only items with this score or a higher one, 0 to 1. 0 recalls items of any score. Unset means the default:
   * nothing if the best item has less than 0.12, only the best item if it has less than 0.17, otherwise items with 0.005
   * or more. So "Thanks, that's all" and a question about something that was never mentioned recall nothing.
   */
  scoreMin?: number;
  /**
   * Up to 100 tasks of the context whose artifacts are ranked first. For a recall with contexts.send, the service uses
   * the `referenceTaskIds` of the message.
   */
  referenceTaskIds?: string[];
}

/** Options of `contexts.search`. */
export interface ContextsSearchOptions {
  /** Maximum number of hits, up to 200. 0 means 20. */
  limit?: number;
  /** Name of the ranking, as in RecallOptions. */
  profile?: string;
  /** Which passages may be found. */
  filter?: RecallFilter;
  /** Return for each passage the parts of its ranking. */
  withFeatures?: boolean;
  /** Return only hits with this score or a higher one, 0 to 1. Unset means hits of any score. */
  scoreMin?: number;
}

/** Options of `contexts.find`. */
export interface ContextsFindOptions {
  /** Maximum number of contexts, up to 100. 0 means 10. */
  limit?: number;
  /** Maximum number of passages of each context, up to 20. 0 means 3. */
  passagesMax?: number;
  /** Contexts with a message of this agent. */
  agentId?: string;
  /** Contexts that have this external id. */
  externalId?: ExternalId;
  /** A JSON object. Contexts whose metadata contain it. */
  metadataContains?: object;
  /** Empty means contexts of any app. */
  appId?: string;
  /** Contexts of this node of the entity graph. */
  entityNodeId?: string;
  /** Contexts created at this time or later. */
  createdFrom?: Date | string;
  /** Contexts created before this time. */
  createdTo?: Date | string;
  /** Unset means open and closed contexts. */
  state?: "open" | "closed";
  /** Passages of these roles and kinds, as in RecallFilter. */
  roles?: string[];
  kinds?: string[];
  /** Passages of these speakers. */
  authors?: string[];
  /** Passages said at `saidFrom` or later, and before `saidTo`. */
  saidFrom?: Date | string;
  saidTo?: Date | string;
  /** Name of the ranking, as in RecallOptions. Empty lets the service choose one by who speaks. */
  profile?: string;
  /** To search older contexts: `nextCursor` of the answer to the same request. Empty means from the newest on. */
  cursor?: string;
  /** Return only passages with this score or a higher one, 0 to 1. Unset means passages of any score. */
  scoreMin?: number;
}

/** Options of `contexts.list`. */
export interface ContextFilter {
  /** Contexts with a message of this agent. */
  agentId?: string;
  /** Contexts of this owner, among those that the caller sees. */
  ownerUserId?: string;
  /** Created at this time or later. */
  createdFrom?: Date | string;
  /** Created before this time. */
  createdTo?: Date | string;
  /** Unset means open and closed contexts. */
  state?: "open" | "closed";
  /** Contexts that have this external id. */
  externalId?: ExternalId;
  /** A JSON object. Contexts whose metadata contain it. */
  metadataContains?: object;
  /** Empty means contexts of any app. */
  appId?: string;
  /** Contexts of this node of the entity graph. */
  entityNodeId?: string;
  pageSize?: number;
}

/** Options of `contexts.update`. */
export interface ContextChanges {
  /** Up to 400 characters. */
  title?: string;
  /** Up to 20. */
  externalIds?: ExternalId[];
  /** A JSON object up to 64 KiB. Empty means {}. */
  metadata?: object;
  /** Optional. The service does not check that the graph has this node. */
  entityNodeId?: string;
  expiresAt?: Date | string;
  recallProfile?: string;
  /** OFF: no text of the context is sent to a model, whatever its tenant, app and agents have. */
  models?: "on" | "off";
  /**
   * False: contexts.find, and queries about a user's own contexts, do not find it. Unset means as its agents, app and
   * tenant say.
   */
  isFindable?: boolean;
  /**
   * How the service learns memories about the owner. OFF: nothing of the context is learned, whatever its tenant, app and
   * agents have.
   */
  learning?: "off" | "rules" | "model";
}

/** Options of `contexts.syncHistory`. */
export interface ContextsSyncHistoryOptions {
  /** The context to fill. Set it, or `getOrCreate`. */
  contextId?: string;
  /** Instead of `contextId`: the one context that has this id. The first message of the history creates it. */
  getOrCreate?: ExternalId;
  /** The fields of a new context, as in contexts.append. */
  context?: ContextInput;
  /**
   * The app in which the mapping is looked up. Empty means the app of the key if it has exactly one, otherwise the
   * shared scope of the tenant.
   */
  appId?: string;
  /** Empty means the default, as in history.get. */
  mappingName?: string;
}

/** The calls of `contexts` that are one method each. */
export class GeneratedContexts extends Noun<AppClient> {
  /**
   * Write one message. Without a `contextId`, it creates a context.
   *
   * When the call returns, the message is stored and indexed: the next call finds it by its words. `seq` has no gaps. A
   * repeat with the same `messageId` and the same message writes nothing and gets the first answer. Secrets are
   * removed before anything is stored, and the answer names the parts that held them.
   *
   * Throws InvalidArgument, ContextNotFound, ContextClosed (FailedPrecondition), MessageExists (the context has
   * a message with this id and other content), TaskNotFound (the context has no task with an id that the message
   * names), TaskEnded (FailedPrecondition; the task of `taskId` has ended), RecordNotFound (a part names a record
   * that the caller cannot read), RequestIdReused, LimitExceeded, PermissionDenied. If recall fails after the
   * message is stored, the call still succeeds: `recall.error` has the reason, and `contexts.recall` can be called again.
   *
   * For one day, a repeat with the same `requestId` gets the first answer, even if the context has been closed or has
   * expired since. It gets Erased (NotFound) if the context was deleted. This holds for all calls with a `requestId`.
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

  /** Write up to 500 messages in the given order, all or none. Throws those of contexts.send. */
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
   * Find the passages of a context that are relevant to a text, within a budget of tokens. The ranking uses words,
   * neighboring passages, authors and dates. If the service has an embedder, it also uses meaning. If the embedder
   * fails or takes too long, the ranking uses words alone, and `byMeaning` has the error.
   *
   * Items are sorted by relevance, best first. `promptText` has the same items as one block for a model, oldest first,
   * each marked as a quotation with its ref. It never exceeds `tokensMax`. At most a third of the items are tool
   * results. Near-duplicates are left out.
   *
   * Throws ContextNotFound, TaskNotFound (of `referenceTaskIds`), InvalidArgument (no text; an unknown
   * `profile`), LimitExceeded.
   *
   * @param text A question, or a message for which to find relevant passages. Only the first 20,000 characters count.
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
        scoreMin: options.scoreMin,
      },
      subjectUserId: options.subjectUserId,
      referenceTaskIds: options.referenceTaskIds,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.recall, request, options);
    return recalledOf(answer.recalled!);
  }

  /**
   * Find passages of a context by the words of a query, best first. The ranking is that of `contexts.recall`, without a budget
   * of tokens.
   *
   * Throws those of Recall.
   *
   * @param query Words to find.
   */
  async search(
    contextId: string,
    query: string,
    options: ContextsSearchOptions & ContextOptions = {},
  ): Promise<RecalledItem[]> {
    const request = {
      contextId,
      query,
      limit: options.limit,
      profile: options.profile,
      filter: options.filter === undefined ? undefined : recallFilter(options.filter, "filter"),
      withFeatures: options.withFeatures,
      subjectUserId: options.subjectUserId,
      scoreMin: options.scoreMin,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.searchContext, request, options);
    return answer.hits.map(recalledItemOf);
  }

  /**
   * Search all conversations that the caller may find, and return the best passages of each.
   *
   * With a user, it finds the contexts of this user; without one, those that have no owner. A key of a context finds
   * that context and its forks. Contexts that are not findable (`isFindable`) are left out. Words and meaning count as
   * in `contexts.recall`, but a misspelt word is not replaced by a similar one.
   *
   * A call searches the newest 2,000 contexts that pass the filters, and compares at most 50,000 of their vectors.
   * `nextCursor` continues with older contexts. Throws InvalidArgument, InvalidPageToken (of `cursor`),
   * LimitExceeded.
   *
   * @param query A question, or words to find. Only the first 20,000 characters count.
   */
  async find(query: string, options: ContextsFindOptions & ContextOptions = {}): Promise<FoundContexts> {
    const request = {
      query,
      limit: options.limit,
      passagesMax: options.passagesMax,
      agentId: options.agentId,
      externalId: options.externalId,
      metadataContainsJson: toObject(options.metadataContains, "metadata_contains_json"),
      appId: options.appId,
      entityNodeId: options.entityNodeId,
      createdFrom: toTimestamp(options.createdFrom, "created_from"),
      createdTo: toTimestamp(options.createdTo, "created_to"),
      state: enumInput("state", options.state, contextsPb.ContextState),
      roles: options.roles,
      kinds: options.kinds,
      authors: options.authors,
      saidFrom: toTimestamp(options.saidFrom, "said_from"),
      saidTo: toTimestamp(options.saidTo, "said_to"),
      profile: options.profile,
      subjectUserId: options.subjectUserId,
      cursor: options.cursor,
      scoreMin: options.scoreMin,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.searchContexts, request, options);
    return foundContextsOf(answer);
  }

  /**
   * Read a context with its newest messages, sorted oldest first.
   *
   * Throws ContextNotFound.
   *
   * @param options.historyLength Return at most this many of the newest messages. Unset means as many as fit in 2 MiB; 0 means none.
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
   * List the contexts that have an id of another system, newest first. Several contexts may have the same id. Reasons:
   * InvalidPageToken.
   *
   * @param externalId No context, one or several may have this id.
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

  /** List contexts, newest first. Throws InvalidArgument, InvalidPageToken. */
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
   * Replace the fields that `updateMask` names. The mask may name title, external_ids, metadata_json, entity_node_id,
   * expires_at, recall_profile, models, is_findable and learning (forks that exist keep theirs). The new value replaces the old
   * one as a whole. A field that the mask names and the request leaves empty becomes empty.
   *
   * Throws ContextNotFound, ContextClosed, InvalidArgument (also a mask that names another field),
   * RequestIdReused.
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
        models: enumInput("context.models", options.models, contextSettingsPb.ModelUse),
        isFindable: options.isFindable,
        learning: enumInput("context.learning", options.learning, contextSettingsPb.LearningMode),
      },
      updateMask: maskOf({
        title: options.title,
        external_ids: options.externalIds,
        metadata_json: options.metadata,
        entity_node_id: options.entityNodeId,
        expires_at: options.expiresAt,
        recall_profile: options.recallProfile,
        models: options.models,
        is_findable: options.isFindable,
        learning: options.learning,
      }),
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextsPb.Contexts.method.updateContext, request, options);
    return contextOf(answer.context!);
  }

  /**
   * Close a context and all its forks. A closed context is read and recalled as before, and refuses new messages.
   * Closing a closed context changes nothing.
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
   * List the messages of a context by their `seq`, without retracted messages.
   *
   * A page ends at `pageSize` messages or 2 MiB. Throws ContextNotFound, InvalidPageToken.
   *
   * @param options.seqFrom First `seq` to list, included. 0 means from the first message.
   * @param options.seqTo Last `seq` to list, included. 0 means to the last message.
   * @param options.newestFirst Sort newest first. Otherwise oldest first.
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

  /** Read one message. Throws ContextNotFound, MessageNotFound (also of a retracted message). */
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
   * Hide messages from reads, from recall and from windows that are packed later. Retracted messages keep their `seq`
   * and their ids: sending one again does not bring it back. Retracting a retracted message changes nothing. Files of
   * the context that no other message or artifact names are deleted.
   *
   * Throws ContextNotFound, MessageNotFound (one of them does not exist; no message is retracted),
   * ContextClosed, LimitExceeded.
   *
   * @param messageIds 1 to 500 ids.
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
   * Copy a chat history from the entity graph into a context. Call it regularly, so that recall finds the sessions of
   * the graph.
   *
   * The service reads the graph as the caller, by a mapping (see history.get), in the order of the mapping. The id
   * of a message is made from its node, the rule, its position and the version of the node. Messages that the context
   * already has are not written again. If a node changed, its new message is appended and its old message is retracted.
   * If the history no longer has a node, or a rule now fails on it, the messages of the node stay.
   *
   * A message that cannot be written is left out, and the answer has the reason. An older version of it stays, and the
   * next call tries it again. Messages are written in batches of up to 500. If the call fails, the batches that were
   * written stay, and the next call continues. Fill another context if you change the mapping.
   *
   * Throws ContextNotFound, ContextClosed, those of history.get (NodeNotFound, MappingNotFound,
   * CostExceeded, Unavailable), InvalidArgument, and LimitExceeded of the new context.
   *
   * @param nodeId The node of the history: its id, or the caller's own `externalId` in a graph.
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
   * Create a short-lived key that reaches only this context and its forks, in both services. Give it to an agent that
   * must not reach another context, even after a prompt injection. The key has at most the rights of the caller's key,
   * and cannot create keys. It ends with the caller's credential: with a JWT when the token expires, and for an
   * anonymous caller in development after one hour.
   *
   * Throws ContextNotFound, PermissionDenied (the caller lacks a scope, or calls with a key of a context),
   * InvalidArgument.
   *
   * @param options.scopes "read", "write". Empty means both, as far as the caller has them.
   * @param options.ttlS Lifetime of the key in seconds, at most 86,400 (one day). 0 means 3,600 (one hour).
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
   * Delete a context and its forks permanently. When the call returns, every caller gets ContextNotFound, the keys
   * of the context have ended, and the id of `getOrCreate` is free. The rest is removed after the call, in steps: the
   * messages, the index, the external ids, the stored answers of repeated calls, and the records that were uploaded for
   * the context and that nothing else refers to. The receipt shows the progress.
   *
   * A repeat changes nothing and returns the same receipt. A context that has passed its `expiresAt` is removed in the
   * same way, and has a receipt too. A credential with `admin` deletes contexts of any user. A key of a context deletes
   * nothing.
   *
   * Throws ContextNotFound, RequestIdReused.
   *
   * @param options.now Begin to remove its rows at once. Otherwise the next sweep begins, within SWEEP_INTERVAL_S.
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
   * Read the current state of a receipt. A receipt is kept for one year after everything was removed. It has counts
   * and times, and no content.
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

  /**
   * Return one text about a conversation: how it began, and where it stands.
   *
   * The text has the goal, rules, values, decisions, next steps, open questions, errors and files that rules read in the
   * messages, and the last words, within `tokensMax`. Each line has its speaker and a ref. Statements that a later one
   * lifted or replaced are left out. It reads the first message and up to 1,000 of the newest messages, 1 MiB of them.
   *
   * Throws InvalidArgument (`tokensMax` is not between 1 and 32,000), ContextNotFound.
   *
   * @param options.tokensMax Tokens of the text, from 1 to 32,000. Unset: 1,000.
   */
  async getSummary(contextId: string, options: { tokensMax?: number } & ContextOptions = {}): Promise<ContextSummary> {
    const request = {
      contextId,
      tokensMax: options.tokensMax,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(summariesPb.Summaries.method.getContextSummary, request, options);
    return contextSummaryOf(answer);
  }
}
