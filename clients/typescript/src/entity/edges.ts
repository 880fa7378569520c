/** Edges: written, read, changed, deleted. */

import { type Edge, edgeOf } from "../_gen/entity-graph.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { toObject } from "../json.js";
import { choice } from "../messages.js";
import type { NodeName } from "../names.js";
import type { Rows } from "../rows.js";
import { toTimestamp } from "../times.js";
import { type VersionOptions, type WriteOptions, expectedVersion, requestId } from "../writes.js";
import { NodeCalls } from "./nodes.js";

const graph = pb.EntityGraph.method;

export type Direction = "out" | "in" | "both";

export const DIRECTIONS = {
  out: pb.Direction.OUT,
  in: pb.Direction.IN,
  both: pb.Direction.BOTH,
};

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

/** An RPC is one method. */
export abstract class EdgeCalls extends NodeCalls {
  /**
   * Write one edge between two nodes of its graph and return it.
   *
   * @throws NodeNotFound An end is missing.
   * @throws EdgeExists There is an edge of that type between the two: `edge_id` in the metadata.
   */
  async createEdge(
    edge: Omit<EdgeInput, "fromNodeId" | "toNodeId"> & { fromNodeId: NodeName; toNodeId: NodeName } & WriteOptions,
  ): Promise<Edge> {
    const fromNodeId = await this.nodeId(edge.fromNodeId, edge, edge.graphName);
    const toNodeId = await this.nodeId(edge.toNodeId, edge, edge.graphName);
    const request = { edge: edgeInput({ ...edge, fromNodeId, toNodeId }, "edge"), requestId: requestId(edge) };
    return edgeOf((await this.call(graph.createEdge, request, edge)).edge!);
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
    node: NodeName,
    options: { direction?: Direction; edgeTypes?: string[]; pageSize?: number } & CallOptions = {},
  ): Rows<Edge> {
    const { edgeTypes, pageSize } = options;
    const direction = choice("direction", options.direction ?? "out", DIRECTIONS);
    return this.rowsOf(node, options, async (nodeId, pageToken) => {
      const request = { nodeId, direction, edgeTypes, pageSize, pageToken };
      const page = await this.call(graph.listEdges, request, options);
      return [page.edges.map(edgeOf), page.nextPageToken];
    });
  }
}

export function edgeInput(edge: EdgeInput, field: string) {
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
