// Made from contextkeep/context/v1/compiled_pages.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/compiled_pages_pb.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";

/** A page compiled from a node. */
export interface CompiledPage {
  /** Empty: the page is not stored. */
  pageId: string;
  definitionName: string;
  definitionVersion: number;
  /** The page's own node. */
  nodeId: string;
  /** The specific type name of the node. */
  nodeType: string;
  title: string;
  aliases: string[];
  /**
   * The facets that the caller may see; empty in lists. First those of the definition in its order, then the added ones
   * by slug.
   */
  facets: Facet[];
  /** Why the page is out of date. Empty: the service knows of no reason. */
  stale: string[];
  /** The graph of its node. Keys that are bound to other graphs do not see the page. */
  graphName: string;
  /** The agent bundle of its node. Keys that are bound to another bundle do not see the page. */
  agentBundleId: string;
  /** The app of its definition. Keys that are bound to other apps do not see the page. */
  appId: string;
  /** The compile that last read the node. */
  compileId: string;
  /** When that compile read the node. */
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
  /** The lines, that of the oldest node first. */
  text: string;
  /** The text is longer than 64 KiB; the rest is left out. */
  isCut: boolean;
  confidence: number;
  asOf: string;
  /** When the facet becomes out of date. Absent: when its nodes change. */
  freshUntil: string;
  /** Why the facet is out of date. Empty: the service knows of no reason. */
  stale: string[];
  /** The nodes that have a line in it. For an added facet: the source that its writer named. */
  sources: FacetSource[];
  /**
   * The agent bundles of all nodes that were read for it; all these nodes are in the page's graph. A key that is bound
   * to a bundle sees the facet only if all of them are this bundle, unless the facet is declassified.
   */
  agentBundleIds: string[];
  /** Every caller that may see the page's own node sees the facet. */
  isDeclassified: boolean;
  /** The version of the definition that compiled it. 0: it was added by compiledPages.putFacet. */
  definitionVersion: number;
  /** The compile that wrote it. Empty: it was added by compiledPages.putFacet. */
  compileId: string;
  /** The subject of the credential that added it. Empty: it was compiled. */
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

/** The source of a facet: a node and the edge by which the walk reached it, or a named source of an added facet. */
export interface FacetSource {
  nodeId: string;
  nodeVersion: number;
  /** Empty: the node is the page's own. */
  edgeId: string;
  edgeVersion: number;
  /** Only for an added facet; up to 500 characters. */
  label: string;
  /** Only for an added facet; up to 2,000 characters. */
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

/** An expression that failed on a node, or a walk that exceeded a limit. */
export interface RuleProblem {
  /** The path of the rule, such as "definition.facets[0].text". */
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

/** The progress of a compile. Everything that it counts is stored. */
export interface CompileProgress {
  compileId: string;
  /** Nodes read so far. */
  nodesRead: number;
  /** Changes of the graph read so far. */
  changesRead: number;
  /** New and changed pages so far. */
  pagesWritten: number;
  /** Unchanged pages so far. */
  pagesUnchanged: number;
  /** Deleted pages so far. */
  pagesRemoved: number;
  /** Pages on which a rule failed, so far. */
  pagesFailed: number;
  /** The definition that is compiled now. Empty: the changes are compiled. */
  definitionName: string;
  /** Problems since the message before: the first 20 of each batch of nodes. */
  problems: RuleProblem[];
  /** This is the last message. */
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
