// Made from contextkeep/context/v1/summaries.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/summaries_pb.js";
import { timeText } from "../times.js";

/** The text about a user. */
export interface UserContext {
  /** The text. Empty: there is nothing to quote, or nothing fits. */
  text: string;
  /** Tokens of the text, by o200k. */
  tokens: number;
  /** The lines of the text in their order, without headings. */
  lines: UserContextLine[];
  /** Memories that hold and have no room. */
  leftOutCount: number;
}

export function userContextOf(message: pb.GetUserContextResponse): UserContext {
  return {
    text: message.text,
    tokens: message.tokens,
    lines: message.lines.map(userContextLineOf),
    leftOutCount: message.leftOutCount,
  };
}

/** A line of the text about a user. Its text is a quotation. */
export interface UserContextLine {
  /** "commitment", "memory", "conversation", or "said". */
  section: string;
  /** The ref of the line in the text: `k2` for a memory, `c1` for a conversation, `c1.m4` for a message in it. */
  ref: string;
  text: string;
  /** The author, such as "user Ann"; "memory" for a memory. Empty: the text is a title. */
  author: string;
  /** The time of the message, or the time since which a memory holds. */
  statedAt: string;
  /** The memory. Empty: the line is none. */
  memoryId: string;
  /** The context of the message, or the one that the memory names as its source. */
  contextId: string;
  /** The ref of the message in that context, such as m4. */
  messageRef: string;
}

export function userContextLineOf(message: pb.UserContextLine): UserContextLine {
  return {
    section: message.section,
    ref: message.ref,
    text: message.text,
    author: message.author,
    statedAt: timeText(message.statedAt),
    memoryId: message.memoryId,
    contextId: message.contextId,
    messageRef: message.messageRef,
  };
}

/** The text about a conversation. */
export interface ContextSummary {
  /** The text. Empty: the context has no messages, or nothing fits. */
  text: string;
  /** Tokens of the text, by o200k. */
  tokens: number;
  /** The first message that was read; between it and the others, messages may be left out. */
  seqFrom: number;
  /** The last message that was read. */
  seqTo: number;
  /** Statements that hold and have no room. */
  leftOutCount: number;
}

export function contextSummaryOf(message: pb.GetContextSummaryResponse): ContextSummary {
  return {
    text: message.text,
    tokens: message.tokens,
    seqFrom: Number(message.seqFrom),
    seqTo: Number(message.seqTo),
    leftOutCount: message.leftOutCount,
  };
}
