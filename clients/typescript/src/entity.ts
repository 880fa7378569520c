/** The entity graph: nodes and typed edges. An RPC is one method. */

import { randomUUID } from "node:crypto";

import { Client, type CallOptions, type ClientOptions } from "./client.js";
import * as pb from "./gen/contextgraph/entity/v1/entity_graph_pb.js";
import {
  type ExportOptions,
  type ExportPage,
  type ImportOptions,
  type ImportedGraph,
  exportPage,
  nothingImported,
  segmentMessages,
  segments,
  withImported,
} from "./graphs.js";
import { type JsonObject, parseJson, parseObject, toJson, toObject } from "./json.js";
import { choice, enumText, fieldsOf, whole } from "./messages.js";
import { Rows, pages } from "./rows.js";
import { timeText, toTimestamp } from "./times.js";
import type { ByteStream } from "./transfer.js";

const graph = pb.EntityGraph.method;

export type Direction = "out" | "in" | "both";

const DIRECTIONS = {
  out: pb.Direction.OUT,
  in: pb.Direction.IN,
  both: pb.Direction.BOTH,
};
const ENVELOPE_TYPES = {
  status: pb.EnvelopeType.STATUS,
  message: pb.EnvelopeType.MESSAGE,
  error: pb.EnvelopeType.ERROR,
  bot_progress: pb.EnvelopeType.BOT_PROGRESS,
  value: pb.EnvelopeType.VALUE,
  waiting: pb.EnvelopeType.WAITING,
};
const ENVELOPE_STATUSES = {
  "": pb.EnvelopeStatus.UNSPECIFIED,
  started: pb.EnvelopeStatus.STARTED,
  running: pb.EnvelopeStatus.RUNNING,
  completed: pb.EnvelopeStatus.COMPLETED,
  failed: pb.EnvelopeStatus.FAILED,
  cancelled: pb.EnvelopeStatus.CANCELLED,
};
const ON_EXISTING = { fail: pb.OnExisting.FAIL, skip: pb.OnExisting.SKIP };

/** A vertex. */
export interface Node {
  id: string;
  /** The caller's own id. */
  externalId: string;
  graphName: string;
  agentBundleId: string;
  generalTypeName: string;
  specificTypeName: string;
  name: string;
  /** "Created", "Running", "Completed", "Failed", "Cancelled", or an app's own. */
  status: string;
  data: JsonObject;
  isArchived: boolean;
  /** The server's order of writing. */
  seq: number;
  createdAt: string;
  modifiedAt: string;
  /** Counts the changes, from 1. */
  version: number;
  createdBy: string;
  ownerUserId: string;
  agentId: string;
  contextId: string;
}

/** A directed relation. */
export interface Edge {
  id: string;
  graphName: string;
  fromNodeId: string;
  toNodeId: string;
  edgeType: string;
  data: JsonObject;
  createdAt: string;
  version: number;
  contextId: string;
}

/** What a caller says of a new node. */
export interface NodeInput {
  /** What it is, e.g. "Session" or "Turn". */
  generalTypeName: string;
  /** Else the general type name. */
  specificTypeName?: string;
  /** A UUID, such as `newId()`, so that edges can name it; else the server makes one. */
  id?: string;
  /** Your own id of it, unique in the graph; up to 512 bytes. */
  externalId?: string;
  /** Else "default". */
  graphName?: string;
  agentBundleId?: string;
  name?: string;
  /** Else "Created". */
  status?: string;
  /** Its JSON object, up to 1 MiB. */
  data?: object;
  /** For imports and replays; else the server's time. */
  createdAt?: Date | string;
}

/** What a caller says of a new edge. */
export interface EdgeInput {
  fromNodeId: string;
  toNodeId: string;
  /** "Contains", "Calls", "InResponseTo", ...: any name is allowed. */
  edgeType: string;
  id?: string;
  /** Else "default"; both ends are in it. */
  graphName?: string;
  data?: object;
  createdAt?: Date | string;
}

/** What became of one row of `writeGraph`. */
export interface WrittenRow {
  id: string;
  createdAt: string;
  /** Of a node; 0 for an edge. */
  seq: number;
  /** It was there before and is unchanged. */
  existed: boolean;
}

/** The edge by which a walk came to a node. */
export interface ReachedBy {
  edgeId: string;
  edgeType: string;
  /** The node at the near end. */
  nodeId: string;
  data: JsonObject;
}

/** What went into a node and what came out of it; undefined: never set. */
export interface NodeIO {
  input: unknown;
  output: unknown;
}

/** A node, and how a walk came to it. */
export interface TraversedNode {
  node: Node;
  /** 0 for a start node. */
  depth: number;
  /** Undefined for a start node. */
  reachedBy: ReachedBy | undefined;
  /** With `includeIO`, where either side was ever set. */
  io: NodeIO | undefined;
}

export type EnvelopeType = keyof typeof ENVELOPE_TYPES;
/** How far the work is; empty: the envelope says nothing of that. */
export type EnvelopeStatus = keyof typeof ENVELOPE_STATUSES;

/** One entry of a timeline. */
export interface Envelope {
  /** Of a caller's list: the node that was called. */
  nodeId: string;
  /** The server's order of writing. */
  seq: number;
  /** An `EnvelopeType`; "unknown": this client is older than the service. */
  type: string;
  status: string;
  /** "return" marks the result. */
  subType: string;
  message: string;
  /** Undefined: there is none. */
  value: unknown;
  error: unknown;
  createdAt: string;
  createdBy: string;
}

/** A named vector of a node. */
export interface Embedding {
  nodeId: string;
  name: string;
  dimension: number;
  /** The model that made it. */
  model: string;
  /** Of the text that it was made of; empty: unknown. */
  textSha256: string;
  metadata: JsonObject;
  createdAt: string;
  /** Rounded to half precision; empty unless asked for. */
  vector: number[];
}

/** A write: the same id again answers as the first time and writes nothing. Else each call has an id of its own. */
export interface WriteOptions extends CallOptions {
  /** A UUID. */
  requestId?: string;
}

/** An update that fails with `VersionConflict` if somebody else was faster. */
export interface VersionOptions extends CallOptions {
  expectedVersion?: number;
}

export interface TraverseOptions extends CallOptions {
  /** Else all. */
  edgeTypes?: string[];
  /** Else "out". */
  direction?: Direction;
  /** 1 to 100; else 3. */
  depthMax?: number;
  /** Either type name; a node of another type is passed through, not returned. Else all. */
  nodeTypes?: string[];
  includeArchived?: boolean;
  /** Return the start nodes too, with depth 0. */
  includeStart?: boolean;
  /** Return the nodes' input and output too. */
  includeIO?: boolean;
  /** A path into the nodes' data such as "turn.index" to order by; else the time. */
  orderPath?: string;
  descending?: boolean;
  /** Nodes to return; else all. */
  limit?: number;
  /** Begin behind this node in the order of time. */
  after?: Pick<Node, "createdAt" | "seq">;
  /** Nodes to visit at most. */
  nodeBudget?: number;
}

export interface SearchOptions extends CallOptions {
  /** A condition tree: `{ type: "Task", "data.score": { $gte: 0.5 } }`; docs/search.md has its operators. */
  condition?: object;
  /** What the nodes' data contain. */
  contains?: object;
  /** An SQL/JSON path over the nodes' data. */
  jsonPath?: string;
  /** Nodes that a walk from a node reaches. */
  connectedTo?: { nodeId: string; edgeTypes?: string[]; direction?: Direction; depthMax?: number };
  agentBundleId?: string;
  graphName?: string;
  includeArchived?: boolean;
}

export class EntityClient extends Client {
  /** The address is else that of `ENTITY_SERVICE_ADDRESS`, else 127.0.0.1:50052. */
  constructor(options: ClientOptions = {}) {
    super(options, { name: "entity-service", variable: "ENTITY_SERVICE_ADDRESS", address: "127.0.0.1:50052" });
  }

  /**
   * Write one node and return it.
   *
   * @throws ExternalIdTaken Another node has the external id: `node_id` in the metadata. With `getExisting` that node is
   *   returned instead, unchanged.
   * @throws NodeExists The id is taken.
   */
  async createNode(node: NodeInput & { getExisting?: boolean } & WriteOptions): Promise<Node> {
    const request = { node: nodeInput(node, "node"), getExisting: node.getExisting, requestId: requestId(node) };
    return nodeOf((await this.call(graph.createNode, request, node)).node!);
  }

  /**
   * Write one edge between two nodes of its graph and return it.
   *
   * @throws NodeNotFound An end is missing.
   * @throws EdgeExists There is an edge of that type between the two: `edge_id` in the metadata.
   */
  async createEdge(edge: EdgeInput & WriteOptions): Promise<Edge> {
    const request = { edge: edgeInput(edge, "edge"), requestId: requestId(edge) };
    return edgeOf((await this.call(graph.createEdge, request, edge)).edge!);
  }

  /**
   * Write nodes and edges in one transaction: all of them or none, up to 2,000 rows and 4 MiB. Edges may join nodes of the same
   * call. With `onExisting: "skip"` rows that exist are left as they are and answered as `existed`.
   *
   * @throws ContextGraphError Those of `createNode` and `createEdge`; the field names the row.
   */
  async writeGraph(
    rows: { nodes?: NodeInput[]; edges?: EdgeInput[]; onExisting?: "fail" | "skip" } & WriteOptions,
  ): Promise<{ nodes: WrittenRow[]; edges: WrittenRow[] }> {
    const written = await this.call(
      graph.writeGraph,
      {
        nodes: rows.nodes?.map((node, row) => nodeInput(node, `nodes[${row}]`)),
        edges: rows.edges?.map((edge, row) => edgeInput(edge, `edges[${row}]`)),
        onExisting: choice("onExisting", rows.onExisting ?? "fail", ON_EXISTING),
        requestId: requestId(rows),
      },
      rows,
    );
    return { nodes: written.nodes.map(writtenRow), edges: written.edges.map(writtenRow) };
  }

  /** @throws NodeNotFound There is none, or it is another tenant's. */
  async getNode(nodeId: string, options: CallOptions = {}): Promise<Node> {
    return nodeOf((await this.call(graph.getNode, { nodeId }, options)).node!);
  }

  /** Return up to 1,000 nodes, in the order asked for, and the ids that have none. */
  async batchGetNodes(
    nodeIds: string[],
    options: CallOptions = {},
  ): Promise<{ nodes: Node[]; missingIds: string[] }> {
    const batch = await this.call(graph.batchGetNodes, { nodeIds }, options);
    return { nodes: batch.nodes.map(nodeOf), missingIds: batch.missingIds };
  }

  /** @throws NodeNotFound No node of the graph has this external id. */
  async getNodeByExternalId(externalId: string, options: { graphName?: string } & CallOptions = {}): Promise<Node> {
    const request = { externalId, graphName: options.graphName };
    return nodeOf((await this.call(graph.getNodeByExternalId, request, options)).node!);
  }

  /** Return the newest node of that name that is not archived, and how many share the name. */
  async getNodeByName(
    name: string,
    options: { graphName?: string } & CallOptions = {},
  ): Promise<{ node: Node; matches: number }> {
    const found = await this.call(graph.getNodeByName, { name, graphName: options.graphName }, options);
    return { node: nodeOf(found.node!), matches: Number(found.matches) };
  }

  /**
   * Change a node's data by a JSON merge patch (RFC 7396), or replace them, and return the node.
   *
   * @throws VersionConflict `expectedVersion` is stale: `version` in the metadata.
   */
  async updateNodeData(
    nodeId: string,
    data: object,
    options: { replace?: boolean } & WriteOptions & VersionOptions = {},
  ): Promise<Node> {
    const request = {
      nodeId,
      dataJson: toObject(data, "data_json"),
      update: options.replace ? pb.DataUpdate.REPLACE : pb.DataUpdate.MERGE_PATCH,
      expectedVersion: expectedVersion(options),
      requestId: requestId(options),
    };
    return nodeOf((await this.call(graph.updateNodeData, request, options)).node!);
  }

  /**
   * Change a node's status, which its timeline tells, and return the node. One that has the status already is returned unchanged.
   *
   * @throws StatusConflict The status is not `expectedStatus`: `status` in the metadata.
   */
  async updateNodeStatus(
    nodeId: string,
    status: string,
    options: { expectedStatus?: string; message?: string } & VersionOptions = {},
  ): Promise<Node> {
    const { expectedStatus, message } = options;
    const request = { nodeId, status, expectedStatus, message, expectedVersion: expectedVersion(options) };
    return nodeOf((await this.call(graph.updateNodeStatus, request, options)).node!);
  }

  /** Archive a node, or bring it back with `restore`. */
  async archiveNode(nodeId: string, options: { restore?: boolean } & VersionOptions = {}): Promise<Node> {
    const request = { nodeId, restore: options.restore, expectedVersion: expectedVersion(options) };
    return nodeOf((await this.call(graph.archiveNode, request, options)).node!);
  }

  /**
   * Set what went into a node, what came out of it, or both: any JSON. A side that is not given stays as it is.
   *
   * @returns The time.
   */
  async setNodeIO(nodeId: string, io: { input?: unknown; output?: unknown } & CallOptions): Promise<string> {
    const request = {
      nodeId,
      inputJson: io.input === undefined ? undefined : toJson(io.input, "input_json"),
      outputJson: io.output === undefined ? undefined : toJson(io.output, "output_json"),
    };
    return timeText((await this.call(graph.setNodeIO, request, io)).modifiedAt);
  }

  async getNodeIO(nodeId: string, options: CallOptions = {}): Promise<NodeIO> {
    return ioOf(await this.call(graph.getNodeIO, { nodeId }, options));
  }

  /** Put a node back to before its run: its status is "Created", its output is gone, its timeline is empty. */
  async resetNode(nodeId: string, options: VersionOptions = {}): Promise<Node> {
    const request = { nodeId, expectedVersion: expectedVersion(options) };
    return nodeOf((await this.call(graph.resetNode, request, options)).node!);
  }

  /**
   * Delete a node for good, with all that hangs on it but its working memory, and return how many edges went with it. Needs the
   * scope `admin`. A repeat finds nothing: `NodeNotFound`, also when the first attempt of this call did it and its answer was lost.
   */
  async deleteNode(nodeId: string, options: VersionOptions = {}): Promise<number> {
    const request = { nodeId, expectedVersion: expectedVersion(options) };
    return Number((await this.call(graph.deleteNode, request, options)).edgesDeleted);
  }

  /** Append an envelope to the timeline of a node. */
  async appendProgress(
    nodeId: string,
    envelope: {
      type: EnvelopeType;
      status?: EnvelopeStatus;
      subType?: string;
      message?: string;
      /** Any JSON. */
      value?: unknown;
      error?: unknown;
    } & WriteOptions,
  ): Promise<{ seq: number; createdAt: string }> {
    const { value, error } = envelope;
    const request = {
      nodeId,
      type: choice("type", envelope.type, ENVELOPE_TYPES),
      status: choice("status", envelope.status ?? "", ENVELOPE_STATUSES),
      subType: envelope.subType,
      message: envelope.message,
      valueJson: value === undefined ? "" : toJson(value, "value_json"),
      errorJson: error === undefined ? "" : toJson(error, "error_json"),
      requestId: requestId(envelope),
    };
    const { seq, createdAt } = await this.call(graph.appendProgress, request, envelope);
    return { seq: Number(seq), createdAt: timeText(createdAt) };
  }

  /** The envelopes of a node and of all that it `Calls`, in the order of writing; with `ownOnly` of itself alone. */
  listProgress(
    nodeId: string,
    options: { ownOnly?: boolean; types?: EnvelopeType[]; descending?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<Envelope> {
    const { ownOnly, descending, pageSize } = options;
    const types = options.types?.map((type) => choice("types", type, ENVELOPE_TYPES));
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { nodeId, ownOnly, types, descending, pageSize, pageToken };
        const page = await this.call(graph.listProgress, request, options);
        return [page.envelopes.map(envelopeOf), page.nextPageToken];
      }),
    );
  }

  /** Remove all envelopes of a node for good, and return how many. */
  async clearProgress(nodeId: string, options: CallOptions = {}): Promise<number> {
    return Number((await this.call(graph.clearProgress, { nodeId }, options)).envelopesDeleted);
  }

  /**
   * Write a vector of a node under a name, in the place of the one that it has under it.
   *
   * @param embedding A `name` of its own for each kind of vector; else "default".
   * @throws InvalidArgument It has another dimension than the others of the name, or a value that half precision has not.
   */
  async upsertEmbedding(
    nodeId: string,
    vector: number[],
    embedding: { name?: string; model?: string; textSha256?: string; metadata?: object } & CallOptions = {},
  ): Promise<Embedding> {
    const { name, model, textSha256, metadata } = embedding;
    const request = { nodeId, vector, name, model, textSha256, metadataJson: toObject(metadata, "metadata_json") };
    return embeddingOf((await this.call(graph.upsertEmbedding, request, embedding)).embedding!);
  }

  /** Delete a vector of a node. */
  async deleteEmbedding(nodeId: string, options: { name?: string } & CallOptions = {}): Promise<void> {
    await this.call(graph.deleteEmbedding, { nodeId, name: options.name }, options);
  }

  /** The vectors of a node by their names; their values with `withVectors`. */
  listEmbeddings(
    nodeId: string,
    options: { withVectors?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<Embedding> {
    const { withVectors, pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(graph.listEmbeddings, { nodeId, withVectors, pageSize, pageToken }, options);
        return [page.embeddings.map(embeddingOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Find the nodes whose vectors of one name are most like a vector, or like another node's, by cosine; the most similar first.
   *
   * @throws EmbeddingNotFound The node has none of the name.
   * @throws LimitExceeded There are too many vectors to compare with; narrow them with `metadataContains`.
   */
  async searchSimilar(
    to: { vector: number[]; graphName?: string } | { nodeId: string },
    options: {
      name?: string;
      /** -1 to 1. */
      similarityMin?: number;
      metadataContains?: object;
      nodeTypes?: string[];
      includeArchived?: boolean;
      /** Else 10. */
      limit?: number;
    } & CallOptions = {},
  ): Promise<{ node: Node; similarity: number }[]> {
    const { name, similarityMin, metadataContains, nodeTypes, includeArchived, limit } = options;
    const metadataContainsJson = toObject(metadataContains, "metadata_contains_json");
    const request = { ...to, name, similarityMin, metadataContainsJson, nodeTypes, includeArchived, limit };
    const { nodes } = await this.call(graph.searchSimilar, request, options);
    return nodes.map(({ node, similarity }) => ({ node: nodeOf(node!), similarity }));
  }

  /**
   * Write a graph from newline-delimited JSON, as `exportGraph` gives it, and return what was written.
   *
   * What is there already, by its id, is skipped: an import that broke off is simply begun again. It is sent in segments of some
   * MiB; one that failed with `Unavailable` is sent again by itself.
   *
   * @throws InvalidArgument A line is malformed: the violation names it.
   * @throws NodeNotFound A line names a node that no line before it wrote.
   */
  async importGraph(source: ByteStream | Uint8Array, options: ImportOptions = {}): Promise<ImportedGraph> {
    let done = nothingImported(options.graphName);
    let sentBytes = 0;
    for await (const segment of segments(source instanceof Uint8Array ? [source] : source)) {
      const header = { graphName: done.graphName, linesBefore: BigInt(done.lines) };
      const attempts = this.attempts(options, undefined);
      const answer = await attempts.run(() => {
        const messages = segmentMessages(header, segment);
        return this.connection.upload(graph.importGraph, messages, this.settings(options, attempts));
      });
      done = withImported(done, answer);
      for (const chunk of segment) sentBytes += chunk.length;
      options.onProgress?.(sentBytes, source instanceof Uint8Array ? source.length : undefined);
    }
    return done;
  }

  /**
   * Read a whole graph out, as newline-delimited JSON: `writeFile(path, client.exportGraph())`, or another client's `importGraph`.
   * An export that breaks off goes on where it was. It is no snapshot of rows that are written meanwhile.
   */
  async *exportGraph(options: ExportOptions = {}): AsyncGenerator<Uint8Array> {
    for await (const { lines } of this.exportGraphPages(options)) yield lines;
  }

  /**
   * The same in pieces that say how many rows they hold, and by which token another export goes on behind them.
   *
   * @throws InvalidPageToken The token is malformed or of another graph.
   */
  async *exportGraphPages(options: ExportOptions = {}): AsyncGenerator<ExportPage> {
    const { graphName } = options;
    let { resumeToken } = options;
    let attempts = this.attempts(options, undefined);
    for (;;) {
      try {
        for await (const page of this.stream(graph.exportGraph, { graphName, resumeToken }, options, false)) {
          resumeToken = page.resumeToken;
          attempts.succeeded();
          attempts = this.attempts(options, undefined);
          yield exportPage(page);
        }
        return;
      } catch (error) {
        await attempts.wait(error);
      }
    }
  }

  /** @throws EdgeNotFound There is none, or it is another tenant's. */
  async getEdge(edgeId: string, options: CallOptions = {}): Promise<Edge> {
    return edgeOf((await this.call(graph.getEdge, { edgeId }, options)).edge!);
  }

  /** Return up to 1,000 edges, in the order asked for, and the ids that have none. */
  async batchGetEdges(
    edgeIds: string[],
    options: CallOptions = {},
  ): Promise<{ edges: Edge[]; missingIds: string[] }> {
    const batch = await this.call(graph.batchGetEdges, { edgeIds }, options);
    return { edges: batch.edges.map(edgeOf), missingIds: batch.missingIds };
  }

  /** Change an edge's data by a JSON merge patch, or replace them, and return the edge. */
  async updateEdgeData(
    edgeId: string,
    data: object,
    options: { replace?: boolean } & WriteOptions & VersionOptions = {},
  ): Promise<Edge> {
    const request = {
      edgeId,
      dataJson: toObject(data, "data_json"),
      update: options.replace ? pb.DataUpdate.REPLACE : pb.DataUpdate.MERGE_PATCH,
      expectedVersion: expectedVersion(options),
      requestId: requestId(options),
    };
    return edgeOf((await this.call(graph.updateEdgeData, request, options)).edge!);
  }

  /** Delete an edge for good, and return it as it was. */
  async deleteEdge(edgeId: string, options: VersionOptions = {}): Promise<Edge> {
    const request = { edgeId, expectedVersion: expectedVersion(options) };
    return edgeOf((await this.call(graph.deleteEdge, request, options)).edge!);
  }

  /** The edges of a node, oldest first. */
  listEdges(
    nodeId: string,
    options: { direction?: Direction; edgeTypes?: string[]; pageSize?: number } & CallOptions = {},
  ): Rows<Edge> {
    const { edgeTypes, pageSize } = options;
    const direction = choice("direction", options.direction ?? "out", DIRECTIONS);
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { nodeId, direction, edgeTypes, pageSize, pageToken };
        const page = await this.call(graph.listEdges, request, options);
        return [page.edges.map(edgeOf), page.nextPageToken];
      }),
    );
  }

  /**
   * What a walk reaches from a node, or from up to 1,000: each node once, with its least depth and the edge that reached it
   * there, in the order of time. It is one call, streamed.
   *
   * @throws NodeNotFound A start node is missing.
   * @throws NodeBudgetExceeded The walk would visit too many nodes.
   */
  traverse(start: string | string[], options: TraverseOptions = {}): Rows<TraversedNode> {
    const request = {
      startNodeIds: typeof start === "string" ? [start] : start,
      edgeTypes: options.edgeTypes,
      direction: choice("direction", options.direction ?? "out", DIRECTIONS),
      depthMax: options.depthMax,
      nodeTypes: options.nodeTypes,
      includeArchived: options.includeArchived,
      includeStart: options.includeStart,
      includeIo: options.includeIO,
      orderPath: options.orderPath,
      descending: options.descending,
      limit: options.limit,
      nodeBudget: options.nodeBudget,
      after: options.after && {
        createdAt: toTimestamp(options.after.createdAt, "after.created_at"),
        seq: whole("after.seq", options.after.seq),
      },
    };
    return new Rows(async function* (this: EntityClient) {
      for await (const answer of this.stream(graph.traverse, request, options)) yield* answer.nodes.map(traversedNodeOf);
    }.bind(this));
  }

  /** The nodes of which all that is said holds, by time or in another order. */
  searchNodes(
    options: SearchOptions & { orderBy?: string; descending?: boolean; pageSize?: number } = {},
  ): Rows<Node> {
    const { orderBy, descending, pageSize } = options;
    const filter = nodeFilter(options);
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { filter, orderBy, descending, pageSize, pageToken };
        const page = await this.call(graph.searchNodes, request, options);
        return [page.nodes.map(nodeOf), page.nextPageToken];
      }),
    );
  }

  /** The graphs that have nodes, by name, with how much is in each. */
  listGraphs(
    options: { pageSize?: number } & CallOptions = {},
  ): Rows<{ graphName: string; nodes: number; edges: number }> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(graph.listGraphs, { pageSize, pageToken }, options);
        const counts = page.graphs.map(({ graphName, nodes, edges }) => ({
          graphName,
          nodes: Number(nodes),
          edges: Number(edges),
        }));
        return [counts, page.nextPageToken];
      }),
    );
  }

  /** The edge types of a graph by name, with how many edges there are of each. */
  listEdgeTypes(
    options: { graphName?: string; pageSize?: number } & CallOptions = {},
  ): Rows<{ edgeType: string; edges: number }> {
    const { graphName, pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(graph.listEdgeTypes, { graphName, pageSize, pageToken }, options);
        return [page.edgeTypes.map(({ edgeType, edges }) => ({ edgeType, edges: Number(edges) })), page.nextPageToken];
      }),
    );
  }

  /** How many nodes `searchNodes` would find. */
  async countNodes(options: SearchOptions = {}): Promise<number> {
    return Number((await this.call(graph.countNodes, { filter: nodeFilter(options) }, options)).count);
  }
}

function nodeInput(node: NodeInput, field: string) {
  return {
    id: node.id,
    externalId: node.externalId,
    graphName: node.graphName,
    agentBundleId: node.agentBundleId,
    generalTypeName: node.generalTypeName,
    specificTypeName: node.specificTypeName,
    name: node.name,
    status: node.status,
    dataJson: toObject(node.data, `${field}.data_json`),
    createdAt: toTimestamp(node.createdAt, `${field}.created_at`),
  };
}

function edgeInput(edge: EdgeInput, field: string) {
  return {
    id: edge.id,
    graphName: edge.graphName,
    fromNodeId: edge.fromNodeId,
    toNodeId: edge.toNodeId,
    edgeType: edge.edgeType,
    dataJson: toObject(edge.data, `${field}.data_json`),
    createdAt: toTimestamp(edge.createdAt, `${field}.created_at`),
  };
}

function nodeFilter(options: SearchOptions) {
  const { connectedTo } = options;
  return {
    graphName: options.graphName,
    conditionJson: toObject(options.condition, "filter.condition_json"),
    containsJson: toObject(options.contains, "filter.contains_json"),
    jsonPath: options.jsonPath,
    connectedTo: connectedTo && {
      ...connectedTo,
      direction: choice("filter.connected_to.direction", connectedTo.direction ?? "out", DIRECTIONS),
    },
    agentBundleId: options.agentBundleId,
    includeArchived: options.includeArchived,
  };
}

function requestId(options: WriteOptions): string {
  return options.requestId ?? randomUUID();
}

function expectedVersion(options: VersionOptions): bigint | undefined {
  return whole("expected_version", options.expectedVersion);
}

function nodeOf(message: pb.Node): Node {
  const { dataJson, seq, version, createdAt, modifiedAt, ...fields } = fieldsOf(message);
  return {
    ...fields,
    data: parseObject(dataJson),
    seq: Number(seq),
    version: Number(version),
    createdAt: timeText(createdAt),
    modifiedAt: timeText(modifiedAt),
  };
}

function edgeOf(message: pb.Edge): Edge {
  const { dataJson, version, createdAt, ...fields } = fieldsOf(message);
  return { ...fields, data: parseObject(dataJson), version: Number(version), createdAt: timeText(createdAt) };
}

function envelopeOf(message: pb.Envelope): Envelope {
  const { seq, type, status, valueJson, errorJson, createdAt, ...fields } = fieldsOf(message);
  return {
    ...fields,
    seq: Number(seq),
    type: enumText(pb.EnvelopeType, type),
    status: status === pb.EnvelopeStatus.UNSPECIFIED ? "" : enumText(pb.EnvelopeStatus, status),
    value: valueJson ? parseJson(valueJson) : undefined,
    error: errorJson ? parseJson(errorJson) : undefined,
    createdAt: timeText(createdAt),
  };
}

function embeddingOf(message: pb.Embedding): Embedding {
  const { metadataJson, createdAt, ...fields } = fieldsOf(message);
  return { ...fields, metadata: parseObject(metadataJson), createdAt: timeText(createdAt) };
}

function writtenRow(message: pb.WrittenRow): WrittenRow {
  const { id, existed, seq, createdAt } = message;
  return { id, existed, seq: Number(seq), createdAt: timeText(createdAt) };
}

function traversedNodeOf(message: pb.TraversedNode): TraversedNode {
  const { node, depth, reachedBy, io } = message;
  return {
    node: nodeOf(node!),
    depth,
    reachedBy: reachedBy && {
      edgeId: reachedBy.edgeId,
      edgeType: reachedBy.edgeType,
      nodeId: reachedBy.nodeId,
      data: parseObject(reachedBy.dataJson),
    },
    io: io && ioOf(io),
  };
}

function ioOf(io: { inputJson: string; outputJson: string }): NodeIO {
  return {
    input: io.inputJson ? parseJson(io.inputJson) : undefined,
    output: io.outputJson ? parseJson(io.outputJson) : undefined,
  };
}
