// Made from contextkeep/entity/v1/entity_graph.proto by `make proto`.

import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { type JsonObject, parseJson, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { envelopeStatusOf } from "../progress.js";
import { timeText } from "../times.js";
import { create } from "@bufbuild/protobuf";

/** A vertex. */
export interface Node {
  id: string;
  /** The caller's own id; unique in tenant and graph. */
  externalId: string;
  /** The partition. Edges never leave it. */
  graphName: string;
  agentBundleId: string;
  generalTypeName: string;
  specificTypeName: string;
  name: string;
  /** "Created", "Running", "Completed", "Failed", "Cancelled", or an app's own. */
  status: string;
  /**
   * A JSON object, equal to what was written; not the same text: members are in Postgres's order, of repeated ones the
   * last counts, and numbers are written out without exponent (all their digits are kept).
   */
  data: JsonObject;
  isArchived: boolean;
  /** The server's order of writing. */
  seq: number;
  createdAt: string;
  /** The time of the last change; `createdAt` before the first. */
  modifiedAt: string;
  /** Counts the changes, from 1. */
  version: number;
  /** The subject whose key or token wrote the node. */
  createdBy: string;
  ownerUserId: string;
  agentId: string;
  /** The isolated context that the node belongs to; set by later capabilities. */
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

/** A directed relation. */
export interface Edge {
  id: string;
  graphName: string;
  fromNodeId: string;
  toNodeId: string;
  /** "Contains", "Calls", "InResponseTo", ...: any name is allowed. */
  edgeType: string;
  data: JsonObject;
  createdAt: string;
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

/** What became of one row of graph.write. */
export interface WrittenRow {
  id: string;
  createdAt: string;
  /** Of a node; 0 for an edge. */
  seq: number;
  /** It was there before; `id` is its id. */
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
  /** Nodes of that name which are not archived, this one included. */
  matches: number;
}

export function namedNodeOf(message: pb.GetNodeByNameResponse): NamedNode {
  return {
    node: nodeOf(message.node ?? create(pb.NodeSchema)),
    matches: Number(message.matches),
  };
}

/** What there is of what a user owns, or what an erasure has removed of it. */
export interface OwnedNodes {
  nodes: number;
  /** Of these nodes, in both directions. */
  edges: number;
  /** Of repeated calls. */
  answers: number;
  /** In the place of which there is a pseudonym. */
  names: number;
  /** Of an erasure: unset while it runs. */
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
  /** As `Node.data_json`: equal to what was set, not the same text. Empty: it was never set, or the node was reset. */
  input: unknown;
  output: unknown;
  /** The time of the last SetNodeIO, or of the graph.resetNode that cleared the output. Absent: there was none. */
  modifiedAt: string;
}

export function storedIOOf(message: pb.GetNodeIOResponse): StoredIO {
  return {
    input: message.inputJson ? parseJson(message.inputJson) : undefined,
    output: message.outputJson ? parseJson(message.outputJson) : undefined,
    modifiedAt: timeText(message.modifiedAt),
  };
}

/** One entry of a timeline; never changed. */
export interface Envelope {
  /** The node; in the list of a caller, the node that was called. */
  nodeId: string;
  /** The server's order of writing; unique. */
  seq: number;
  type: "status" | "message" | "error" | "bot_progress" | "value" | "waiting" | "unknown";
  status: string;
  /** "return" marks the result; others are the app's own. */
  subType: string;
  message: string;
  /**
   * As `Node.data_json`, but any JSON. Empty: there is none. Of a STATUS envelope that graph.updateNodeStatus wrote: {"from": the
   * status before, "to": the status after}.
   */
  value: unknown;
  error: unknown;
  createdAt: string;
  /** The subject whose key or token wrote it. */
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
  /** The model that made it. */
  model: string;
  /** Of the text that it was made of, in hexadecimal: tells whether it is out of date. Empty: unknown. */
  textSha256: string;
  /** As `Node.data_json`. */
  metadata: JsonObject;
  /** When it was written; a vector in the place of another is new. */
  createdAt: string;
  /** As stored: rounded to half precision. Empty unless asked for. */
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

/** A node and how similar it is. */
export interface SimilarNode {
  node: Node;
  /** The cosine: 1 for the same direction, 0 for none in common, -1 for the opposite. */
  similarity: number;
}

export function similarNodeOf(message: pb.SimilarNode): SimilarNode {
  return {
    node: nodeOf(message.node ?? create(pb.NodeSchema)),
    similarity: message.similarity,
  };
}

/** How much is in a graph. */
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

/** How many edges there are of a type. */
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

/** What became of the rows of a kind. */
export interface RowCount {
  written: number;
  /** Were there before and are as they were. */
  existed: number;
}

export function rowCountOf(message: pb.RowCount): RowCount {
  return {
    written: Number(message.written),
    existed: Number(message.existed),
  };
}

/** Rows of one kind. */
export interface ExportPage {
  lines: Uint8Array;
  resumeToken: string;
  /** How many rows of that kind are in this message. */
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

/** A node and how it was reached. */
export interface TraversedNode {
  node: Node;
  /** 0 for a start node. */
  depth: number;
  /**
   * The edge that reached it at that depth; of several, the one with the least `createdAt`, then `id`.
   * Absent for a start node.
   */
  reachedBy?: ReachedBy;
  /** With `includeIo`. Absent where neither side was ever set. */
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

/** What went into a node and what came out of it, as GetNodeIO answers it. */
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
  /** The node at the near end, from which the walk came. */
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
  /** Where to go on, now or later; never empty. It is kept once what was listed is dealt with. */
  nextPlace: string;
  /** There is more already. */
  hasMore: boolean;
}

export function changePageOf(message: pb.ListChangesResponse): ChangePage {
  return {
    changes: message.changes.map(changeOf),
    nextPlace: message.nextPlace,
    hasMore: message.hasMore,
  };
}

/** What became of a node or an edge. */
export interface Change {
  kind: "changed" | "removed" | "unknown";
  /** Either a node or an edge. */
  nodeId: string;
  edgeId: string;
  graphName: string;
  /** Of a node. */
  generalTypeName: string;
  specificTypeName: string;
  /** Of an edge. */
  edgeType: string;
  fromNodeId: string;
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
