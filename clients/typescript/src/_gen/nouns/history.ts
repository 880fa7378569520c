// Made from the protos by `make proto`.

import * as chatHistoryPb from "../../gen/contextkeep/context/v1/chat_history_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { type MessageFormat, formatInput } from "../../history.js";
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
  /** The scope to look the mapping up in. Empty: the key's app if it has exactly one, else the tenant's shared scope. */
  appId?: string;
  /** Empty: "simple_chat". */
  mappingName?: string;
  /** 0: all of them; else the newest N. */
  maxMessages?: number;
  /** Fail on the first node on which a rule fails. */
  strict?: boolean;
  /**
   * 0: any number; else the newest messages that have so many tokens together, about, and calls with all their results or not at all. Counted
   * as the vendor of the `format` counts them, without one as OpenAI's o200k_base; of files that a message points at, nothing.
   */
  tokensMax?: number;
}

/** Options of `history.assemble`. */
export interface HistoryAssembleOptions {
  /** Where the mapping is looked up. */
  appId?: string;
  /** How nodes become messages. Empty: "simple_chat". */
  mappingName?: string;
  /** The newest messages. 0: all. */
  maxMessages?: number;
  /** Up to 32 paths as in MappingRules (`turn.index`, `data.turn.index`, `status`): their values come in `valuesJson`. */
  dataPaths?: string[];
  /** Nodes. 0: 100. More than 1,000 counts as 1,000. */
  pageSize?: number;
}

/** The calls of `history` that are one method each. */
export class GeneratedHistory extends Noun<AppClient> {
  /**
   * Answers the messages of a conversation, oldest first; an existing node without messages gives an empty list.
   *
   * A node on which a rule fails gives no message and is counted in `nodesFailed`; with `strict` it fails the call. With a
   * `format` the answer is what a vendor's API takes, with tool calls beside their results.
   *
   * Throws NodeNotFound, MappingNotFound (metadata `apps`: visible apps that have the name), AnswerTooLarge (over
   * 4 MiB: use history.stream; with a `format`, `maxMessages` or `tokensMax`), MappingFailed (`strict`; metadata `nodeId`, `rule`), Unavailable (metadata
   * `dependency`).
   *
   * @param nodeId Where the walk starts: the conversation's node.
   * @param format Answer `formattedJson` instead of `messages`.
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
    };
    const answer = await this.client.call(chatHistoryPb.ChatHistory.method.getChatHistory, request, options);
    return formattedHistoryOf(answer);
  }

  /**
   * Lists the nodes that a mapping reads, in its order, each with the messages that it gives. For each other rule it says why the rule
   * gives none: what history.get leaves out, and where the rest is from.
   *
   * In the order of `createdAt` a page costs the same wherever it begins; any other order is made anew for each page. Nodes behind the
   * last message of the newest N are answered too: the newest may be what is missing. A node that an entity type or its archive excludes
   * is not read, and so not answered.
   *
   * Throws NodeNotFound, MappingNotFound, MappingBroken, InvalidPageToken, LimitExceeded (`dataPaths`), AnswerTooLarge (one
   * node, with its messages or its values), CostExceeded, NodeBudgetExceeded.
   *
   * @param nodeId As in GetChatHistoryRequest, the next three too.
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
   * Lists all that happened to an entity, by time. This is the history of its node, its status and the rest of its timeline, its edges in
   * both directions, and its working memory records, purged ones too.
   *
   * Nothing is kept for it but what is kept anyway. So of the changes of a node only the last is known, an edge that was deleted is gone
   * from it, and so is a timeline that was cleared. It may be asked for a node that is not there, or no longer, if there ever was a
   * record of it.
   *
   * Throws NodeNotFound, InvalidPageToken.
   *
   * @param nodeId Of the entity.
   * @param options.descending The newest first.
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
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
