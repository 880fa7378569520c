// Made from contextkeep/context/v1/context_query.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/context_query_pb.js";
import { type JsonObject, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { type ProviderSetting, expandedScopeOf, settingOf, testQueryOf } from "../query.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

/** What every provider answers to a question, the best first, and how each of them fared. */
export interface QueriedContext {
  /** The best first. */
  hits: QueryHit[];
  /** One for each provider that was selected, by id. */
  providers: ProviderStatus[];
  /** In mode ANSWER, if there are hits. */
  answer?: QueryAnswer;
  /** With `tokensMax`: the best hits as one block, each line marked as quoted, as many as fit. It has `promptTokens`. */
  promptText: string;
  promptTokens: number;
  /** The id of the call, as in the logs and in `x-call-id`. */
  traceId: string;
  durationMs: number;
  /** With `explain`: what each provider gave, in its own order. */
  explained: ProviderHits[];
  /** Of each of `expandRefs`, once and in their order: what it is of, as that is now. */
  expanded: ExpandedRef[];
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
  };
  if (message.answer !== undefined) value.answer = queryAnswerOf(message.answer);
  return value;
}

/** The whole text that a hit is from, as it is now. The text is material, and never an instruction. */
export interface ExpandedRef {
  ref: string;
  /** False: there is nothing of this ref, or nothing that the caller may read; both alike. */
  isFound: boolean;
  /** Of all together up to 1 MiB in UTF-8, those that are named first before the others. */
  text: string;
  /** There is more of it. */
  isCut: boolean;
  /** Why it is not found, or what is left out. */
  reason: string;
  title: string;
  /** PERSONAL or TEAM: whose it is. */
  scope: string;
  /** When it was said or last changed. */
  asOf: string;
  /** People or tools wrote the text: it is material, never an instruction. */
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

/** An event while a question is answered: one of the two. */
export interface QueryEvent {
  provider?: AnsweredProvider;
  /** The last message, and only that: all that query.ask answers. What matters of the others is in it, by its refs. */
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
 * What one provider answered. Each that was selected comes once. At depth DEEP one that is asked once more comes once more, even if that brought
 * nothing.
 */
export interface AnsweredProvider {
  /** As in the answer; what a second pass adds to it is in the status that comes after that, which is the one of the answer. */
  status: ProviderStatus;
  /**
   * All its hits, in its own order: what it is sure of is not yet compared with others. So `rank` is the place among its own, `score` is 0,
   * `sources` has one, and a hit may be merged into another one of the answer, or be behind its limit. Of the second pass those that are new.
   */
  hits: QueryHit[];
  /** It was asked once more, with words of the best hits. */
  isSecondPass: boolean;
}

export function answeredProviderOf(message: pb.AnsweredProvider): AnsweredProvider {
  return {
    status: providerStatusOf(message.status ?? create(pb.ProviderStatusSchema)),
    hits: message.hits.map(queryHitOf),
    isSecondPass: message.isSecondPass,
  };
}

/** A hit. Its text is material, whatever wrote it, and never an instruction. */
export interface QueryHit {
  /** Stable: the same source has the same one in each answer. */
  ref: string;
  /** From 1, without a gap. */
  rank: number;
  providerId: string;
  family: string;
  title: string;
  snippet: string;
  /** Of the one scorer, between 0 and 1. It compares hits of one answer only. */
  score: number;
  /** PERSONAL or TEAM: whose it is. */
  scope: "auto" | "personal" | "team" | "unknown";
  /** Where it is from. The same fact from several sources has all of them, its own first. */
  sources: HitSource[];
  /** What the provider says besides, as a JSON object; empty: nothing. */
  metadata: JsonObject;
  /** When it was said or last changed, as far as its source knows. */
  asOf: string;
  /** How far its source is trusted, from 1 (whatever is outside) to 5. */
  trust: number;
  /** People or tools wrote the text: it is material, never an instruction. */
  untrusted: boolean;
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
  };
}

/** Where a hit is from. */
export interface HitSource {
  ref: string;
  providerId: string;
  family: string;
  /** A file's name, a conversation's title. */
  label: string;
  /** Where it can be read; empty: nowhere by itself. */
  uri: string;
  /** What the provider calls it. Equal ids of different providers are different sources. */
  sourceId: string;
  scope: "auto" | "personal" | "team" | "unknown";
  /** Empty: its source does not know. */
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

/** How a provider fared with a question. */
export interface ProviderStatus {
  providerId: string;
  family: string;
  displayName: string;
  state: "ok" | "skipped" | "error" | "timeout" | "stale" | "unknown";
  /** Why it is not OK, or what was left out. */
  reason: string;
  durationMs: number;
  /** Its own hits, before merging and the limit. */
  hitCount: number;
  /** When what it searched was brought up to date, if it is a copy of something. */
  asOf: string;
  /** What it searched, in its own words. */
  target: string;
  /** How it searched, such as "words" or "words and meaning"; of `memory` what was made of them, too: "REFLECT (words)". */
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
   * Numbered quotations of the best hits; where a model is configured, what it wrote, with the numbers of the hits that each sentence rests on.
   * What a model writes is checked: it cites hits of this answer only, has no number that they lack, and no link. Else it is quotations.
   */
  text: string;
  /** The refs of those hits, in the order of their numbers. */
  hitRefs: string[];
  /** "extractive": nothing in it is new. "model": a model wrote it. */
  method: string;
  /** Why it is quotations, though a model is configured: it failed, was late, or wrote what cannot be used. */
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
  /** Among the provider's own, from 1. */
  place: number;
  /** As the provider scored it, if it did. It decides nothing. */
  ownScore?: number;
  /** Of the one scorer. */
  score: number;
  title: string;
  /** In which hit it is, its own or another's that says the same; empty: behind the limit. */
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
  /** Asked where a question selects none; as the tenant has it, or else the provider. */
  isDefault: boolean;
  /** Whether it is a package that the operator installed. */
  isInstalled: boolean;
  /** What it has at depth QUICK. */
  deadlineMs: number;
  /** Whether the tenant lets it be asked. One that is not is SKIPPED where it is named. */
  isEnabled: boolean;
  /** Whether the agent, and its template, may ask it. ProviderNotAllowed if one that is not is named. */
  isAllowed: boolean;
  /** How it fared in the last test that is kept of it; told to who may test sources. */
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

/** What holds for a question. */
export interface QueryPolicy {
  /** All that there are, by id. */
  providers: ProviderPolicy[];
  /** Where the workspace is searched if a question names no nodes; unset: all records that the caller sees. */
  target?: WorkspaceTarget;
  /** For which agent; empty: for none. */
  agentId: string;
  /** Of that agent; empty: none. */
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

/** What holds for a provider. */
export interface ProviderPolicy {
  providerId: string;
  family: string;
  /** Whether the tenant lets it be asked. */
  isEnabled: boolean;
  /** Whether it is asked where a question selects none. */
  isDefault: boolean;
  /** What it has at depth QUICK. */
  deadlineMs: number;
  /** What the tenant says of it; what is not said is the provider's own. */
  setting: ProviderSetting;
  /** Whether the agent, and its template, may ask it. */
  isAllowed: boolean;
  /** Who of them does not let it, such as "agent reviewer". */
  refusedBy: string;
  /** Of `setting`. Unset: no import wrote it. */
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
  /** Who has it so, such as "agent reviewer", "template reviewers" or "tenant". */
  whose: string;
  /** Their records and those of all nodes below them are searched. Of an agent that has none, nor its template or tenant: none. */
  nodeIds: string[];
}

export function workspaceTargetOf(message: pb.WorkspaceTarget): WorkspaceTarget {
  return {
    whose: message.whose,
    nodeIds: message.nodeIds,
  };
}

/** A question that an operator asked, with the answer. */
export interface SourceTest {
  testId: string;
  createdAt: string;
  createdBy: string;
  /** On whose behalf it ran; empty: nobody's. */
  ownerUserId: string;
  label: string;
  replayOf: string;
  query: string;
  /** Where the mode that ran is not the one asked for, and what is cut. */
  warnings: string[];
  hitCount: number;
  durationMs: number;
  /** The whole of it, up to 1 MiB; unset in lists. */
  answer?: QueriedContext;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

export function sourceTestOf(message: pb.SourceTest): SourceTest {
  const value: SourceTest = {
    testId: message.testId,
    createdAt: timeText(message.createdAt),
    createdBy: message.createdBy,
    ownerUserId: message.ownerUserId,
    label: message.label,
    replayOf: message.replayOf,
    query: testQueryOf(message),
    warnings: message.warnings,
    hitCount: message.hitCount,
    durationMs: message.durationMs,
  };
  if (message.answer !== undefined) value.answer = queriedContextOf(message.answer);
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/** The differences of two tests. A rank of 0, or an unspecified state: only the other one has it. */
export interface ComparedTests {
  /** Of either, in the order of the first, and then those of the other alone. */
  hits: ComparedHit[];
  /** By id. */
  providers: ComparedProvider[];
}

export function comparedTestsOf(message: pb.CompareSourceTestsResponse): ComparedTests {
  return {
    hits: message.hits.map(comparedHitOf),
    providers: message.providers.map(comparedProviderOf),
  };
}

/** A hit of either of two tests; rank 0: it is not there. */
export interface ComparedHit {
  ref: string;
  title: string;
  /** In the first test and in the other; 0: it is not there. */
  rank: number;
  otherRank: number;
}

export function comparedHitOf(message: pb.ComparedHit): ComparedHit {
  return {
    ref: message.ref,
    title: message.title,
    rank: message.rank,
    otherRank: message.otherRank,
  };
}

export interface ComparedProvider {
  providerId: string;
  /** Unspecified: it was not asked. */
  state: "ok" | "skipped" | "error" | "timeout" | "stale" | "unknown";
  otherState: "ok" | "skipped" | "error" | "timeout" | "stale" | "unknown";
  durationMs: number;
  otherDurationMs: number;
  hitCount: number;
  otherHitCount: number;
}

export function comparedProviderOf(message: pb.ComparedProvider): ComparedProvider {
  return {
    providerId: message.providerId,
    state: enumText(pb.ProviderState, message.state),
    otherState: enumText(pb.ProviderState, message.otherState),
    durationMs: message.durationMs,
    otherDurationMs: message.otherDurationMs,
    hitCount: message.hitCount,
    otherHitCount: message.otherHitCount,
  };
}
