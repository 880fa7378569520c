// Made from contextkeep/entity/v1/entity_graph.proto by `make proto`.

import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { type JsonObject, parseJson, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { envelopeStatusOf } from "../progress.js";
import { timeText } from "../times.js";
import { create } from "@bufbuild/protobuf";

/** A node of the graph. */
export interface Node {
  id: string;
  /** The caller's own id, unique within tenant and graph. */
  externalId: string;
  /** The graph that the node belongs to. Edges never leave it. */
  graphName: string;
  agentBundleId: string;
  generalTypeName: string;
  specificTypeName: string;
  name: string;
  /** "Created", "Running", "Completed", "Failed", "Cancelled", or a status of the app. */
  status: string;
  /**
   * A JSON object, equal to the written one but not the same text: members are in Postgres's order, the last of
   * repeated members counts, and numbers are written without exponent, with all their digits.
   */
  data: JsonObject;
  isArchived: boolean;
  /** The order in which the server wrote. */
  seq: number;
  createdAt: string;
  /** When the node last changed. Before the first change: `createdAt`. */
  modifiedAt: string;
  /** Counts the changes, from 1. */
  version: number;
  /** The subject of the key or token that wrote the node. */
  createdBy: string;
  /** The user who owns the node. Empty: none. */
  ownerUserId: string;
  /** The agent of the credential that wrote the node. Empty: none. */
  agentId: string;
  /** The isolated context that the node belongs to. Empty: none. */
  contextId: string;
}

export function nodeOf(message: pb.Node): Node {
  return {
    id: message.id,
    externalId: message.externalId,
    graphName: message.graphName,
    agentBundleId: message.agentBundleId,
    generalTypeName: message.generalTypeName,
    specificTypeName: message.specificTypeName,
    name: message.name,
    status: message.status,
    data: parseObject(message.dataJson),
    isArchived: message.isArchived,
    seq: Number(message.seq),
    createdAt: timeText(message.createdAt),
    modifiedAt: timeText(message.modifiedAt),
    version: Number(message.version),
    createdBy: message.createdBy,
    ownerUserId: message.ownerUserId,
    agentId: message.agentId,
    contextId: message.contextId,
  };
}

/** A directed edge between two nodes. */
export interface Edge {
  id: string;
  graphName: string;
  fromNodeId: string;
  toNodeId: string;
  /** "Contains", "Calls", "InResponseTo", or any other name. */
  edgeType: string;
  data: JsonObject;
  createdAt: string;
  /** Counts the changes, from 1. */
  version: number;
  contextId: string;
}

export function edgeOf(message: pb.Edge): Edge {
  return {
    id: message.id,
    graphName: message.graphName,
    fromNodeId: message.fromNodeId,
    toNodeId: message.toNodeId,
    edgeType: message.edgeType,
    data: parseObject(message.dataJson),
    createdAt: timeText(message.createdAt),
    version: Number(message.version),
    contextId: message.contextId,
  };
}

export interface WrittenGraph {
  /** In the order of the request. */
  nodes: WrittenRow[];
  edges: WrittenRow[];
}

export function writtenGraphOf(message: pb.WriteGraphResponse): WrittenGraph {
  return {
    nodes: message.nodes.map(writtenRowOf),
    edges: message.edges.map(writtenRowOf),
  };
}

/** The result for one row of graph.write. */
export interface WrittenRow {
  id: string;
  createdAt: string;
  /** Only for a node; 0 for an edge. */
  seq: number;
  /** The row existed before; `id` is its id. */
  existed: boolean;
}

export function writtenRowOf(message: pb.WrittenRow): WrittenRow {
  return {
    id: message.id,
    createdAt: timeText(message.createdAt),
    seq: Number(message.seq),
    existed: message.existed,
  };
}

export interface FoundNodes {
  nodes: Node[];
  missingIds: string[];
}

export function foundNodesOf(message: pb.BatchGetNodesResponse): FoundNodes {
  return {
    nodes: message.nodes.map(nodeOf),
    missingIds: message.missingIds,
  };
}

export interface NamedNode {
  node: Node;
  /** Number of nodes with that name that are not archived, this one included. */
  matches: number;
}

export function namedNodeOf(message: pb.GetNodeByNameResponse): NamedNode {
  return {
    node: nodeOf(message.node ?? create(pb.NodeSchema)),
    matches: Number(message.matches),
  };
}

/** The data of a user, or the part of it that an erasure has deleted. */
export interface OwnedNodes {
  /** Number of nodes. */
  nodes: number;
  /** Number of edges of these nodes, in both directions. */
  edges: number;
  /** Number of stored answers of repeated calls. */
  answers: number;
  /** Number of rows of others in which a pseudonym replaces the user's name. */
  names: number;
  /** Only for an erasure: when it finished. Empty while it runs. */
  finishedAt: string;
}

export function ownedNodesOf(message: pb.Owned): OwnedNodes {
  return {
    nodes: Number(message.nodes),
    edges: Number(message.edges),
    answers: Number(message.answers),
    names: Number(message.names),
    finishedAt: timeText(message.finishedAt),
  };
}

/** The input and the output of a node. */
export interface StoredIO {
  /** The input: as `Node.data_json`, equal to the written value but not the same text. Empty: it was never set. */
  input: unknown;
  /** The output, in the same form. Empty: it was never set, or the node was reset. */
  output: unknown;
  /** The time of the last SetNodeIO, or of the graph.resetNode that deleted the output. Absent: there was none. */
  modifiedAt: string;
}

export function storedIOOf(message: pb.GetNodeIOResponse): StoredIO {
  return {
    input: message.inputJson ? parseJson(message.inputJson) : undefined,
    output: message.outputJson ? parseJson(message.outputJson) : undefined,
    modifiedAt: timeText(message.modifiedAt),
  };
}

/** One entry of a timeline. It never changes. */
export interface Envelope {
  /** The node of the envelope. In the list of a calling node, this is the node that it called. */
  nodeId: string;
  /** The order in which the server wrote; unique. */
  seq: number;
  type: "status" | "message" | "error" | "bot_progress" | "value" | "waiting" | "unknown";
  status: string;
  /** "return" marks the result; the app defines all others. */
  subType: string;
  message: string;
  /**
   * Any JSON, in the form of `Node.data_json`. Empty: none. A STATUS envelope of graph.updateNodeStatus has {"from": the old
   * status, "to": the new status}.
   */
  value: unknown;
  error: unknown;
  createdAt: string;
  /** The subject of the key or token that wrote it. */
  createdBy: string;
}

export function envelopeOf(message: pb.Envelope): Envelope {
  return {
    nodeId: message.nodeId,
    seq: Number(message.seq),
    type: enumText(pb.EnvelopeType, message.type),
    status: envelopeStatusOf(message),
    subType: message.subType,
    message: message.message,
    value: message.valueJson ? parseJson(message.valueJson) : undefined,
    error: message.errorJson ? parseJson(message.errorJson) : undefined,
    createdAt: timeText(message.createdAt),
    createdBy: message.createdBy,
  };
}

export interface AppendedEnvelope {
  seq: number;
  createdAt: string;
}

export function appendedEnvelopeOf(message: pb.AppendProgressResponse): AppendedEnvelope {
  return {
    seq: Number(message.seq),
    createdAt: timeText(message.createdAt),
  };
}

/** A vector of a node. */
export interface Embedding {
  nodeId: string;
  name: string;
  dimension: number;
  /** The model that made the vector. */
  model: string;
  /**
   * SHA-256 of the text that the vector was made from, in hexadecimal. It shows whether the vector is out of date.
   * Empty: unknown.
   */
  textSha256: string;
  /** A JSON object, in the form of `Node.data_json`. */
  metadata: JsonObject;
  /** When the vector was written. A vector that replaces another one has a new time. */
  createdAt: string;
  /** The stored values, rounded to half precision. Empty unless the request asks for them. */
  vector: number[];
}

export function embeddingOf(message: pb.Embedding): Embedding {
  return {
    nodeId: message.nodeId,
    name: message.name,
    dimension: message.dimension,
    model: message.model,
    textSha256: message.textSha256,
    metadata: parseObject(message.metadataJson),
    createdAt: timeText(message.createdAt),
    vector: message.vector,
  };
}

/** A node and its similarity. */
export interface SimilarNode {
  node: Node;
  /** The cosine: 1 for the same direction, 0 for orthogonal vectors, -1 for the opposite direction. */
  similarity: number;
}

export function similarNodeOf(message: pb.SimilarNode): SimilarNode {
  return {
    node: nodeOf(message.node ?? create(pb.NodeSchema)),
    similarity: message.similarity,
  };
}

/** The types of nodes of a graph, with their fields. */
export interface FacetList {
  /** The types with the most nodes come first. */
  types: TypeFacets[];
  /** There are more than 50 types; the others are left out. */
  isCut: boolean;
}

export function facetListOf(message: pb.ListFacetsResponse): FacetList {
  return {
    types: message.types.map(typeFacetsOf),
    isCut: message.isCut,
  };
}

/** The fields and edges of the nodes of one type. */
export interface TypeFacets {
  typeName: string;
  /** The nodes of the type. */
  nodeCount: number;
  /** The nodes that were read for `fields`. Edges are those of 20 of them. */
  sampledCount: number;
  /** The fields that most of these nodes have come first; at most 100 of them. */
  fields: NodeField[];
  /** The edges, as graph.queryFacets takes them: "out:Placed" leads from such a node, "in:Placed" leads to it. */
  edges: string[];
}

export function typeFacetsOf(message: pb.TypeFacets): TypeFacets {
  return {
    typeName: message.typeName,
    nodeCount: Number(message.nodeCount),
    sampledCount: Number(message.sampledCount),
    fields: message.fields.map(nodeFieldOf),
    edges: message.edges,
  };
}

/** A field that nodes have in their data. */
export interface NodeField {
  /** The path, as conditions and graph.queryFacets take it: "data.amount". */
  field: string;
  /** The kinds of its values: number, text, date (a text that begins like 2027-01-31), boolean, list, null. */
  kinds: string[];
  /** The nodes that have the field, of those that were read. */
  nodeCount: number;
  /** Up to three of its values, cut to 60 characters. */
  examples: string[];
}

export function nodeFieldOf(message: pb.NodeField): NodeField {
  return {
    field: message.field,
    kinds: message.kinds,
    nodeCount: Number(message.nodeCount),
    examples: message.examples,
  };
}

/** The answer to a structured question: nodes or groups. */
export interface FacetAnswer {
  /** The first nodes, if neither `groupBy` nor `measures` was given. */
  nodes: Node[];
  groups: FacetGroup[];
  /** The nodes that match. */
  nodeCount: number;
  groupCount: number;
  /** The nodes that are in no group: they have no such edge, or no text, number or boolean at the field. */
  ungroupedCount: number;
}

export function facetAnswerOf(message: pb.QueryFacetsResponse): FacetAnswer {
  return {
    nodes: message.nodes.map(nodeOf),
    groups: message.groups.map(facetGroupOf),
    nodeCount: Number(message.nodeCount),
    groupCount: Number(message.groupCount),
    ungroupedCount: Number(message.ungroupedCount),
  };
}

/** The nodes with one value of a field, or with an edge of one node. */
export interface FacetGroup {
  /** The value, as JSON. Texts are cut to 256 characters. Empty: the group of all nodes, or a node. */
  value: unknown;
  /** The node at the other end of the edge. Empty if nodes are grouped by a field. */
  nodeId: string;
  nodeName: string;
  nodeCount: number;
  /** In the order of the measures. */
  values: FacetValue[];
}

export function facetGroupOf(message: pb.FacetGroup): FacetGroup {
  return {
    value: message.valueJson ? parseJson(message.valueJson) : undefined,
    nodeId: message.nodeId,
    nodeName: message.nodeName,
    nodeCount: Number(message.nodeCount),
    values: message.values.map(facetValueOf),
  };
}

/** A measure of a group. */
export interface FacetValue {
  measure: string;
  /** The result, as JSON. Empty: no node has a value that the measure can use. */
  value: unknown;
  /** The nodes whose values were used. */
  counted: number;
  /**
   * The nodes that have a value which the measure cannot use, such as a text for `sum`. If it is not 0, the result does
   * not cover the whole group.
   */
  skipped: number;
  /** The node that has the minimum or maximum; of several nodes, the first by id. */
  nodeId: string;
  nodeName: string;
}

export function facetValueOf(message: pb.FacetValue): FacetValue {
  return {
    measure: message.measure,
    value: message.valueJson ? parseJson(message.valueJson) : undefined,
    counted: Number(message.counted),
    skipped: Number(message.skipped),
    nodeId: message.nodeId,
    nodeName: message.nodeName,
  };
}

/** The size of a graph. */
export interface GraphCount {
  graphName: string;
  nodes: number;
  edges: number;
}

export function graphCountOf(message: pb.GraphCount): GraphCount {
  return {
    graphName: message.graphName,
    nodes: Number(message.nodes),
    edges: Number(message.edges),
  };
}

/** Number of edges of one type. */
export interface EdgeTypeCount {
  edgeType: string;
  edges: number;
}

export function edgeTypeCountOf(message: pb.EdgeTypeCount): EdgeTypeCount {
  return {
    edgeType: message.edgeType,
    edges: Number(message.edges),
  };
}

/** The results for rows of one kind. */
export interface RowCount {
  written: number;
  /** Rows that existed before and are unchanged. */
  existed: number;
}

export function rowCountOf(message: pb.RowCount): RowCount {
  return {
    written: Number(message.written),
    existed: Number(message.existed),
  };
}

/** Lines with rows of one kind. */
export interface ExportPage {
  lines: Uint8Array;
  resumeToken: string;
  /** Number of nodes in this message; the next three count the other kinds. */
  nodes: number;
  edges: number;
  embeddings: number;
  envelopes: number;
}

export function exportPageOf(message: pb.ExportGraphResponse): ExportPage {
  return {
    lines: message.lines,
    resumeToken: message.resumeToken,
    nodes: message.nodes,
    edges: message.edges,
    embeddings: message.embeddings,
    envelopes: message.envelopes,
  };
}

export interface FoundEdges {
  edges: Edge[];
  missingIds: string[];
}

export function foundEdgesOf(message: pb.BatchGetEdgesResponse): FoundEdges {
  return {
    edges: message.edges.map(edgeOf),
    missingIds: message.missingIds,
  };
}

/** A node and how the walk reached it. */
export interface TraversedNode {
  node: Node;
  /** 0 for a start node. */
  depth: number;
  /**
   * The edge that reached the node at that depth. If there are several, the one with the least `createdAt`, then `id`.
   * Absent for a start node.
   */
  reachedBy?: ReachedBy;
  /** With `includeIo`. Absent if neither side was ever set. */
  io?: NodeIO;
}

export function traversedNodeOf(message: pb.TraversedNode): TraversedNode {
  const value: TraversedNode = {
    node: nodeOf(message.node ?? create(pb.NodeSchema)),
    depth: message.depth,
  };
  if (message.reachedBy !== undefined) value.reachedBy = reachedByOf(message.reachedBy);
  if (message.io !== undefined) value.io = nodeIOOf(message.io);
  return value;
}

/** The input and the output of a node, as GetNodeIO answers them. */
export interface NodeIO {
  /** Empty: it was never set. */
  input: unknown;
  output: unknown;
}

export function nodeIOOf(message: pb.NodeIO): NodeIO {
  return {
    input: message.inputJson ? parseJson(message.inputJson) : undefined,
    output: message.outputJson ? parseJson(message.outputJson) : undefined,
  };
}

export interface ReachedBy {
  edgeId: string;
  edgeType: string;
  /** The node at the near end of the edge, from which the walk came. */
  nodeId: string;
  data: JsonObject;
}

export function reachedByOf(message: pb.ReachedBy): ReachedBy {
  return {
    edgeId: message.edgeId,
    edgeType: message.edgeType,
    nodeId: message.nodeId,
    data: parseObject(message.dataJson),
  };
}

export interface ChangePage {
  changes: Change[];
  /** The place to continue from, now or later; never empty. Store it after you have processed the listed changes. */
  nextPlace: string;
  /** More changes are available now. */
  hasMore: boolean;
}

export function changePageOf(message: pb.ListChangesResponse): ChangePage {
  return {
    changes: message.changes.map(changeOf),
    nextPlace: message.nextPlace,
    hasMore: message.hasMore,
  };
}

/** A change of a node or an edge. */
export interface Change {
  kind: "changed" | "removed" | "unknown";
  /** The node. Empty: the change is of an edge. */
  nodeId: string;
  /** The edge. Empty: the change is of a node. */
  edgeId: string;
  graphName: string;
  /** Only for a node. */
  generalTypeName: string;
  /** Only for a node. */
  specificTypeName: string;
  /** Only for an edge. */
  edgeType: string;
  /** Only for an edge. */
  fromNodeId: string;
  /** Only for an edge. */
  toNodeId: string;
  changedAt: string;
}

export function changeOf(message: pb.Change): Change {
  return {
    kind: enumText(pb.ChangeKind, message.kind),
    nodeId: message.nodeId,
    edgeId: message.edgeId,
    graphName: message.graphName,
    generalTypeName: message.generalTypeName,
    specificTypeName: message.specificTypeName,
    edgeType: message.edgeType,
    fromNodeId: message.fromNodeId,
    toNodeId: message.toNodeId,
    changedAt: timeText(message.changedAt),
  };
}
