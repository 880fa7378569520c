/** Chat history: messages, their provenance, and the mappings that make them of nodes. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { fromJson, toJson as messageToJson, type JsonValue } from "@bufbuild/protobuf";

import * as pb from "./gen/contextkeep/context/v1/chat_history_pb.js";
import type * as message_pb from "./gen/contextkeep/context/v1/message_pb.js";
import { InvalidArgument } from "./gen/errors.js";
import { type JsonObject, parseJson, parseObject, toJson, toObject } from "./json.js";
import { enumText, fieldsOf } from "./messages.js";
import { timeText, toTimestamp } from "./times.js";

export const FORMATS = {
  openai: pb.MessageFormat.OPENAI,
  anthropic: pb.MessageFormat.ANTHROPIC,
  gemini: pb.MessageFormat.GEMINI,
  openaiResponses: pb.MessageFormat.OPENAI_RESPONSES,
};

/** Whose messages: OpenAI's Chat Completions or Responses, Anthropic's Messages or Gemini's generateContent. */
export type MessageFormat = keyof typeof FORMATS;

/** One turn, as a prompt wants it. */
export interface ChatMessage {
  /** "user", "assistant", "system" or "tool". */
  role: string;
  content: string;
  /** The node it was read from; empty in a context. */
  nodeId: string;
  createdAt: string;
  /** Who speaks, where several share a role. */
  name: string;
  parts: Part[];
  metadata: JsonObject;
  /** Of a context's messages only, as the next six: the sender's own id of it. */
  messageId: string;
  /** Its place in the context, from 1. */
  seq: number;
  agentId: string;
  /** As its sender says; `createdAt` is when it came. */
  saidAt: string;
  /** What it takes of a model's context, about. */
  tokens: number;
  /** The task that it belongs to, and others that it is about. */
  taskId: string;
  referenceTaskIds: string[];
}

/** One piece of a message; `kind` says which field it has. */
export interface Part {
  kind: "text" | "data" | "workingMemoryId" | "url" | "toolCall" | "toolResult" | "reasoning" | "unknown";
  text?: string;
  data?: unknown;
  workingMemoryId?: string;
  url?: string;
  toolCall?: { id: string; name: string; arguments: unknown };
  toolResult?: { toolCallId: string; content: unknown; isError: boolean };
  reasoning?: Reasoning;
  mediaType: string;
  fileName: string;
  metadata: JsonObject;
}

/** A block that a model's provider made, and wants back as it was beside the tool calls that followed from it. */
export interface Reasoning {
  /** Such as "anthropic". */
  provider: string;
  /** The block, byte for byte. */
  data: Uint8Array;
  /** The block where it is JSON, byte for byte. */
  dataJson: string;
  /** What the provider shows of it. */
  text: string;
}

/** A conversation, oldest message first. */
export interface ChatHistory {
  messages: ChatMessage[];
  /** Nodes that gave no message because a rule failed on them. */
  nodesFailed: number;
  /** Messages left out because their role is none of the four. */
  rolesUnknown: number;
  /** Of the messages, where `tokensMax` was asked for. */
  tokens: number;
  /** An older message is there and does not fit `tokensMax`. */
  isCut: boolean;
}

/** A conversation for the body of a request to a model. */
export interface FormattedHistory {
  /** What goes into the request: `messages`, and for Anthropic `system`, if there is one; for Gemini `contents`; for Responses `input`. */
  body: JsonObject;
  nodesFailed: number;
  rolesUnknown: number;
  /** Results left out: their calls are not among the messages, or a later result replaces them. */
  toolResultsLeftOut: number;
  /** Calls before the last turn that have no result, and got one that says so. */
  toolCallsUnanswered: number;
  /** As in ChatHistory, the next too. */
  tokens: number;
  isCut: boolean;
}

/** Something that happened to an entity. */
export interface HistoryEvent {
  /** "node_created", "status", "edge_created", "record_updated", ...; the proto says what each document holds. */
  kind: string;
  time: string;
  /** Whom the key of the call stood for, where that is kept. */
  principal: string;
  nodeId: string;
  /** Of an edge. */
  edgeId: string;
  /** Of a record. */
  workingMemoryId: string;
  requestId: string;
  document: JsonObject;
}

/** A message, and the rule that gave it: "rules.messages[0]", as if the rules had no shorthands. */
export interface GivenMessage {
  message: ChatMessage;
  rule: string;
}

/** A rule that gave no message. */
export interface SkippedRule {
  /** "filtered", "unmatched", "empty", "role_unknown" or "failed". */
  reason: string;
  /** The expression that decided, such as "rules.messages[0].when". */
  rule: string;
  error: string;
  /** How many elements of a `forEach` it happened to. */
  elements: number;
}

/** A node that a mapping has read, and what came of it. */
export interface AssembledNode {
  nodeId: string;
  externalId: string;
  name: string;
  type: string;
  generalType: string;
  /** Steps from the start node. */
  depth: number;
  /** That reached it, and its other end; empty for the start node. */
  edgeId: string;
  edgeType: string;
  fromNodeId: string;
  createdAt: string;
  modifiedAt: string;
  /** What is at the data paths that were asked for. */
  values: JsonObject;
  messages: GivenMessage[];
  skipped: SkippedRule[];
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
}

/** How a mapping walks, which nodes count, what they give, in which order; docs/mappings.md has them by example. */
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
  /** Shorthands, equal to the long form: paths. */
  roleField?: string;
  contentField?: string;
  orderField?: string;
  /** From a type name to a role; beside `roleField`, from the field's values. */
  roleMapping?: Record<string, string>;
  ordering?: "timestamp_asc" | "timestamp_desc";
}

/** A registered or built-in mapping. */
export interface Mapping {
  /** Empty: the tenant's shared scope. */
  appId: string;
  mappingName: string;
  rules: MappingRules;
  /** The author's own number; 0: none was given. */
  rulesVersion: number;
  /** Counts the changes; 0 for a built-in one. */
  version: number;
  builtIn: boolean;
  /** Why the rules no longer compile, after an upgrade; empty: they do. */
  error: string;
  createdAt: string;
  updatedAt: string;
}

/** A mapping to register. */
export interface MappingInput {
  mappingName: string;
  rules: MappingRules;
  /** Else the client's. */
  appId?: string;
  /** A number that grows with the rules: a higher one replaces, a lower one changes nothing. */
  rulesVersion?: number;
  /** Replace other rules of that name. */
  replace?: boolean;
}

/** A node to try rules on. It need not exist. */
export interface SampleNode {
  data?: object;
  type?: string;
  generalType?: string;
  id?: string;
  externalId?: string;
  name?: string;
  status?: string;
  io?: { input?: unknown; output?: unknown };
  createdAt?: Date | string;
  modifiedAt?: Date | string;
  edgeType?: string;
  depth?: number;
  edgeData?: object;
}

/** One run of one expression. */
export interface Evaluation {
  rule: string;
  /** Of a `forEach`, which one. */
  element: number | undefined;
  /** Undefined: it failed, or `valueLeftOut`. */
  value: unknown;
  /** The value is larger than 16 KiB. */
  valueLeftOut: boolean;
  error: string;
  durationUs: number;
}

/** A node, and what the rules did on it. */
export interface NodeTrial {
  nodeId: string;
  /** It gives a message. */
  included: boolean;
  /** The rule of its first message, or the expression because of which there is none. */
  decidedBy: string;
  messages: GivenMessage[];
  skipped: SkippedRule[];
  evaluations: Evaluation[];
  evaluationsLeftOut: number;
  durationUs: number;
}

/**
 * Return the message of a mapping's rules; the names may also be those of the proto, as in a file that is shared with Python.
 *
 * @throws InvalidArgument A rule has no such field, or a value of another type.
 */
export function mappingRules(rules: MappingRules): pb.MappingRules {
  try {
    return fromJson(pb.MappingRulesSchema, rules as unknown as JsonValue);
  } catch (error) {
    throw new InvalidArgument(`rules cannot be read: ${(error as Error).message}`, { field: "rules", cause: error });
  }
}

export function mappingOf(message: pb.Mapping): Mapping {
  const { rules, rulesVersion, version, createdAt, updatedAt, ...fields } = fieldsOf(message);
  return {
    ...fields,
    rules: (rules ? messageToJson(pb.MappingRulesSchema, rules) : {}) as MappingRules,
    rulesVersion: Number(rulesVersion),
    version: Number(version),
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
  };
}

export function chatMessageOf(message: message_pb.ChatMessage): ChatMessage {
  // Named one by one, which takes a fifth of what `fieldsOf` takes: histories have thousands of them.
  const { role, content, nodeId, name, parts, messageId, agentId, tokens, taskId, referenceTaskIds } = message;
  return {
    role,
    content,
    nodeId,
    name,
    createdAt: timeText(message.createdAt),
    parts: parts.map(partOf),
    metadata: parseObject(message.metadataJson),
    messageId,
    seq: Number(message.seq),
    agentId,
    saidAt: timeText(message.saidAt),
    tokens,
    taskId,
    referenceTaskIds,
  };
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
      return { kind: "toolResult", toolResult: { toolCallId, content: value, isError }, ...about };
    }
    case "reasoning": {
      const { provider, data, dataJson, text } = content.value;
      return { kind: "reasoning", reasoning: { provider, data, dataJson, text }, ...about };
    }
    default:
      return { kind: "unknown", ...about };
  }
}

export function assembledNodeOf(message: pb.AssembledNode): AssembledNode {
  const { createdAt, modifiedAt, valuesJson, messages, skipped, ...fields } = fieldsOf(message);
  return {
    ...fields,
    createdAt: timeText(createdAt),
    modifiedAt: timeText(modifiedAt),
    values: parseObject(valuesJson),
    messages: messages.map(givenMessageOf),
    skipped: skipped.map(skippedRuleOf),
  };
}

export function formattedHistoryOf(message: pb.GetChatHistoryResponse): FormattedHistory {
  const { formattedJson, nodesFailed, rolesUnknown, toolResultsLeftOut, toolCallsUnanswered, tokens, isCut } = message;
  const counts = { nodesFailed, rolesUnknown, toolResultsLeftOut, toolCallsUnanswered, tokens: Number(tokens), isCut };
  return { body: parseObject(formattedJson), ...counts };
}

export function historyEventOf(message: pb.HistoryEvent): HistoryEvent {
  const { kind, time, documentJson, ...fields } = fieldsOf(message);
  return {
    ...fields,
    kind: enumText(pb.HistoryEventKind, kind),
    time: timeText(time),
    document: parseObject(documentJson),
  };
}

export function sampleNode(node: SampleNode, field: string): MessageInitShape<typeof pb.SampleNodeSchema> {
  const { data, edgeData, io, createdAt, modifiedAt, ...fields } = node;
  return {
    ...fields,
    dataJson: toObject(data, `${field}.data_json`),
    edgeDataJson: toObject(edgeData, `${field}.edge_data_json`),
    inputJson: io?.input === undefined ? "" : toJson(io.input, `${field}.input_json`),
    outputJson: io?.output === undefined ? "" : toJson(io.output, `${field}.output_json`),
    createdAt: toTimestamp(createdAt, `${field}.created_at`),
    modifiedAt: toTimestamp(modifiedAt, `${field}.modified_at`),
  };
}

export function nodeTrialOf(message: pb.NodeTrial): NodeTrial {
  const { messages, skipped, evaluations, durationUs, ...fields } = fieldsOf(message);
  return {
    ...fields,
    messages: messages.map(givenMessageOf),
    skipped: skipped.map(skippedRuleOf),
    evaluations: evaluations.map(({ rule, element, valueJson, valueLeftOut, error, durationUs: took }) => ({
      rule,
      element,
      value: valueJson ? parseJson(valueJson) : undefined,
      valueLeftOut,
      error,
      durationUs: Number(took),
    })),
    durationUs: Number(durationUs),
  };
}

function givenMessageOf({ message, rule }: pb.GivenMessage): GivenMessage {
  return { message: chatMessageOf(message!), rule };
}

function skippedRuleOf({ reason, rule, error, elements }: pb.SkippedRule): SkippedRule {
  return { reason: enumText(pb.SkipReason, reason), rule, error, elements };
}
