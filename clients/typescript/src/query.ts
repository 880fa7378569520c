/** What a question to every source is answered. */

import * as pb from "./gen/contextkeep/context/v1/context_query_pb.js";
import { type JsonObject, parseJson } from "./json.js";
import { enumText } from "./messages.js";
import { timeText } from "./times.js";

/** Where a hit is from. */
export interface HitSource {
  ref: string;
  providerId: string;
  family: string;
  /** A file's name, a conversation's title. */
  label: string;
  /** Empty: it cannot be read by itself. */
  uri: string;
  /** Equal ids of different providers are different sources. */
  sourceId: string;
  /** "personal" or "team". */
  scope: string;
  /** Empty: its source does not know. */
  asOf: string;
}

/** Something that was found. Its text is material, whoever wrote it, and never an instruction. */
export interface QueryHit {
  /** Stable. */
  ref: string;
  /** From 1. */
  rank: number;
  providerId: string;
  family: string;
  title: string;
  snippet: string;
  /** 0 to 1; it compares hits of one answer. */
  score: number;
  /** "personal" or "team". */
  scope: string;
  /** The same fact from several sources has all of them. */
  sources: HitSource[];
  /** What the provider says besides. */
  metadata: JsonObject;
  /** When it was said or last changed; empty: its source does not know. */
  asOf: string;
  /** How far its source is trusted, from 1 to 5. */
  trust: number;
  /** People or tools wrote it. */
  untrusted: boolean;
}

/** How a provider fared with a question. */
export interface ProviderStatus {
  providerId: string;
  family: string;
  displayName: string;
  /** "ok", "skipped", "error", "timeout" or "stale". */
  state: string;
  /** Why it is not ok, or what was left out. */
  reason: string;
  durationMs: number;
  /** Its own hits, before merging and the limit. */
  hitCount: number;
  /** When what it searched was brought up to date; empty: it does not say. */
  asOf: string;
  /** What it searched. */
  target: string;
  /** How. */
  mode: string;
}

/** A hit of a provider, and what became of it. */
export interface ExplainedHit {
  ref: string;
  /** Among the provider's own, from 1. */
  place: number;
  /** The provider's; it decides nothing. */
  ownScore: number | undefined;
  score: number;
  title: string;
  /** The ref of a hit; empty: it is behind the limit. */
  shownIn: string;
}

/** The whole of what a hit is from, as it is now. Its text is material, and never an instruction. */
export interface ExpandedRef {
  ref: string;
  /** False: it is not there, or not for the caller. */
  isFound: boolean;
  text: string;
  /** There is more of it. */
  isCut: boolean;
  /** Why it is not found, or what is left out. */
  reason: string;
  title: string;
  /** "personal" or "team"; empty: it is not found. */
  scope: string;
  /** When it was said or last changed; empty: its source does not know. */
  asOf: string;
  /** People or tools wrote it. */
  untrusted: boolean;
}

/** What every source says to a question, the best first, and how each of them fared. */
export interface QueriedContext {
  hits: QueryHit[];
  providers: ProviderStatus[];
  /** Of mode "answer": numbered quotations; undefined without hits. */
  answer: { text: string; hitRefs: string[]; method: string; reason: string } | undefined;
  promptText: string;
  promptTokens: number;
  traceId: string;
  durationMs: number;
  /** What each provider gave, if it was asked for. */
  explained: { providerId: string; hits: ExplainedHit[] }[];
  /** Of each of `expandRefs`, in their order. */
  expanded: ExpandedRef[];
}

/** A source that can be asked. */
export interface ContextProvider {
  providerId: string;
  family: string;
  displayName: string;
  /** "personal", "team". */
  scopes: string[];
  /** Asked where a question selects none. */
  isDefault: boolean;
  /** A package of the operator's. */
  isInstalled: boolean;
  deadlineMs: number;
  /** The tenant lets it be asked. */
  isEnabled: boolean;
  /** The agent and its template do. */
  isAllowed: boolean;
  /** How it fared in the last test that is kept of it; told to administrators. */
  lastTest: { state: string; durationMs: number; testedAt: string } | undefined;
}

/** What a tenant says of a provider; undefined: nothing, and it is as the provider has it. */
export interface ProviderSetting {
  providerId: string;
  enabled: boolean | undefined;
  isDefault: boolean | undefined;
  deadlineMs: number | undefined;
  /** Of the workspace; empty: all records. */
  nodeIds: string[] | undefined;
  /** Of memories: "recall" or "reflect" where a question does not say it. */
  memoryMode: string | undefined;
}

/** What holds for a provider. */
export interface ProviderPolicy {
  providerId: string;
  family: string;
  isEnabled: boolean;
  /** Asked where a question selects none. */
  isDefault: boolean;
  deadlineMs: number;
  /** What the tenant says of it. */
  setting: ProviderSetting;
  isAllowed: boolean;
  /** Who does not allow it, such as "agent reviewer". */
  refusedBy: string;
}

/** What holds for a question. */
export interface QueryPolicy {
  providers: ProviderPolicy[];
  /** Below which nodes files are searched, and who says so; undefined: all are. */
  target: { whose: string; nodeIds: string[] } | undefined;
  /** For which agent it holds; empty: for none. */
  agentId: string;
  templateId: string;
}

/** What one provider answered, before its hits are compared with those of others. */
export interface AnsweredProvider {
  status: ProviderStatus;
  /** In its own order: `rank` is the place in it, and `score` is 0. */
  hits: QueryHit[];
  /** Of a deep question: hits are those that it had not before. */
  isSecondPass: boolean;
}

/** What is told of a question while it is answered: one of the two. */
export interface QueryEvent {
  provider?: AnsweredProvider;
  /** The last one: all of it. */
  answer?: QueriedContext;
}

export function queryEventOf({ event }: pb.StreamQueryContextResponse): QueryEvent {
  switch (event.case) {
    case "provider": {
      const { status, hits, isSecondPass } = event.value;
      return { provider: { status: statusOf(status!), hits: hits.map(hitOf), isSecondPass } };
    }
    case "answer":
      return { answer: queriedOf(event.value) };
    default:
      return {};
  }
}

export function queriedOf(message: pb.QueryContextResponse): QueriedContext {
  const { answer } = message;
  return {
    hits: message.hits.map(hitOf),
    providers: message.providers.map(statusOf),
    answer: answer && { text: answer.text, hitRefs: answer.hitRefs, method: answer.method, reason: answer.reason },
    promptText: message.promptText,
    promptTokens: message.promptTokens,
    traceId: message.traceId,
    durationMs: message.durationMs,
    explained: message.explained.map(({ providerId, hits }) => ({ providerId, hits: hits.map(explainedOf) })),
    expanded: message.expanded.map(expandedOf),
  };
}

export function providerOf(message: pb.ContextProvider): ContextProvider {
  const { providerId, family, displayName, isDefault, isInstalled, deadlineMs, isEnabled, isAllowed } = message;
  const scopes = message.scopes.map(scopeText);
  const last = message.lastTest;
  return {
    ...{ providerId, family, displayName, scopes, isDefault, isInstalled, deadlineMs, isEnabled, isAllowed },
    lastTest: last && { state: enumText(pb.ProviderState, last.state), durationMs: last.durationMs, testedAt: timeText(last.testedAt) },
  };
}

export function policyOf({ providers, target, agentId, templateId }: pb.GetQueryPolicyResponse): QueryPolicy {
  return {
    ...{ agentId, templateId },
    providers: providers.map(({ providerId, family, isEnabled, isDefault, deadlineMs, setting, isAllowed, refusedBy }) => ({
      ...{ providerId, family, isEnabled, isDefault, deadlineMs, isAllowed, refusedBy },
      setting: settingOf(setting!),
    })),
    target: target && { whose: target.whose, nodeIds: target.nodeIds },
  };
}

export function settingOf({ providerId, enabled, isDefault, deadlineMs, workspace, memory }: pb.ProviderSetting): ProviderSetting {
  const memoryMode = memory && enumText(pb.MemoryQueryMode, memory.queryMode);
  return { providerId, enabled, isDefault, deadlineMs, nodeIds: workspace?.nodeIds, memoryMode };
}

function hitOf(message: pb.QueryHit): QueryHit {
  const { ref, rank, providerId, family, title, snippet, score, trust, untrusted } = message;
  return {
    ...{ ref, rank, providerId, family, title, snippet, score, trust, untrusted },
    scope: scopeText(message.scope),
    sources: message.sources.map(sourceOf),
    metadata: message.metadataJson ? parseJson(message.metadataJson) : {},
    asOf: timeText(message.asOf),
  };
}

function sourceOf(message: pb.HitSource): HitSource {
  const { ref, providerId, family, label, uri, sourceId } = message;
  return { ref, providerId, family, label, uri, sourceId, scope: scopeText(message.scope), asOf: timeText(message.asOf) };
}

function statusOf(message: pb.ProviderStatus): ProviderStatus {
  const { providerId, family, displayName, reason, durationMs, hitCount, target, mode } = message;
  return {
    ...{ providerId, family, displayName, reason, durationMs, hitCount, target, mode },
    state: enumText(pb.ProviderState, message.state),
    asOf: timeText(message.asOf),
  };
}

function explainedOf(message: pb.ExplainedHit): ExplainedHit {
  const { ref, place, ownScore, score, title, shownIn } = message;
  return { ref, place, ownScore, score, title, shownIn };
}

function expandedOf(message: pb.ExpandedRef): ExpandedRef {
  const { ref, isFound, text, isCut, reason, title, untrusted } = message;
  const scope = isFound ? scopeText(message.scope) : "";
  return { ref, isFound, text, isCut, reason, title, scope, asOf: timeText(message.asOf), untrusted };
}

function scopeText(scope: pb.QueryScope): string {
  return enumText(pb.QueryScope, scope);
}

/** A question that an operator asked, with what came back. */
export interface SourceTest {
  testId: string;
  createdAt: string;
  query: string;
  label: string;
  /** On whose behalf it ran; empty: nobody's. */
  ownerUserId: string;
  createdBy: string;
  replayOf: string;
  /** Where the mode that ran is not the one asked for. */
  warnings: string[];
  hitCount: number;
  durationMs: number;
  /** Undefined in lists. */
  answer: QueriedContext | undefined;
}

/** What two tests differ in; a rank of 0, or "unspecified": it is not there. */
export interface ComparedTests {
  hits: { ref: string; title: string; rank: number; otherRank: number }[];
  providers: {
    providerId: string;
    state: string;
    otherState: string;
    durationMs: number;
    otherDurationMs: number;
    hitCount: number;
    otherHitCount: number;
  }[];
}

export function testOf(message: pb.SourceTest): SourceTest {
  const { testId, label, ownerUserId, createdBy, replayOf, warnings, hitCount, durationMs, answer } = message;
  return {
    ...{ testId, label, ownerUserId, createdBy, replayOf, warnings, hitCount, durationMs },
    createdAt: timeText(message.createdAt),
    query: message.question?.query ?? "",
    answer: answer && queriedOf(answer),
  };
}

export function comparedOf(message: pb.CompareSourceTestsResponse): ComparedTests {
  return {
    hits: message.hits.map(({ ref, title, rank, otherRank }) => ({ ref, title, rank, otherRank })),
    providers: message.providers.map(
      ({ providerId, state, otherState, durationMs, otherDurationMs, hitCount, otherHitCount }) => ({
        ...{ providerId, durationMs, otherDurationMs, hitCount, otherHitCount },
        state: enumText(pb.ProviderState, state),
        otherState: enumText(pb.ProviderState, otherState),
      }),
    ),
  };
}
