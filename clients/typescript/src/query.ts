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

/** What every source says to a question, the best first, and how each of them fared. */
export interface QueriedContext {
  hits: QueryHit[];
  providers: ProviderStatus[];
  /** Of mode "answer": numbered quotations; undefined without hits. */
  answer: { text: string; hitRefs: string[]; method: string } | undefined;
  promptText: string;
  promptTokens: number;
  traceId: string;
  durationMs: number;
  /** What each provider gave, if it was asked for. */
  explained: { providerId: string; hits: ExplainedHit[] }[];
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
}

export function queriedOf(message: pb.QueryContextResponse): QueriedContext {
  const { answer } = message;
  return {
    hits: message.hits.map(hitOf),
    providers: message.providers.map(statusOf),
    answer: answer && { text: answer.text, hitRefs: answer.hitRefs, method: answer.method },
    promptText: message.promptText,
    promptTokens: message.promptTokens,
    traceId: message.traceId,
    durationMs: message.durationMs,
    explained: message.explained.map(({ providerId, hits }) => ({ providerId, hits: hits.map(explainedOf) })),
  };
}

export function providerOf(message: pb.ContextProvider): ContextProvider {
  const { providerId, family, displayName, isDefault, isInstalled, deadlineMs } = message;
  return { providerId, family, displayName, scopes: message.scopes.map(scopeText), isDefault, isInstalled, deadlineMs };
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

function scopeText(scope: pb.QueryScope): string {
  return enumText(pb.QueryScope, scope);
}
