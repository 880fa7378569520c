/** Histories: of a conversation, and of all that happened to an entity. */

import { create } from "@bufbuild/protobuf";
import {
  type AssembledNode,
  type FormattedHistory,
  assembledNodeOf,
  formattedHistoryOf,
} from "../_gen/chat-history.js";
import { chatMessageOf } from "../_gen/message.js";
import { GeneratedHistory } from "../_gen/nouns/history.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/chat_history_pb.js";
import * as history from "../history.js";
import { choice } from "../messages.js";
import { type NodeName, nameFields } from "../names.js";
import { Rows, pages } from "../rows.js";

const chat = pb.ChatHistory.method;

export interface HistoryOptions extends CallOptions {
  /** How nodes become messages; else "simple_chat". */
  mappingName?: string;
  /** Where the mapping is looked up; else the client's. */
  appId?: string;
  /** The newest; else all. */
  maxMessages?: number;
}

export interface WholeHistoryOptions extends HistoryOptions {
  /** Fail on the first node on which a rule fails, instead of counting it. */
  strict?: boolean;
  /** The newest messages that have so many tokens together, and calls with all their results or not at all; else all. */
  tokensMax?: number;
}

/** An RPC is one method. */
export class History extends GeneratedHistory {
  /**
   * Return the messages of a conversation, oldest first, however many they are.
   *
   * @param node The conversation's node.
   * @throws MappingNotFound Nobody has registered the mapping: `apps` in the metadata names where it is.
   */
  async get(
    node: NodeName,
    options: WholeHistoryOptions = {},
  ): Promise<history.ChatHistory> {
    const request = { ...this.historyOf(node, options), strict: options.strict, tokensMax: options.tokensMax };
    const message = create(pb.StreamChatHistoryRequestSchema, request);
    const attempts = this.client.attempts(options, options.timeoutMs);
    return attempts.run(async () => {
      const found: history.ChatHistory = { messages: [], nodesFailed: 0, rolesUnknown: 0, tokens: 0, isCut: false };
      const settings = this.client.settings(options, attempts);
      for await (const answer of this.client.connection.stream(chat.streamChatHistory, message, settings)) {
        for (const turn of answer.messages) found.messages.push(chatMessageOf(turn));
        found.nodesFailed = answer.nodesFailed;
        found.rolesUnknown = answer.rolesUnknown;
        found.tokens = Number(answer.tokens);
        found.isCut = answer.isCut;
      }
      return found;
    });
  }

  /**
   * Return the messages of a conversation as a model vendor's API takes them, tool calls beside their results.
   *
   * @param format Whose: OpenAI's Chat Completions or Responses, Anthropic's Messages or Gemini's generateContent.
   * @throws AnswerTooLarge It is over 4 MiB; see `maxMessages` and `tokensMax`.
   */
  async formatted(
    node: NodeName,
    format: history.MessageFormat,
    options: WholeHistoryOptions = {},
  ): Promise<FormattedHistory> {
    const { strict, tokensMax } = options;
    const asked = { ...this.historyOf(node, options), strict, tokensMax, format: choice("format", format, history.FORMATS) };
    return formattedHistoryOf(await this.client.call(chat.getChatHistory, asked, options));
  }

  /**
   * The nodes that a mapping reads, in its order, each with the messages that it gives and, for each of the other rules, why it
   * gives none.
   *
   * @param options `dataPaths` names up to 32 paths such as "turn.index", whose values come along.
   */
  assemble(
    node: NodeName,
    options: HistoryOptions & { dataPaths?: string[]; pageSize?: number } = {},
  ): Rows<AssembledNode> {
    const { dataPaths, pageSize } = options;
    const asked = this.historyOf(node, options);
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(chat.assembleContext, { ...asked, dataPaths, pageSize, pageToken }, options);
        return [page.nodes.map(assembledNodeOf), page.nextPageToken];
      }),
    );
  }

  private historyOf(node: NodeName, options: HistoryOptions) {
    const { mappingName, maxMessages } = options;
    return { ...nameFields("nodeId", node), mappingName, maxMessages, appId: options.appId ?? this.client.appId };
  }
}
