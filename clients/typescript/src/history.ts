/** Chat history: messages, their provenance, and the mappings that make them of nodes. */

import { type JsonValue, fromJson, toJson as messageToJson } from "@bufbuild/protobuf";

import type { ChatMessage, Reasoning } from "./_gen/message.js";
import * as pb from "./gen/contextkeep/context/v1/chat_history_pb.js";
import type * as message_pb from "./gen/contextkeep/context/v1/message_pb.js";
import { InvalidArgument } from "./gen/errors.js";
import { type JsonObject, parseJson, parseObject } from "./json.js";
import { choice } from "./messages.js";

export const FORMATS = {
  openai: pb.MessageFormat.OPENAI,
  anthropic: pb.MessageFormat.ANTHROPIC,
  gemini: pb.MessageFormat.GEMINI,
  openaiResponses: pb.MessageFormat.OPENAI_RESPONSES,
};

/** Whose messages: OpenAI's Chat Completions or Responses, Anthropic's Messages or Gemini's generateContent. */
export type MessageFormat = keyof typeof FORMATS;

/** Return the number of a format. */
export function formatInput(format: MessageFormat, path: string): pb.MessageFormat {
  return choice(path, format, FORMATS);
}

/** A picture, a PDF, a recording or another file of a message. Fields that are not known are absent. */
export interface MessageFile {
  /** An address outside of the service; then it has no record. */
  url?: string;
  /** The record with the bytes. */
  workingMemoryId?: string;
  mediaType?: string;
  name?: string;
  /** A description for readers who cannot see the file. */
  alt?: string;
  /** Of the bytes, in hexadecimal. */
  sha256?: string;
  sizeBytes?: number;
  /** Pixels of a picture. */
  width?: number;
  height?: number;
  /** Of a PDF. */
  pageCount?: number;
  /** Of a recording. */
  durationSeconds?: number;
}

/** One piece of a message; `kind` says which field it has. */
export interface Part {
  kind: "text" | "data" | "workingMemoryId" | "url" | "toolCall" | "toolResult" | "reasoning" | "file" | "unknown";
  text?: string;
  data?: unknown;
  workingMemoryId?: string;
  url?: string;
  toolCall?: { id: string; name: string; arguments: unknown };
  toolResult?: { toolCallId: string; content: unknown; isError: boolean; files: MessageFile[] };
  reasoning?: Reasoning;
  file?: MessageFile;
  mediaType: string;
  fileName: string;
  metadata: JsonObject;
}

/** A conversation, oldest message first. */
export interface ChatHistory {
  messages: ChatMessage[];
  /** Nodes that gave no message because a rule failed on them. */
  nodesFailed: number;
  /** Messages left out because their role is none of the four. */
  rolesUnknown: number;
  /** Of the messages, if `tokensMax` was set. */
  tokens: number;
  /** An older message is there and does not fit `tokensMax`. */
  isCut: boolean;
}

/** How a node gives a message. Every field is a CEL expression. */
export interface MessageRule {
  role: string;
  content?: string;
  when?: string;
  forEach?: string;
  name?: string;
  parts?: string;
  metadata?: string;
  /** Text: messages of the assistant with the same one are one turn. */
  turn?: string;
}

/** How a mapping walks, which nodes count, and which messages they give, in which order; docs/mappings.md has examples.
*/
export interface MappingRules {
  /** Else all. */
  edgeTypes?: string[];
  direction?: "out" | "in" | "both";
  /** 1 to 100; else 3. */
  depthMax?: number;
  /** Either type name; else all. */
  entityTypes?: string[];
  includeStart?: boolean;
  includeArchived?: boolean;
  /** CEL, bool. */
  filter?: string;
  messages?: MessageRule[];
  /** CEL or a path; else the time. */
  orderBy?: string;
  order?: "ascending" | "descending";
  /** CEL or a path: nodes with the same text, number or list stand together. */
  groupBy?: string;
  /** Shorthands, equal to the long form: paths. */
  roleField?: string;
  contentField?: string;
  orderField?: string;
  /** From a type name to a role; with `roleField`, from the field's values. */
  roleMapping?: Record<string, string>;
  ordering?: "timestamp_asc" | "timestamp_desc";
}

/**
 * Return the message of a mapping's rules; the names may also be those of the proto, as in a file that is shared with Python.
 *
 * @throws InvalidArgument A rule has no such field, or a value of another type.
 */
export function mappingRules(rules: MappingRules, path: string): pb.MappingRules {
  try {
    return fromJson(pb.MappingRulesSchema, rules as unknown as JsonValue);
  } catch (error) {
    throw new InvalidArgument(`${path} cannot be read: ${(error as Error).message}`, { field: path, cause: error });
  }
}

/** Return the rules of a message. */
export function rulesOf(message: pb.MappingRules): MappingRules {
  return messageToJson(pb.MappingRulesSchema, message) as MappingRules;
}

export function partOf(part: message_pb.Part): Part {
  const { mediaType, fileName, metadataJson, content } = part;
  const about = { mediaType, fileName, metadata: parseObject(metadataJson) };
  switch (content.case) {
    case "text":
    case "url":
    case "workingMemoryId":
      return { kind: content.case, [content.case]: content.value, ...about };
    case "dataJson":
      return { kind: "data", data: parseJson(content.value), ...about };
    case "toolCall": {
      const { id, name, argumentsJson } = content.value;
      return { kind: "toolCall", toolCall: { id, name, arguments: parseObject(argumentsJson) }, ...about };
    }
    case "toolResult": {
      const { toolCallId, contentJson, isError } = content.value;
      const value = contentJson ? parseJson(contentJson) : undefined;
      const files = content.value.files.map(fileOf);
      return { kind: "toolResult", toolResult: { toolCallId, content: value, isError, files }, ...about };
    }
    case "reasoning": {
      const { provider, data, dataJson, text } = content.value;
      return { kind: "reasoning", reasoning: { provider, data, dataJson, text }, ...about };
    }
    case "file":
      return { kind: "file", file: fileOf(content.value), ...about };
    default:
      return { kind: "unknown", ...about };
  }
}

function fileOf(file: message_pb.File): MessageFile {
  const { source, mediaType, name, alt, sha256, width, height, pageCount, durationSeconds } = file;
  const facts = { mediaType, name, alt, sha256, sizeBytes: Number(file.sizeBytes), width, height, pageCount, durationSeconds };
  const known = Object.fromEntries(Object.entries(facts).filter(([, value]) => value));
  return source.case ? { [source.case]: source.value, ...known } : known;
}
