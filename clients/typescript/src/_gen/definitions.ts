// Made from contextkeep/context/v1/definitions.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/definitions_pb.js";
import { type DefinitionRules, rulesOf } from "../definitions.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

/** A version of a definition. */
export interface Definition {
  name: string;
  /** From 1. */
  version: number;
  state: "draft" | "approved" | "retired" | "unknown";
  rules: DefinitionRules;
  createdBy: string;
  createdAt: string;
  /** Who approved it last; empty: nobody did. */
  approvedBy: string;
  approvedAt: string;
  /** Absent unless it is retired. */
  retiredAt: string;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

export function definitionOf(message: pb.Definition): Definition {
  const value: Definition = {
    name: message.name,
    version: message.version,
    state: enumText(pb.DefinitionState, message.state),
    rules: rulesOf(message.rules ?? create(pb.DefinitionRulesSchema)),
    createdBy: message.createdBy,
    createdAt: timeText(message.createdAt),
    approvedBy: message.approvedBy,
    approvedAt: timeText(message.approvedAt),
    retiredAt: timeText(message.retiredAt),
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/** A page that was compiled of a node. */
export interface CompiledPage {
  /** Empty: the page is not stored. */
  pageId: string;
  definitionName: string;
  definitionVersion: number;
  /** Its own node, and that node's specific type. */
  nodeId: string;
  nodeType: string;
  title: string;
  aliases: string[];
  /** Those that the caller may see; none in lists. First those of the definition in its order, then those that were put, by slug. */
  facets: Facet[];
  /** Why the page is out of date; empty: it is not, as far as is known. */
  stale: string[];
  /** The walls of the page: those of its node, and the app of its definition. */
  graphName: string;
  agentBundleId: string;
  appId: string;
  /** Of the compile that read its node last, and when it did. */
  compileId: string;
  compiledAt: string;
  createdAt: string;
}

export function compiledPageOf(message: pb.CompiledPage): CompiledPage {
  return {
    pageId: message.pageId,
    definitionName: message.definitionName,
    definitionVersion: message.definitionVersion,
    nodeId: message.nodeId,
    nodeType: message.nodeType,
    title: message.title,
    aliases: message.aliases,
    facets: message.facets.map(facetOf),
    stale: message.stale,
    graphName: message.graphName,
    agentBundleId: message.agentBundleId,
    appId: message.appId,
    compileId: message.compileId,
    compiledAt: timeText(message.compiledAt),
    createdAt: timeText(message.createdAt),
  };
}

/** A part of a page. */
export interface Facet {
  slug: string;
  heading: string;
  kind: "operational" | "relationship" | "compiled" | "activity" | "kb" | "external" | "unknown";
  /** From 1 to 5, the most trusted. */
  trust: number;
  /** Lines, the oldest node's first. */
  text: string;
  /** There is more of it than 64 KiB, which is left out. */
  isCut: boolean;
  confidence: number;
  asOf: string;
  /** Absent: it is good until its nodes change. */
  freshUntil: string;
  /** As of CompiledPage. */
  stale: string[];
  /** What it says is from: the nodes that have a line in it; or what was said of one that was put. */
  sources: FacetSource[];
  /**
   * The agent bundles of all nodes that were read for it, all of which are in the page's graph. A key that is bound to one sees it if all of
   * them are that one, unless it is declassified.
   */
  agentBundleIds: string[];
  isDeclassified: boolean;
  /** Of what was compiled. */
  definitionVersion: number;
  /** Of the compile that wrote it; empty: it was put. */
  compileId: string;
  /** Who put it; empty: it was compiled. */
  putBy: string;
  writtenAt: string;
}

export function facetOf(message: pb.Facet): Facet {
  return {
    slug: message.slug,
    heading: message.heading,
    kind: enumText(pb.FacetKind, message.kind),
    trust: message.trust,
    text: message.text,
    isCut: message.isCut,
    confidence: message.confidence,
    asOf: timeText(message.asOf),
    freshUntil: timeText(message.freshUntil),
    stale: message.stale,
    sources: message.sources.map(facetSourceOf),
    agentBundleIds: message.agentBundleIds,
    isDeclassified: message.isDeclassified,
    definitionVersion: message.definitionVersion,
    compileId: message.compileId,
    putBy: message.putBy,
    writtenAt: timeText(message.writtenAt),
  };
}

/** What a facet is from: a node and the edge by which the walk came to it, or something else that has a name. */
export interface FacetSource {
  nodeId: string;
  nodeVersion: number;
  /** Empty: the node is the page's own. */
  edgeId: string;
  edgeVersion: number;
  /** Of a facet that was put: up to 500 and 2,000 characters. */
  label: string;
  uri: string;
}

export function facetSourceOf(message: pb.FacetSource): FacetSource {
  return {
    nodeId: message.nodeId,
    nodeVersion: Number(message.nodeVersion),
    edgeId: message.edgeId,
    edgeVersion: Number(message.edgeVersion),
    label: message.label,
    uri: message.uri,
  };
}

/** A rule that failed on a node, or a walk that came too far. */
export interface RuleProblem {
  /** "definition.facets[0].text". */
  rule: string;
  nodeId: string;
  error: string;
}

export function ruleProblemOf(message: pb.RuleProblem): RuleProblem {
  return {
    rule: message.rule,
    nodeId: message.nodeId,
    error: message.error,
  };
}

/** What rules make of a node. */
export interface TriedDefinition {
  /** Absent: the node would have none, because of its type, its graph, `when`, its title, or because it is archived. */
  page?: CompiledPage;
  /** The first 20, and how many more there are. */
  problems: RuleProblem[];
  problemsLeftOut: number;
}

export function triedDefinitionOf(message: pb.TestDefinitionResponse): TriedDefinition {
  const value: TriedDefinition = {
    problems: message.problems.map(ruleProblemOf),
    problemsLeftOut: message.problemsLeftOut,
  };
  if (message.page !== undefined) value.page = compiledPageOf(message.page);
  return value;
}

/** How far a compile is. What it counts is stored. */
export interface CompileProgress {
  compileId: string;
  /** Nodes that were read, and changes of the graph that were listed, so far. */
  nodesRead: number;
  changesRead: number;
  /** Pages that are new or another by now, that are as they were, that went, and on which a rule failed, so far. */
  pagesWritten: number;
  pagesUnchanged: number;
  pagesRemoved: number;
  pagesFailed: number;
  /** What is compiled now; empty: what changed. */
  definitionName: string;
  /** Since the message before: the first 20 of each batch of nodes. */
  problems: RuleProblem[];
  /** The last message. */
  isDone: boolean;
}

export function compileProgressOf(message: pb.CompilePagesResponse): CompileProgress {
  return {
    compileId: message.compileId,
    nodesRead: Number(message.nodesRead),
    changesRead: Number(message.changesRead),
    pagesWritten: Number(message.pagesWritten),
    pagesUnchanged: Number(message.pagesUnchanged),
    pagesRemoved: Number(message.pagesRemoved),
    pagesFailed: Number(message.pagesFailed),
    definitionName: message.definitionName,
    problems: message.problems.map(ruleProblemOf),
    isDone: message.isDone,
  };
}
