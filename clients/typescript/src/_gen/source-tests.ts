// Made from contextkeep/context/v1/source_tests.proto by `make proto`.

import * as contextQueryPb from "../gen/contextkeep/context/v1/context_query_pb.js";
import type * as pb from "../gen/contextkeep/context/v1/source_tests_pb.js";
import { enumText } from "../messages.js";
import { testQueryOf } from "../query.js";
import { timeText } from "../times.js";
import { type QueriedContext, queriedContextOf } from "./context-query.js";
import { type Imported, importedOf } from "./message.js";

/** A question that an operator asked, with its answer. */
export interface SourceTest {
  testId: string;
  createdAt: string;
  createdBy: string;
  /** The user for whom it was asked. Empty if it was asked for no user. */
  ownerUserId: string;
  label: string;
  replayOf: string;
  query: string;
  /** Warnings: a mode that differs from the requested one, and parts that are cut. */
  warnings: string[];
  hitCount: number;
  durationMs: number;
  /** The whole answer, up to 1 MiB. Unset in lists. */
  answer?: QueriedContext;
  /** Unset if no import wrote it. */
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

/**
 * The differences of two tests. A rank of 0 or an unspecified state means that only the other test has the hit or
 * provider.
 */
export interface ComparedTests {
  /** The hits of both tests: first those of the first test in its order, then those that only the other test has. */
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

/** A hit of one or both tests. */
export interface ComparedHit {
  ref: string;
  title: string;
  /** Rank in the first test and in the other one. 0 means that the test does not have the hit. */
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
  /** Unspecified means that the provider was not asked. */
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
    state: enumText(contextQueryPb.ProviderState, message.state),
    otherState: enumText(contextQueryPb.ProviderState, message.otherState),
    durationMs: message.durationMs,
    otherDurationMs: message.otherDurationMs,
    hitCount: message.hitCount,
    otherHitCount: message.otherHitCount,
  };
}
