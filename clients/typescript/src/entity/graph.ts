/**
 * The graph: edges by the callers' own ids of nodes, messages of conversations, searches, walks, imports and exports.
 */

import {
  type Edge,
  type ExportPage,
  type Node,
  type TraversedNode,
  edgeOf,
  exportPageOf,
  nodeOf,
  traversedNodeOf,
} from "../_gen/entity-graph.js";
import { type EdgeInput, edgeInput } from "../_gen/inputs.js";
import { GeneratedGraph } from "../_gen/nouns/graph.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { InvalidArgument } from "../gen/errors.js";
import {
  type ExportOptions,
  type ImportOptions,
  type ImportedGraph,
  nothingImported,
  segmentMessages,
  segments,
  withImported,
} from "../graphs.js";
import { rowId } from "../ids.js";
import { toObject } from "../json.js";
import { choice, enumInput, whole } from "../messages.js";
import type { NodeName } from "../names.js";
import { Rows } from "../rows.js";
import { toTimestamp } from "../times.js";
import type { ByteStream } from "../transfer.js";
import { type WriteOptions, requestId } from "../writes.js";

const graph = pb.EntityGraph.method;

const ROLES = { user: "user", assistant: "assistant", system: "system", tool: "tool" };

export type Direction = "out" | "in" | "both";

/** A new message of a conversation. */
export interface MessageInput {
  role: keyof typeof ROLES;
  /** The text. */
  content: string;
  /**
   * Create the node of the session's external id, a "Session", if it does not exist. Callers that do so at the same
   * time get the same node.
   */
  create?: boolean;
  /** The graph of the session. Default: that of its external id, or "default". */
  graphName?: string;
  /** More fields of the message's data, next to role and content, for mappings of your own. */
  data?: object;
  /** For imports and replays. Messages are read in this order. Default: the server's time. */
  createdAt?: Date | string;
}

/** The result of `appendMessage`. */
export interface AppendedMessage {
  /** Id of the message. */
  nodeId: string;
  /** Id of the session's node. */
  sessionId: string;
  createdAt: string;
  /** By this call. */
  sessionCreated: boolean;
}

export interface SearchOptions extends CallOptions {
  /** A condition tree: `{ type: "Task", "data.score": { $gte: 0.5 } }`; docs/search.md has its operators. */
  condition?: object;
  /** A JSON document that the nodes' data must contain. */
  contains?: object;
  /** An SQL/JSON path over the nodes' data. */
  jsonPath?: string;
  /** Nodes that a walk from a node reaches. */
  connectedTo?: { nodeId: NodeName; edgeTypes?: string[]; direction?: Direction; depthMax?: number };
  agentBundleId?: string;
  graphName?: string;
  includeArchived?: boolean;
}

export interface TraverseOptions extends CallOptions {
  /** Else all. */
  edgeTypes?: string[];
  /** Else "out". */
  direction?: Direction;
  /** Maximum number of edges to follow, up to 100. Default: 3. */
  depthMax?: number;
  /** Only nodes of these general or specific types; the walk passes through others. Default: all. */
  nodeTypes?: string[];
  includeArchived?: boolean;
  /** Also return the start nodes, with depth 0. */
  includeStart?: boolean;
  /** Also return the nodes' input and output. */
  includeIO?: boolean;
  /** A path into the nodes' data to order by, such as "turn.index". Default: the time. */
  orderPath?: string;
  descending?: boolean;
  /** Maximum number of nodes. Default: all. */
  limit?: number;
  /** Begin after this node in the order of time. */
  after?: Pick<Node, "createdAt" | "seq">;
  /** Maximum number of nodes to visit. */
  nodeBudget?: number;
}

/** Each RPC is one method. */
export class Graph extends GeneratedGraph {
  /**
   * Write one edge between two nodes of its graph and return it.
   *
   * @throws NodeNotFound One of the two nodes does not exist.
   * @throws EdgeExists The two nodes already have an edge of this type: `edge_id` in the metadata.
   */
  async createEdge(
    edge: Omit<EdgeInput, "fromNodeId" | "toNodeId"> & { fromNodeId: NodeName; toNodeId: NodeName } & WriteOptions,
  ): Promise<Edge> {
    const fromNodeId = await this.nodeId(edge.fromNodeId, edge, edge.graphName);
    const toNodeId = await this.nodeId(edge.toNodeId, edge, edge.graphName);
    const request = { edge: edgeInput({ ...edge, fromNodeId, toNodeId }, "edge"), requestId: requestId(edge) };
    return edgeOf((await this.client.call(graph.createEdge, request, edge)).edge!);
  }

  /**
   * Import a graph from newline-delimited JSON, as `graph.export` writes it, and return the counts.
   *
   * Rows whose ids exist are skipped, so an interrupted import can be repeated. The lines are sent in segments of some
   * MiB; a segment that failed with `Unavailable` is sent again.
   *
   * @throws InvalidArgument A line is malformed; the violation names the line.
   * @throws NodeNotFound A line names a node that no line before it wrote.
   */
  async import(source: ByteStream | Uint8Array, options: ImportOptions = {}): Promise<ImportedGraph> {
    let done = nothingImported(options.graphName);
    let sentBytes = 0;
    for await (const segment of segments(source instanceof Uint8Array ? [source] : source)) {
      const header = { graphName: done.graphName, linesBefore: BigInt(done.lines) };
      const attempts = this.client.attempts(options, undefined);
      const answer = await attempts.run(() => {
        const messages = segmentMessages(header, segment);
        return this.client.connection.upload(graph.importGraph, messages, this.client.settings(options, attempts));
      });
      done = withImported(done, answer);
      for (const chunk of segment) sentBytes += chunk.length;
      options.onProgress?.(sentBytes, source instanceof Uint8Array ? source.length : undefined);
    }
    return done;
  }

  /**
   * Export a whole graph as newline-delimited JSON: `writeFile(path, client.graph.export())`, or another client's
   * `graph.import`. If the connection breaks, the export continues. It is not a snapshot: rows that are written
   * meanwhile may be missing.
   */
  async *export(options: ExportOptions = {}): AsyncGenerator<Uint8Array> {
    for await (const { lines } of this.exportPages(options)) yield lines;
  }

  /**
   * Export a whole graph in pieces, with the numbers of their rows, and with the token to continue after each.
   *
   * @throws InvalidPageToken The token is malformed, or belongs to another graph.
   */
  async *exportPages(options: ExportOptions = {}): AsyncGenerator<ExportPage> {
    const { graphName } = options;
    let { resumeToken } = options;
    let attempts = this.client.attempts(options, undefined);
    for (;;) {
      try {
        for await (const page of this.client.stream(graph.exportGraph, { graphName, resumeToken }, options, false)) {
          resumeToken = page.resumeToken;
          attempts.succeeded();
          attempts = this.client.attempts(options, undefined);
          yield exportPageOf(page);
        }
        return;
      } catch (error) {
        await attempts.wait(error);
      }
    }
  }

  /**
   * Write a message of a conversation: a node "Message", and the edge "Contains" from the session to it.
   *
   * Both are written, or neither; a retried call appends the message once. If one call begins after another has
   * returned, its message is the later one. Without `create` a separate call looks an external id up first.
   *
   * @throws NodeNotFound There is no such session.
   * @throws InvalidArgument The role is unknown, the content is empty, or the session is in another graph.
   */
  async appendMessage(session: NodeName, message: MessageInput & WriteOptions): Promise<AppendedMessage> {
    const { role, content, data, createdAt, headers, timeoutMs, signal, requestId } = message;
    choice("role", role, ROLES);
    if (typeof content !== "string" || content === "") {
      throw new InvalidArgument("content must be a text that is not empty: a history leaves out empty messages", {
        field: "content",
      });
    }
    const graphName = message.graphName ?? (typeof session === "string" ? undefined : session.graphName);
    const made = message.create && typeof session !== "string" ? session : undefined;
    const sessionId = made ? rowId(requestId, "session") : await this.nodeId(session, message, graphName);
    const turn = {
      id: rowId(requestId, "message"),
      generalTypeName: "Message",
      graphName,
      data: { ...data, role, content },
      createdAt,
    };
    const edge = { fromNodeId: sessionId, toNodeId: turn.id, edgeType: "Contains", graphName };
    const { nodes } = await this.write({
      nodes: made ? [{ id: sessionId, generalTypeName: "Session", graphName, externalId: made.externalId }, turn] : [turn],
      edges: [{ id: rowId(requestId, "edge"), ...edge }],
      onExisting: made ? "skip" : "fail",
      ...{ headers, timeoutMs, signal, requestId },
    });
    const [first, last] = [nodes[0]!, nodes.at(-1)!];
    return {
      nodeId: last.id,
      sessionId: made ? first.id : sessionId,
      createdAt: last.createdAt,
      sessionCreated: made !== undefined && !first.existed,
    };
  }

  /** Return the nodes that match all conditions, by time or in another order. */
  search(
    options: SearchOptions & { orderBy?: string; descending?: boolean; pageSize?: number } = {},
  ): Rows<Node> {
    const { orderBy, descending, pageSize } = options;
    const filter = nodeFilter(options);
    return this.rowsOf(options.connectedTo?.nodeId ?? "", options, async (nodeId, pageToken) => {
      const request = { filter: connected(filter, nodeId), orderBy, descending, pageSize, pageToken };
      const page = await this.client.call(graph.searchNodes, request, options);
      return [page.nodes.map(nodeOf), page.nextPageToken];
    });
  }

  /** Return how many nodes `graph.search` would find. */
  async count(options: SearchOptions = {}): Promise<number> {
    const filter = nodeFilter(options);
    const nodeId = await this.nodeId(options.connectedTo?.nodeId ?? "", options, options.graphName);
    return Number((await this.client.call(graph.countNodes, { filter: connected(filter, nodeId) }, options)).count);
  }

  /**
   * Walk the graph from one node, or from up to 1,000, and return each node that is reached once, with its smallest
   * depth and the edge that led to it, in the order of time. This is one streamed call.
   *
   * @throws NodeNotFound A start node does not exist.
   * @throws NodeBudgetExceeded The walk would visit too many nodes.
   */
  traverse(start: NodeName | string[], options: TraverseOptions = {}): Rows<TraversedNode> {
    const request = {
      edgeTypes: options.edgeTypes,
      direction: enumInput("direction", options.direction, pb.Direction),
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
    return new Rows(async function* (this: Graph) {
      const startNodeIds = Array.isArray(start) ? start : [await this.nodeId(start, options)];
      const answers = this.client.stream(graph.traverse, { startNodeIds, ...request }, options);
      for await (const answer of answers) yield* answer.nodes.map(traversedNodeOf);
    }.bind(this));
  }
}

function connected(filter: ReturnType<typeof nodeFilter>, nodeId: string) {
  return { ...filter, connectedTo: filter.connectedTo && { ...filter.connectedTo, nodeId } };
}

function nodeFilter(options: SearchOptions) {
  const { connectedTo } = options;
  return {
    graphName: options.graphName,
    conditionJson: toObject(options.condition, "filter.condition_json"),
    containsJson: toObject(options.contains, "filter.contains_json"),
    jsonPath: options.jsonPath,
    connectedTo: connectedTo && {
      edgeTypes: connectedTo.edgeTypes,
      depthMax: connectedTo.depthMax,
      direction: enumInput("filter.connected_to.direction", connectedTo.direction, pb.Direction),
    },
    agentBundleId: options.agentBundleId,
    includeArchived: options.includeArchived,
  };
}
