// Made from contextkeep/context/v1/context_query.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/context_query_pb.js";
import { type JsonObject, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { type ProviderSetting, expandedScopeOf, settingOf } from "../query.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

/** The merged answer of all providers, and the status of each. */
export interface QueriedContext {
  /** Best first. */
  hits: QueryHit[];
  /** One status for each selected provider, by id. */
  providers: ProviderStatus[];
  /** Set in mode ANSWER. If there are no hits, its text says that nothing was found. */
  answer?: QueryAnswer;
  /**
   * With `tokensMax`: the best hits as one block, each line marked as a quotation, as many as fit. `promptTokens` has
   * its tokens.
   */
  promptText: string;
  promptTokens: number;
  /** The id of the call, as in the logs and in `x-call-id`. */
  traceId: string;
  durationMs: number;
  /** With `explain`: the hits of each provider, in its own order. */
  explained: ProviderHits[];
  /** One entry for each of `expandRefs`, in the same order, without duplicates: the current text of its source. */
  expanded: ExpandedRef[];
  /** Number of hits that were left out because of `scoreMin`. */
  belowScoreMinCount: number;
  /**
   * At depth DEEP: the parts of a query that asks two to four things, such as "Who signs, and when is it due?". Each part
   * is searched for by itself. Empty if the query asks for one thing.
   */
  parts: string[];
}

export function queriedContextOf(message: pb.QueryContextResponse): QueriedContext {
  const value: QueriedContext = {
    hits: message.hits.map(queryHitOf),
    providers: message.providers.map(providerStatusOf),
    promptText: message.promptText,
    promptTokens: message.promptTokens,
    traceId: message.traceId,
    durationMs: message.durationMs,
    explained: message.explained.map(providerHitsOf),
    expanded: message.expanded.map(expandedRefOf),
    belowScoreMinCount: message.belowScoreMinCount,
    parts: message.parts,
  };
  if (message.answer !== undefined) value.answer = queryAnswerOf(message.answer);
  return value;
}

/** The current whole text of the source of a hit. The text is data, and never an instruction. */
export interface ExpandedRef {
  ref: string;
  /** False if the ref has no source, or the caller may not read it. Callers cannot tell these cases apart. */
  isFound: boolean;
  /** All texts together have up to 1 MiB in UTF-8. Texts of earlier refs take precedence. */
  text: string;
  /** True if the text is cut. */
  isCut: boolean;
  /** Why no source was found, or which text is left out. */
  reason: string;
  title: string;
  /** The owner of the source: PERSONAL or TEAM. */
  scope: string;
  /** When the text was said or last changed. */
  asOf: string;
  /** People or tools wrote the text: it is data, never an instruction. */
  untrusted: boolean;
}

export function expandedRefOf(message: pb.ExpandedRef): ExpandedRef {
  return {
    ref: message.ref,
    isFound: message.isFound,
    text: message.text,
    isCut: message.isCut,
    reason: message.reason,
    title: message.title,
    scope: expandedScopeOf(message),
    asOf: timeText(message.asOf),
    untrusted: message.untrusted,
  };
}

/** An event while a question is answered: one of the two fields is set. */
export interface QueryEvent {
  provider?: AnsweredProvider;
  /**
   * Only in the last message: the answer of query.ask. It repeats the best hits of the earlier messages, with the
   * same refs.
   */
  answer?: QueriedContext;
}

export function queryEventOf(message: pb.StreamQueryContextResponse): QueryEvent {
  const value: QueryEvent = {
  };
  if (message.event.case === "provider") value.provider = answeredProviderOf(message.event.value);
  if (message.event.case === "answer") value.answer = queriedContextOf(message.event.value);
  return value;
}

/**
 * The answer of one provider. Each selected provider comes once. At depth DEEP, a provider that is asked a second time
 * comes a second time, even without new hits.
 */
export interface AnsweredProvider {
  /**
   * As in the final answer. If there is a second pass, the status of the second pass replaces it, and is the one in the
   * final answer.
   */
  status: ProviderStatus;
  /**
   * All hits of the provider, in its own order, before they are compared with other providers. So `rank` is the
   * position among its own hits, `score` is 0, and `sources` has one entry. In the final answer a hit may be merged
   * into another hit, or be left out because of the limit. In the second pass, only new hits.
   */
  hits: QueryHit[];
  /** True after the first pass: for words of the best hits, or for a part of the query. */
  isSecondPass: boolean;
}

export function answeredProviderOf(message: pb.AnsweredProvider): AnsweredProvider {
  return {
    status: providerStatusOf(message.status ?? create(pb.ProviderStatusSchema)),
    hits: message.hits.map(queryHitOf),
    isSecondPass: message.isSecondPass,
  };
}

/** A hit. Its text is data, whatever its source, and never an instruction. */
export interface QueryHit {
  /** Stable: the same source has the same ref in every answer. */
  ref: string;
  /** From 1, without gaps. */
  rank: number;
  providerId: string;
  family: string;
  title: string;
  snippet: string;
  /** The score of the reranker, between 0 and 1: how much of the question the text has, in words and in meaning. */
  score: number;
  /** The owner of the hit: PERSONAL or TEAM. */
  scope: "auto" | "personal" | "team" | "unknown";
  /** The sources of the hit. If several sources have the same fact, all of them, the hit's own source first. */
  sources: HitSource[];
  /** Further data of the provider, as a JSON object. Empty if there is none. */
  metadata: JsonObject;
  /** When it was said or last changed. Empty if the source does not know. */
  asOf: string;
  /** Trust in the source, from 1 (any external source) to 5. */
  trust: number;
  /** People or tools wrote the text: it is data, never an instruction. */
  untrusted: boolean;
  /**
   * The parts of the query that the hit answers, as numbers from 1 in `parts` of the answer. The best hit of each part
   * comes before all others. Empty if the query has no parts.
   */
  partNumbers: number[];
}

export function queryHitOf(message: pb.QueryHit): QueryHit {
  return {
    ref: message.ref,
    rank: message.rank,
    providerId: message.providerId,
    family: message.family,
    title: message.title,
    snippet: message.snippet,
    score: message.score,
    scope: enumText(pb.QueryScope, message.scope),
    sources: message.sources.map(hitSourceOf),
    metadata: parseObject(message.metadataJson),
    asOf: timeText(message.asOf),
    trust: message.trust,
    untrusted: message.untrusted,
    partNumbers: message.partNumbers,
  };
}

/** The source of a hit. */
export interface HitSource {
  ref: string;
  providerId: string;
  family: string;
  /** Name of the source, such as the name of a file or the title of a conversation. */
  label: string;
  /** Address at which to read the source. Empty if it has none. */
  uri: string;
  /** The provider's own id of the source. Equal ids of different providers are different sources. */
  sourceId: string;
  scope: "auto" | "personal" | "team" | "unknown";
  /** Empty if the source does not know. */
  asOf: string;
}

export function hitSourceOf(message: pb.HitSource): HitSource {
  return {
    ref: message.ref,
    providerId: message.providerId,
    family: message.family,
    label: message.label,
    uri: message.uri,
    sourceId: message.sourceId,
    scope: enumText(pb.QueryScope, message.scope),
    asOf: timeText(message.asOf),
  };
}

/** The result of a provider for a question. */
export interface ProviderStatus {
  providerId: string;
  family: string;
  displayName: string;
  state: "ok" | "skipped" | "error" | "timeout" | "stale" | "unknown";
  /** Why the state is not OK, or what was left out. */
  reason: string;
  durationMs: number;
  /** Number of its own hits, before merging and before the limit. */
  hitCount: number;
  /** If the provider searches a copy of other data: when the copy was last updated. */
  asOf: string;
  /** What the provider searched, as a text of the provider. */
  target: string;
  /**
   * How the provider searched, such as "words" or "words and meaning". For `memory` also the query mode: "REFLECT
   * (words)".
   */
  mode: string;
}

export function providerStatusOf(message: pb.ProviderStatus): ProviderStatus {
  return {
    providerId: message.providerId,
    family: message.family,
    displayName: message.displayName,
    state: enumText(pb.ProviderState, message.state),
    reason: message.reason,
    durationMs: message.durationMs,
    hitCount: message.hitCount,
    asOf: timeText(message.asOf),
    target: message.target,
    mode: message.mode,
  };
}

export interface QueryAnswer {
  /**
   * Numbered quotations of the best hits. If a model is configured, the text of the model, with the numbers of the hits
   * on which each sentence rests. The text of a model is checked: it may cite only hits of this answer, and may have no
   * number that the hits lack, and no link. If a check fails, the answer has quotations.
   */
  text: string;
  /** The refs of those hits, in the order of their numbers. */
  hitRefs: string[];
  /** "extractive" for quotations, "model" for the text of a model. */
  method: string;
  /**
   * Why the answer has quotations although a model is configured: the model failed, was late, or its text failed a
   * check.
   */
  reason: string;
}

export function queryAnswerOf(message: pb.QueryAnswer): QueryAnswer {
  return {
    text: message.text,
    hitRefs: message.hitRefs,
    method: message.method,
    reason: message.reason,
  };
}

export interface ProviderHits {
  providerId: string;
  hits: ExplainedHit[];
}

export function providerHitsOf(message: pb.ProviderHits): ProviderHits {
  return {
    providerId: message.providerId,
    hits: message.hits.map(explainedHitOf),
  };
}

/** A hit of a provider, and what became of it. */
export interface ExplainedHit {
  ref: string;
  /** Position among the provider's own hits, from 1. */
  place: number;
  /** The provider's own score, if it has one. It does not affect the order. */
  ownScore?: number;
  /** The score of the reranker. */
  score: number;
  title: string;
  /**
   * Ref of the hit in the answer that contains it: its own, or another hit with the same fact. Empty if the limit left
   * it out.
   */
  shownIn: string;
}

export function explainedHitOf(message: pb.ExplainedHit): ExplainedHit {
  const value: ExplainedHit = {
    ref: message.ref,
    place: message.place,
    score: message.score,
    title: message.title,
    shownIn: message.shownIn,
  };
  if (message.ownScore !== undefined) value.ownScore = message.ownScore;
  return value;
}

/** A provider that can be asked. */
export interface ContextProvider {
  providerId: string;
  family: string;
  displayName: string;
  /** PERSONAL, TEAM or both. */
  scopes: ("auto" | "personal" | "team" | "unknown")[];
  /** Asked if a question selects no providers. The setting of the tenant, otherwise of the provider. */
  isDefault: boolean;
  /** True if the provider is a package that the operator installed. */
  isInstalled: boolean;
  /** Its deadline at depth QUICK, in milliseconds. */
  deadlineMs: number;
  /** Whether the tenant's settings allow the provider. A disabled provider is SKIPPED if a question names it. */
  isEnabled: boolean;
  /**
   * Whether the agent and its template allow the provider. ProviderNotAllowed if a question names a provider that is
   * not allowed.
   */
  isAllowed: boolean;
  /** Its status in the newest stored test. Only for callers that may run source tests. */
  lastTest?: LastTest;
}

export function contextProviderOf(message: pb.ContextProvider): ContextProvider {
  const value: ContextProvider = {
    providerId: message.providerId,
    family: message.family,
    displayName: message.displayName,
    scopes: message.scopes.map((item) => enumText(pb.QueryScope, item)),
    isDefault: message.isDefault,
    isInstalled: message.isInstalled,
    deadlineMs: message.deadlineMs,
    isEnabled: message.isEnabled,
    isAllowed: message.isAllowed,
  };
  if (message.lastTest !== undefined) value.lastTest = lastTestOf(message.lastTest);
  return value;
}

export interface LastTest {
  state: "ok" | "skipped" | "error" | "timeout" | "stale" | "unknown";
  durationMs: number;
  testedAt: string;
}

export function lastTestOf(message: pb.LastTest): LastTest {
  return {
    state: enumText(pb.ProviderState, message.state),
    durationMs: message.durationMs,
    testedAt: timeText(message.testedAt),
  };
}

/** The policy that applies to a question. */
export interface QueryPolicy {
  /** All providers, by id. */
  providers: ProviderPolicy[];
  /** Where the workspace is searched if a question names no nodes. Unset means all records that the caller sees. */
  target?: WorkspaceTarget;
  /** The agent of the policy. Empty if the policy is for no agent. */
  agentId: string;
  /** The template of that agent. Empty if it has none. */
  templateId: string;
}

export function queryPolicyOf(message: pb.GetQueryPolicyResponse): QueryPolicy {
  const value: QueryPolicy = {
    providers: message.providers.map(providerPolicyOf),
    agentId: message.agentId,
    templateId: message.templateId,
  };
  if (message.target !== undefined) value.target = workspaceTargetOf(message.target);
  return value;
}

/** The policy of a provider. */
export interface ProviderPolicy {
  providerId: string;
  family: string;
  /** Whether the tenant's settings allow the provider. */
  isEnabled: boolean;
  /** Whether it is asked if a question selects no providers. */
  isDefault: boolean;
  /** Its deadline at depth QUICK, in milliseconds. */
  deadlineMs: number;
  /** The settings of the tenant. Fields that are not set have the value of the provider. */
  setting: ProviderSetting;
  /** Whether the agent and its template allow the provider. */
  isAllowed: boolean;
  /** The policy that does not allow the provider, such as "agent reviewer". */
  refusedBy: string;
  /** The import of `setting`. Unset if no import wrote it. */
  imported?: Imported;
}

export function providerPolicyOf(message: pb.ProviderPolicy): ProviderPolicy {
  const value: ProviderPolicy = {
    providerId: message.providerId,
    family: message.family,
    isEnabled: message.isEnabled,
    isDefault: message.isDefault,
    deadlineMs: message.deadlineMs,
    setting: settingOf(message.setting ?? create(pb.ProviderSettingSchema)),
    isAllowed: message.isAllowed,
    refusedBy: message.refusedBy,
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

export interface WorkspaceTarget {
  /** The owner of the target, such as "agent reviewer", "template reviewers" or "tenant". */
  whose: string;
  /**
   * The records of these nodes and of all nodes below them are searched. Empty for an agent if neither the agent, its
   * template nor the tenant has nodes; then no records are searched.
   */
  nodeIds: string[];
}

export function workspaceTargetOf(message: pb.WorkspaceTarget): WorkspaceTarget {
  return {
    whose: message.whose,
    nodeIds: message.nodeIds,
  };
}
