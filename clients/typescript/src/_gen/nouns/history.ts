// Made from the protos by `make proto`.

import * as chatHistoryPb from "../../gen/contextkeep/context/v1/chat_history_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { type MessageFormat, formatInput } from "../../history.js";
import { enumInput } from "../../messages.js";
import { type NodeName, nameFields } from "../../names.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import {
  type AssembledNode,
  type FormattedHistory,
  type HistoryEvent,
  assembledNodeOf,
  formattedHistoryOf,
  historyEventOf,
} from "../chat-history.js";

/** Options of `history.formatted`. */
export interface HistoryFormattedOptions {
  /**
   * The app in which the mapping is looked up. Empty means the app of the key if it has exactly one, otherwise the
   * shared scope of the tenant.
   */
  appId?: string;
  /** Empty means "simple_chat". */
  mappingName?: string;
  /** Return only the newest messages, at most this many. 0 means all. */
  maxMessages?: number;
  /** Fail on the first node on which a rule fails. */
  strict?: boolean;
  /**
   * Return only the newest messages that together have about this many tokens. 0 means no limit. A tool call is kept
   * with all its results, or left out with them. Tokens are counted as by the vendor of the `format`, or without a
   * format by OpenAI's o200k_base. Pictures, PDFs and recordings count as that vendor counts them; one of unknown size
   * counts as the most that it can be.
   */
  tokensMax?: number;
  /** With a `format`: how the bytes of files come. */
  files?: "inline" | "references";
}

/** Options of `history.assemble`. */
export interface HistoryAssembleOptions {
  /** The app in which the mapping is looked up. */
  appId?: string;
  /** The mapping. Empty means "simple_chat". */
  mappingName?: string;
  /** Only the newest messages, at most this many. 0 means all. */
  maxMessages?: number;
  /** Up to 32 paths as in MappingRules (`turn.index`, `data.turn.index`, `status`). `valuesJson` has their values. */
  dataPaths?: string[];
  /** Number of nodes. 0 means 100. More than 1,000 counts as 1,000. */
  pageSize?: number;
}

/** The calls of `history` that are one method each. */
export class GeneratedHistory extends Noun<AppClient> {
  /**
   * Return the messages of a conversation, oldest first. A node without messages returns an empty list.
   *
   * If a rule fails on a node, the node gives no message and is counted in `nodesFailed`; with `strict` the call
   * fails. With a `format`, the answer is the body for the API of a model's vendor, with the results of tools after
   * their calls.
   *
   * Throws NodeNotFound, MappingNotFound (metadata `apps`: visible apps that have the name), AnswerTooLarge
   * (over 4 MiB: use history.stream; with a `format`, `maxMessages` or `tokensMax`; with files, REFERENCES),
   * MappingFailed (`strict`, or no node has a value for `orderBy`; metadata `nodeId`, `rule`), Unavailable (metadata
   * `dependency`).
   *
   * @param nodeId The node of the conversation, at which the walk starts.
   * @param format Return `formattedJson` instead of `messages`.
   */
  async formatted(
    nodeId: NodeName,
    format: MessageFormat,
    options: HistoryFormattedOptions & CallOptions = {},
  ): Promise<FormattedHistory> {
    const request = {
      ...nameFields("nodeId", nodeId),
      appId: options.appId ?? this.client.appId,
      mappingName: options.mappingName,
      maxMessages: options.maxMessages,
      strict: options.strict,
      format: formatInput(format, "format"),
      tokensMax: options.tokensMax,
      files: enumInput("files", options.files, chatHistoryPb.FileDelivery),
    };
    const answer = await this.client.call(chatHistoryPb.ChatHistory.method.getChatHistory, request, options);
    return formattedHistoryOf(answer);
  }

  /**
   * List the nodes that a mapping reads, in the order of the mapping, each with its messages. For each rule without a
   * message, the answer has the reason. Use it to see why history.get leaves out a message, or which node and rule
   * gave it.
   *
   * In the order of `createdAt`, every page costs the same. Any other order is sorted again for each page. With
   * `maxMessages`, nodes after the last message are returned too, because the newest message may be the missing one.
   * Nodes that `entityTypes` excludes and archived nodes that the mapping excludes are not read, and so are not in the
   * answer.
   *
   * Throws NodeNotFound, MappingNotFound, MappingBroken, InvalidPageToken, LimitExceeded (`dataPaths`),
   * AnswerTooLarge (one node, with its messages or its values), CostExceeded, NodeBudgetExceeded.
   *
   * @param nodeId This and the next three fields are as in GetChatHistoryRequest.
   */
  assemble(nodeId: NodeName, options: HistoryAssembleOptions & CallOptions = {}): Rows<AssembledNode> {
    const request = {
      ...nameFields("nodeId", nodeId),
      appId: options.appId ?? this.client.appId,
      mappingName: options.mappingName,
      maxMessages: options.maxMessages,
      dataPaths: options.dataPaths,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(chatHistoryPb.ChatHistory.method.assembleContext, { ...request, pageToken }, options);
        return [page.nodes.map(assembledNodeOf), page.nextPageToken];
      }),
    );
  }

  /**
   * List the events of an entity by time. These are the changes of its node, its status and the rest of its timeline,
   * its edges in both directions, and its working memory records, including purged ones.
   *
   * The service stores no separate history for this call. It therefore knows only the last change of a node, no edges
   * that were deleted, and no events of a timeline that was cleared. The call also works for a node that does not
   * exist, if a record of the node ever existed.
   *
   * Throws NodeNotFound, InvalidPageToken.
   *
   * @param nodeId The node of the entity.
   * @param options.descending Sort newest first.
   * @param options.pageSize 0 means 100. More than 1,000 counts as 1,000.
   */
  listEvents(
    nodeId: NodeName,
    options: { descending?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<HistoryEvent> {
    const request = {
      ...nameFields("nodeId", nodeId),
      descending: options.descending,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(chatHistoryPb.ChatHistory.method.fetchEntityHistory, { ...request, pageToken }, options);
        return [page.events.map(historyEventOf), page.nextPageToken];
      }),
    );
  }
}
