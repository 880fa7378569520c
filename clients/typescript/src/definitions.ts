/** Definitions of pages, and the pages that are compiled by them. */

import { type JsonValue, fromJson, toJson as messageToJson } from "@bufbuild/protobuf";

import * as pb from "./gen/contextkeep/context/v1/definitions_pb.js";
import { InvalidArgument } from "./gen/errors.js";
import { choice, enumText } from "./messages.js";
import { timeText } from "./times.js";

/** What a facet is, and so how far it is trusted. */
export type FacetKind = "operational" | "relationship" | "compiled" | "activity" | "kb" | "external";

export const FACET_KINDS: Readonly<Record<FacetKind, pb.FacetKind>> = {
  operational: pb.FacetKind.OPERATIONAL,
  relationship: pb.FacetKind.RELATIONSHIP,
  compiled: pb.FacetKind.COMPILED,
  activity: pb.FacetKind.ACTIVITY,
  kb: pb.FacetKind.KB,
  external: pb.FacetKind.EXTERNAL,
};

/** Which nodes a facet reads. */
export interface FacetWalk {
  edgeTypes?: string[];
  direction?: "out" | "in" | "both";
  depthMax?: number;
  entityTypes?: string[];
  includeStart?: boolean;
  includeArchived?: boolean;
}

/** A part of a page, as its author writes it: `when` and what stands behind it is CEL. */
export interface FacetRules {
  slug: string;
  heading: string;
  kind: FacetKind;
  /** Else the page's own node. */
  walk?: FacetWalk;
  declassify?: boolean;
  when?: string;
  text: string;
  confidence?: string;
  asOf?: string;
  timeToLive?: string;
}

/** What a definition says of the nodes of a type; docs/knowledge.md has it by example. */
export interface DefinitionRules {
  nodeType: string;
  /** Else "default". */
  graphName?: string;
  appId?: string;
  when?: string;
  title: string;
  aliases?: string;
  facets: FacetRules[];
}

/** A version of a definition. */
export interface Definition {
  name: string;
  version: number;
  /** "draft", "approved" or "retired". */
  state: string;
  rules: DefinitionRules;
  createdBy: string;
  createdAt: string;
  approvedBy: string;
  approvedAt: string;
  retiredAt: string;
}

/** What a facet is from: a node and the edge by which it was reached, or something else that has a name. */
export interface FacetSource {
  nodeId: string;
  nodeVersion: number;
  edgeId: string;
  edgeVersion: number;
  label: string;
  uri: string;
}

/** A part of a page. */
export interface Facet {
  slug: string;
  heading: string;
  kind: string;
  /** 5 the most. */
  trust: number;
  text: string;
  isCut: boolean;
  confidence: number;
  asOf: string;
  /** Empty: until its nodes change. */
  freshUntil: string;
  /** Why it is out of date. */
  stale: string[];
  sources: FacetSource[];
  /** Of all that was read. */
  agentBundleIds: string[];
  isDeclassified: boolean;
  definitionVersion: number;
  /** Empty: somebody put it. */
  compileId: string;
  putBy: string;
  writtenAt: string;
}

/** A page that was compiled of a node. What it says is material, and never an instruction. */
export interface CompiledPage {
  /** Empty: it is kept nowhere. */
  pageId: string;
  definitionName: string;
  definitionVersion: number;
  nodeId: string;
  nodeType: string;
  title: string;
  aliases: string[];
  /** None in lists. */
  facets: Facet[];
  /** Why it is out of date. */
  stale: string[];
  graphName: string;
  agentBundleId: string;
  appId: string;
  compileId: string;
  compiledAt: string;
  createdAt: string;
}

/** A rule that failed on a node, or a walk that came too far. */
export interface RuleProblem {
  rule: string;
  nodeId: string;
  error: string;
}

/** What rules make of a node. */
export interface TriedDefinition {
  /** Absent: the node would have none. */
  page?: CompiledPage;
  problems: RuleProblem[];
  problemsLeftOut: number;
}

/** How far a compile is; what it counts is stored. */
export interface CompileProgress {
  compileId: string;
  nodesRead: number;
  changesRead: number;
  pagesWritten: number;
  pagesUnchanged: number;
  pagesRemoved: number;
  pagesFailed: number;
  /** That is compiled now; empty: what changed. */
  definitionName: string;
  /** Since the last one. */
  problems: RuleProblem[];
  isDone: boolean;
}

/**
 * Return the message of a definition's rules.
 *
 * @throws InvalidArgument It has no such field, or a value of another type.
 */
export function definitionRules(rules: DefinitionRules): pb.DefinitionRules {
  const facets = (rules.facets ?? []).map((facet, place) => ({
    ...facet,
    kind: choice(`rules.facets[${place}].kind`, facet.kind, FACET_KINDS),
  }));
  try {
    return fromJson(pb.DefinitionRulesSchema, { ...rules, facets } as unknown as JsonValue);
  } catch (error) {
    throw new InvalidArgument(`rules cannot be read: ${(error as Error).message}`, { field: "rules", cause: error });
  }
}

export function definitionOf(message: pb.Definition): Definition {
  const { name, version, createdBy, approvedBy } = message;
  const rules = messageToJson(pb.DefinitionRulesSchema, message.rules!) as unknown as DefinitionRules;
  const kinds = message.rules!.facets.map((facet) => enumText(pb.FacetKind, facet.kind) as FacetKind);
  return {
    ...{ name, version, createdBy, approvedBy },
    rules: { ...rules, facets: (rules.facets ?? []).map((facet, place) => ({ ...facet, kind: kinds[place]! })) },
    state: enumText(pb.DefinitionState, message.state),
    createdAt: timeText(message.createdAt),
    approvedAt: timeText(message.approvedAt),
    retiredAt: timeText(message.retiredAt),
  };
}

export function facetOf(message: pb.Facet): Facet {
  const { slug, heading, trust, text, isCut, confidence, stale, agentBundleIds, isDeclassified } = message;
  const { definitionVersion, compileId, putBy } = message;
  return {
    ...{ slug, heading, trust, text, isCut, confidence, stale, agentBundleIds, isDeclassified },
    ...{ definitionVersion, compileId, putBy },
    kind: enumText(pb.FacetKind, message.kind),
    sources: message.sources.map(({ nodeId, nodeVersion, edgeId, edgeVersion, label, uri }) => ({
      ...{ nodeId, edgeId, label, uri },
      nodeVersion: Number(nodeVersion),
      edgeVersion: Number(edgeVersion),
    })),
    asOf: timeText(message.asOf),
    freshUntil: timeText(message.freshUntil),
    writtenAt: timeText(message.writtenAt),
  };
}

export function compiledPageOf(message: pb.CompiledPage): CompiledPage {
  const { pageId, definitionName, definitionVersion, nodeId, nodeType, title, aliases, stale } = message;
  const { graphName, agentBundleId, appId, compileId } = message;
  return {
    ...{ pageId, definitionName, definitionVersion, nodeId, nodeType, title, aliases, stale },
    ...{ graphName, agentBundleId, appId, compileId },
    facets: message.facets.map(facetOf),
    compiledAt: timeText(message.compiledAt),
    createdAt: timeText(message.createdAt),
  };
}

function problemOf({ rule, nodeId, error }: pb.RuleProblem): RuleProblem {
  return { rule, nodeId, error };
}

export function triedOf(message: pb.TestDefinitionResponse): TriedDefinition {
  return {
    page: message.page && compiledPageOf(message.page),
    problems: message.problems.map(problemOf),
    problemsLeftOut: message.problemsLeftOut,
  };
}

export function compileProgressOf(message: pb.CompilePagesResponse): CompileProgress {
  const { compileId, definitionName, isDone } = message;
  return {
    ...{ compileId, definitionName, isDone },
    nodesRead: Number(message.nodesRead),
    changesRead: Number(message.changesRead),
    pagesWritten: Number(message.pagesWritten),
    pagesUnchanged: Number(message.pagesUnchanged),
    pagesRemoved: Number(message.pagesRemoved),
    pagesFailed: Number(message.pagesFailed),
    problems: message.problems.map(problemOf),
  };
}
