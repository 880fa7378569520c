/** Contexts and their messages: what callers see and say of them. */

import { type MessageInitShape, create } from "@bufbuild/protobuf";

import { type Recalled, type StoredMessage, recalledOf, storedMessageOf } from "./_gen/contexts.js";
import { type MessageInput, type RecallOptions, messageInput, recallOptions } from "./_gen/inputs.js";
import type { Reasoning } from "./_gen/message.js";
import * as pb from "./gen/contextkeep/context/v1/contexts_pb.js";
import { type FileSchema, type MessageInputSchema, PartSchema } from "./gen/contextkeep/context/v1/message_pb.js";
import { InvalidArgument } from "./gen/errors.js";
import { toJson, toObject } from "./json.js";

export type { MessageInput, RecallOptions };

/** A file of a new message; one of the first three. Its context stores the bytes, up to 20 MiB. */
export interface FileInput {
  data?: Uint8Array;
  /** An http or https address, which the service does not read; or a `data:` URL. */
  url?: string;
  /** Of a record that the caller may read. */
  workingMemoryId?: string;
  mediaType?: string;
  name?: string;
  /** A description for readers who cannot see the file; search finds the file by it. */
  alt?: string;
}

/** One piece of a new message: one of the first eight. A part that was read can be sent again. */
export interface PartInput {
  text?: string;
  /** Any JSON value. */
  data?: unknown;
  /** Of a record that the caller may read. */
  workingMemoryId?: string;
  url?: string;
  /** A text is taken for the JSON of the arguments, as models write it. */
  toolCall?: { id: string; name: string; arguments?: unknown };
  toolResult?: { toolCallId: string; content?: unknown; isError?: boolean; files?: FileInput[] };
  reasoning?: Pick<Reasoning, "provider"> & Partial<Reasoning>;
  /** A picture, a PDF, a recording or another file. One that was read can be sent again. */
  file?: FileInput;
  mediaType?: string;
  fileName?: string;
  /** `index: false`: not to be found; `secret: true`: not to be kept. */
  metadata?: object;
}

/** What became of a message that was sent. Of a standalone one only `redactedParts` is set. */
export interface SentMessage extends StoredMessage {
  contextId: string;
  /** The call began the context. */
  created: boolean;
  /** What of the context's past matters to it; undefined: nothing was to be recalled. */
  recalled?: Recalled;
}

type Content = NonNullable<MessageInitShape<typeof PartSchema>["content"]>;

export function partInput(part: PartInput, field: string) {
  const given = contentsOf(part, field);
  if (given.length !== 1) {
    const names = given.map((content) => content.case).join(" and ");
    throw new InvalidArgument(`${field} ${names ? `has ${names}; set only one of them` : "has no content"}`, { field });
  }
  const { mediaType, fileName } = part;
  const metadataJson = toObject(part.metadata, `${field}.metadata_json`);
  return create(PartSchema, { content: given[0], mediaType, fileName, metadataJson });
}

function contentsOf(part: PartInput, field: string): Content[] {
  const { text, data, workingMemoryId, url, toolCall, toolResult, reasoning, file } = part;
  const contents: Content[] = [];
  if (text !== undefined) contents.push({ case: "text", value: text });
  if (data !== undefined) contents.push({ case: "dataJson", value: toJson(data, `${field}.data_json`) });
  if (workingMemoryId !== undefined) contents.push({ case: "workingMemoryId", value: workingMemoryId });
  if (url !== undefined) contents.push({ case: "url", value: url });
  if (toolCall !== undefined) {
    const { id, name, arguments: given } = toolCall;
    const path = `${field}.tool_call.arguments_json`;
    const argumentsJson = typeof given === "string" ? given : given === undefined ? "" : toJson(given, path);
    contents.push({ case: "toolCall", value: { id, name, argumentsJson } });
  }
  if (toolResult !== undefined) {
    const { toolCallId, content, isError } = toolResult;
    const contentJson = content === undefined ? "" : toJson(content, `${field}.tool_result.content_json`);
    const files = toolResult.files?.map((each, place) => fileInput(each, `${field}.tool_result.files[${place}]`));
    contents.push({ case: "toolResult", value: { toolCallId, contentJson, isError, files } });
  }
  if (reasoning !== undefined) contents.push({ case: "reasoning", value: reasoning });
  if (file !== undefined) contents.push({ case: "file", value: fileInput(file, `${field}.file`) });
  return contents;
}

function fileInput(file: FileInput, field: string): MessageInitShape<typeof FileSchema> {
  const { data, url, workingMemoryId, mediaType, name, alt } = file;
  const sources: Exclude<MessageInitShape<typeof FileSchema>["source"], undefined>[] = [];
  if (data !== undefined) sources.push({ case: "data", value: data as Uint8Array<ArrayBuffer> });
  if (url !== undefined) sources.push({ case: "url", value: url });
  if (workingMemoryId !== undefined) sources.push({ case: "workingMemoryId", value: workingMemoryId });
  if (sources.length !== 1) {
    throw new InvalidArgument(`${field} must have one of data, url and workingMemoryId`, { field });
  }
  return { source: sources[0], mediaType, name, alt };
}

/**
 * Return a message of a request; a text is a user's.
 *
 * @throws InvalidArgument A part has no content or several, or a value cannot travel.
 */
export function messageOf(message: MessageInput | string, path: string): MessageInitShape<typeof MessageInputSchema> {
  return typeof message === "string" ? { content: message } : messageInput(message, path);
}

/** Return the options of recall; `false` recalls nothing. */
export function recallInput(
  options: RecallOptions | false,
  path: string,
): MessageInitShape<typeof pb.RecallOptionsSchema> {
  return options === false ? { off: true } : recallOptions(options, path);
}

/** Return what became of the message of an answer. */
export function sentOf(answer: pb.SendMessageResponse): SentMessage {
  const sent = sentMessageOf(answer.message!, answer);
  return answer.recall ? { ...sent, recalled: recalledOf(answer.recall) } : sent;
}

/** Return what became of each message of an answer. */
export function allSentOf(answer: pb.AppendMessagesResponse): SentMessage[] {
  return answer.messages.map((sent) => sentMessageOf(sent, answer));
}

function sentMessageOf(sent: pb.SentMessage, { contextId, created }: { contextId: string; created: boolean }): SentMessage {
  return { contextId, created, ...storedMessageOf(sent) };
}
