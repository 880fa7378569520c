/** Histories: of a conversation, and of all that happened to an entity. */

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
  /** Only the newest messages that fit into this many tokens, and calls with all their results or not at all. Default:
  all. */
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
