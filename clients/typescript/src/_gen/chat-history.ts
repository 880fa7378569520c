// Made from contextkeep/context/v1/chat_history.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/chat_history_pb.js";
import * as messagePb from "../gen/contextkeep/context/v1/message_pb.js";
import { type MappingRules, rulesOf } from "../history.js";
import { type JsonObject, parseJson, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";
import { type ChatMessage, type Imported, chatMessageOf, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

export interface FormattedHistory {
  /** Nodes that gave no message because a rule failed on them. */
  nodesFailed: number;
  /** Messages left out because their role is none of user, assistant, system and tool. */
  rolesUnknown: number;
  /**
   * With a `format`: a JSON object for the body of a request, with `messages` and, for Anthropic, `system`; for Gemini with
   * `contents` and `systemInstruction`; for OpenAI's Responses with `input`.
   *
   * The calls of an assistant's turn come with their results right behind them, one each, whatever came between. An id or a name
   * that the vendor would refuse is replaced, in a call and its result alike. Images by URL are images to all, PDFs are
   * documents to Anthropic and Gemini, sounds and films are such to Gemini; working memory records and other parts are text. Calls of the last turn may be without results.
   */
  body: JsonObject;
  /** With a `format`: results left out, because their calls are not among the messages or a later result replaces them. */
  toolResultsLeftOut: number;
  /** With a `format`: calls before the last turn that have no result, and got one that says so. */
  toolCallsUnanswered: number;
  /** With `tokensMax`: of the messages. */
  tokens: number;
  /** An older message is there and does not fit `tokensMax`. */
  isCut: boolean;
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
  };
}

/** A node that a mapping has read, and what came of it. */
export interface AssembledNode {
  nodeId: string;
  externalId: string;
  name: string;
  type: string;
  generalType: string;
  /** Steps from the start node, which is 0. */
  depth: number;
  /** The edge that reached it, and that edge's other end. Empty for the start node. */
  edgeId: string;
  edgeType: string;
  /** The other end of that edge. */
  fromNodeId: string;
  createdAt: string;
  modifiedAt: string;
  /** A JSON object: each of `dataPaths` at which there is something, with its value. Empty: none was asked for. */
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
  /** "rules.messages[0]", as if the rules had no shorthands. */
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
  /** What is wrong, with ROLE_UNKNOWN and FAILED. */
  error: string;
  /** How many elements of a `forEach` it happened to; else 1. */
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
  /** Empty: the tenant's shared scope. */
  appId: string;
  mappingName: string;
  rules: MappingRules;
  /** The author's own number; 0: none was given. */
  rulesVersion: number;
  /** Counts the changes, from 1; 0 for a built-in one. */
  version: number;
  /** It is in the service, or in one of its files: no call made it, and none removes it. */
  builtIn: boolean;
  /** Why the rules no longer compile, after an upgrade; empty: they do. */
  error: string;
  /** Empty: it is built in. */
  createdAt: string;
  updatedAt: string;
  /** Unset: no import wrote it, or its rules were replaced since. */
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

/** A node, and what the rules did on it. */
export interface NodeTrial {
  nodeId: string;
  /** It gives a message. */
  included: boolean;
  /**
   * Of a node that is included the rule of its first message ("rules.messages[0]"), else the expression because of which
   * there is none ("rules.filter").
   */
  decidedBy: string;
  messages: GivenMessage[];
  /** Rules that gave no message. */
  skipped: SkippedRule[];
  /** In the order in which they ran; the first 256 KiB of them. */
  evaluations: Evaluation[];
  /** How many more ran. */
  evaluationsLeftOut: number;
  /** Of all of them together, in microseconds. */
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
  /** "rules.messages[0].when", as if the rules had no shorthands. */
  rule: string;
  /** Of a `forEach`, which one. */
  element?: number;
  /** As JSON. Empty: it failed, or the value is left out. */
  value: unknown;
  /** The value is larger than 16 KiB. */
  valueLeftOut: boolean;
  /** Why it failed; empty: it did not. */
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

/** Something that happened to an entity. */
export interface HistoryEvent {
  kind: "node_created" | "node_changed" | "io_set" | "status" | "progress" | "edge_created" | "record_created" | "record_updated" | "record_archived" | "record_restored" | "record_moved" | "record_purged" | "unknown";
  time: string;
  /** Whom the key of the call stood for, where that is kept: not of edges, nor of a node's changes. */
  principal: string;
  /** The entity that the event is about. */
  nodeId: string;
  /** Of an edge. */
  edgeId: string;
  /** Of a record. */
  workingMemoryId: string;
  /** Of the call, where a record's log has it. */
  requestId: string;
  /** A JSON object. Of an event of an imported log it has `imported`; see WMRecordAction.details_json. */
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
