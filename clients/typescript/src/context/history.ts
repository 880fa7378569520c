/** Histories: of a conversation, and of an entity. */

import { create } from "@bufbuild/protobuf";

import type { FormattedHistory } from "../_gen/chat-history.js";
import { chatMessageOf } from "../_gen/message.js";
import { GeneratedHistory } from "../_gen/nouns/history.js";
import type { CallOptions } from "../client.js";
import { insertFiles } from "../files.js";
import * as pb from "../gen/contextkeep/context/v1/chat_history_pb.js";
import * as history from "../history.js";
import { type NodeName, nameFields } from "../names.js";

const chat = pb.ChatHistory.method;

export interface HistoryOptions extends CallOptions {
  /** The mapping that turns nodes into messages. Default: "simple_chat". */
  mappingName?: string;
  /** The app whose mapping is used. Default: the client's app. */
  appId?: string;
  /** Only this many of the newest messages. Default: all. */
  maxMessages?: number;
}

export interface WholeHistoryOptions extends HistoryOptions {
  /** Fail if a rule fails on a node, instead of counting the node. */
  strict?: boolean;
  /**
   * Only the newest messages that fit into this many tokens; a call comes with all its results or not at all. Default:
   * all.
   */
  tokensMax?: number;
}

/** Each RPC is one method. */
export class History extends GeneratedHistory {
  /**
   * Return the messages of a conversation, oldest first, however many they are.
   *
   * @param node The conversation's node.
   * @throws MappingNotFound The mapping is not registered; `apps` in the metadata names the apps that have it.
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

  /** Return a conversation as the body of a request; see the generated method. The body has the bytes of its files. */
  override async formatted(...args: Parameters<GeneratedHistory["formatted"]>): Promise<FormattedHistory> {
    const [node, format, options = {}] = args;
    const found = await super.formatted(node, format, { files: "references", ...options });
    await insertFiles(this.client, found.body, found.files, options);
    return found;
  }

  private historyOf(node: NodeName, options: HistoryOptions) {
    const { mappingName, maxMessages } = options;
    return { ...nameFields("nodeId", node), mappingName, maxMessages, appId: options.appId ?? this.client.appId };
  }
}
