// Made from contextkeep/context/v1/chat_history.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/chat_history_pb.js";
import * as messagePb from "../gen/contextkeep/context/v1/message_pb.js";
import { type MappingRules, rulesOf } from "../history.js";
import { type JsonObject, parseJson, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";
import { type ChatMessage, type Imported, chatMessageOf, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

/** A file of a body whose base64 is empty. */
export interface BodyFile {
  /**
   * The position in the whole body, in bytes, at which to insert the base64. Positions count in the body as it came,
   * without other files; insert the last file first. Never search the text for the place: texts of a conversation may
   * look like it.
   */
  offsetBytes: number;
  /** The same place for callers who parse the body: append the base64 to the string at this JSON Pointer. */
  pointer: string;
  /** The record with the bytes, for blobs.get. */
  workingMemoryId: string;
  /** Hash of the bytes in hexadecimal. */
  sha256: string;
  sizeBytes: number;
  mediaType: string;
}

export function bodyFileOf(message: pb.BodyFile): BodyFile {
  return {
    offsetBytes: Number(message.offsetBytes),
    pointer: message.pointer,
    workingMemoryId: message.workingMemoryId,
    sha256: message.sha256,
    sizeBytes: Number(message.sizeBytes),
    mediaType: message.mediaType,
  };
}

export interface FormattedHistory {
  /** Nodes without a message because a rule failed on them. */
  nodesFailed: number;
  /** Messages that were left out because their role is not user, assistant, system or tool. */
  rolesUnknown: number;
  /**
   * With a `format`: a JSON object for the body of a request. It has `messages` and, for Anthropic, `system`; for
   * Gemini `contents` and `systemInstruction`; for OpenAI's Responses `input`.
   *
   * The results of the calls of an assistant's turn follow the calls directly, one for each call, even if other
   * messages came between them. An id or a name that the vendor would refuse is replaced, in the call and in its
   * result. Images, PDFs, audio and video are the vendor's blocks of files, where the vendor has such blocks: in their
   * place, or in a turn of the user after it. Other files are a line of text with the name, the type and the id. Calls
   * of the last turn may have no results.
   */
  body: JsonObject;
  /**
   * With a `format`: results that were left out, because their calls are not among the messages or a later result
   * replaces them.
   */
  toolResultsLeftOut: number;
  /** With a `format`: calls before the last turn that have no result. The answer has a result for each that says so. */
  toolCallsUnanswered: number;
  /** With `tokensMax`: the tokens of the messages. */
  tokens: number;
  /** True if an older message exists and does not fit into `tokensMax`. */
  isCut: boolean;
  /** With REFERENCES: the files of the body, in their order. */
  files: BodyFile[];
}

export function formattedHistoryOf(message: pb.GetChatHistoryResponse): FormattedHistory {
  return {
    nodesFailed: message.nodesFailed,
    rolesUnknown: message.rolesUnknown,
    body: parseObject(message.formattedJson),
    toolResultsLeftOut: message.toolResultsLeftOut,
    toolCallsUnanswered: message.toolCallsUnanswered,
    tokens: Number(message.tokens),
    isCut: message.isCut,
    files: message.files.map(bodyFileOf),
  };
}

/** A node that a mapping read, and its messages. */
export interface AssembledNode {
  nodeId: string;
  externalId: string;
  name: string;
  type: string;
  generalType: string;
  /** Steps from the start node, which has 0. */
  depth: number;
  /** The edge by which the walk reached the node. Empty for the start node. */
  edgeId: string;
  edgeType: string;
  /** The other end of that edge. */
  fromNodeId: string;
  createdAt: string;
  modifiedAt: string;
  /** A JSON object with the value at each of `dataPaths` that has one. Empty if the request has no `dataPaths`. */
  values: JsonObject;
  /** In the order of the rules. */
  messages: GivenMessage[];
  /** Rules that gave no message. */
  skipped: SkippedRule[];
}

export function assembledNodeOf(message: pb.AssembledNode): AssembledNode {
  return {
    nodeId: message.nodeId,
    externalId: message.externalId,
    name: message.name,
    type: message.type,
    generalType: message.generalType,
    depth: message.depth,
    edgeId: message.edgeId,
    edgeType: message.edgeType,
    fromNodeId: message.fromNodeId,
    createdAt: timeText(message.createdAt),
    modifiedAt: timeText(message.modifiedAt),
    values: parseObject(message.valuesJson),
    messages: message.messages.map(givenMessageOf),
    skipped: message.skipped.map(skippedRuleOf),
  };
}

/** A message, and the rule that gave it. */
export interface GivenMessage {
  message: ChatMessage;
  /** Name of the rule in the long form, such as "rules.messages[0]", also if the mapping uses shorthands. */
  rule: string;
}

export function givenMessageOf(message: pb.GivenMessage): GivenMessage {
  return {
    message: chatMessageOf(message.message ?? create(messagePb.ChatMessageSchema)),
    rule: message.rule,
  };
}

/** A rule that gave no message. */
export interface SkippedRule {
  reason: "filtered" | "unmatched" | "empty" | "role_unknown" | "failed" | "unknown";
  /** The expression that decided, such as "rules.messages[0].when". */
  rule: string;
  /** The error, for ROLE_UNKNOWN and FAILED. */
  error: string;
  /** Number of elements of a `forEach` with this reason; otherwise 1. */
  elements: number;
}

export function skippedRuleOf(message: pb.SkippedRule): SkippedRule {
  return {
    reason: enumText(pb.SkipReason, message.reason),
    rule: message.rule,
    error: message.error,
    elements: message.elements,
  };
}

/** A registered or built-in mapping. */
export interface Mapping {
  /** Empty means the shared scope of the tenant. */
  appId: string;
  mappingName: string;
  rules: MappingRules;
  /** The author's own version number. 0 means that the author gave none. */
  rulesVersion: number;
  /** Number of the newest change, from 1. 0 for a built-in mapping. */
  version: number;
  /** The mapping is part of the service or in one of its files. No call can create or remove it. */
  builtIn: boolean;
  /** Why the rules no longer compile after an upgrade. Empty if they compile. */
  error: string;
  /** Empty if the mapping is built in. */
  createdAt: string;
  updatedAt: string;
  /** Unset if no import wrote it, or its rules were replaced after the import. */
  imported?: Imported;
}

export function mappingOf(message: pb.Mapping): Mapping {
  const value: Mapping = {
    appId: message.appId,
    mappingName: message.mappingName,
    rules: rulesOf(message.rules ?? create(pb.MappingRulesSchema)),
    rulesVersion: Number(message.rulesVersion),
    version: Number(message.version),
    builtIn: message.builtIn,
    error: message.error,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/** A node, and the result of the rules on it. */
export interface NodeTrial {
  nodeId: string;
  /** True if the node gives a message. */
  included: boolean;
  /**
   * For a node with messages, the rule of the first message ("rules.messages[0]"). Otherwise the expression that
   * prevented a message ("rules.filter").
   */
  decidedBy: string;
  messages: GivenMessage[];
  /** Rules that gave no message. */
  skipped: SkippedRule[];
  /** In the order in which they ran. Only the first 256 KiB. */
  evaluations: Evaluation[];
  /** Number of further evaluations that were left out. */
  evaluationsLeftOut: number;
  /** Time of all evaluations together, in microseconds. */
  durationUs: number;
}

export function nodeTrialOf(message: pb.NodeTrial): NodeTrial {
  return {
    nodeId: message.nodeId,
    included: message.included,
    decidedBy: message.decidedBy,
    messages: message.messages.map(givenMessageOf),
    skipped: message.skipped.map(skippedRuleOf),
    evaluations: message.evaluations.map(evaluationOf),
    evaluationsLeftOut: message.evaluationsLeftOut,
    durationUs: Number(message.durationUs),
  };
}

/** One run of one expression. */
export interface Evaluation {
  /** Name of the expression in the long form, such as "rules.messages[0].when", also if the mapping uses shorthands. */
  rule: string;
  /** Position of the element, for a `forEach`. */
  element?: number;
  /** The value as JSON. Empty if the expression failed or the value is left out. */
  value: unknown;
  /** True if the value is larger than 16 KiB. */
  valueLeftOut: boolean;
  /** Why the expression failed. Empty if it did not fail. */
  error: string;
  durationUs: number;
}

export function evaluationOf(message: pb.Evaluation): Evaluation {
  const value: Evaluation = {
    rule: message.rule,
    value: message.valueJson ? parseJson(message.valueJson) : undefined,
    valueLeftOut: message.valueLeftOut,
    error: message.error,
    durationUs: Number(message.durationUs),
  };
  if (message.element !== undefined) value.element = message.element;
  return value;
}

/** An event of an entity. */
export interface HistoryEvent {
  kind: "node_created" | "node_changed" | "io_set" | "status" | "progress" | "edge_created" | "record_created" | "record_updated" | "record_archived" | "record_restored" | "record_moved" | "record_purged" | "unknown";
  time: string;
  /** Subject of the credential of the call, if it is stored. It is not stored for edges and for changes of a node. */
  principal: string;
  /** The entity of the event. */
  nodeId: string;
  /** The edge, for events of edges. */
  edgeId: string;
  /** The record, for events of records. */
  workingMemoryId: string;
  /** Id of the call, if the log of the record has it. */
  requestId: string;
  /** A JSON object. For an event of an imported log it has `imported`; see WMRecordAction.details_json. */
  document: JsonObject;
}

export function historyEventOf(message: pb.HistoryEvent): HistoryEvent {
  return {
    kind: enumText(pb.HistoryEventKind, message.kind),
    time: timeText(message.time),
    principal: message.principal,
    nodeId: message.nodeId,
    edgeId: message.edgeId,
    workingMemoryId: message.workingMemoryId,
    requestId: message.requestId,
    document: parseObject(message.documentJson),
  };
}
