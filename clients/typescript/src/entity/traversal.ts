/** Walks. */

import { type Node, type TraversedNode, traversedNodeOf } from "../_gen/entity-graph.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { choice, whole } from "../messages.js";
import type { NodeName } from "../names.js";
import { Rows } from "../rows.js";
import { toTimestamp } from "../times.js";
import { DIRECTIONS, type Direction } from "./edges.js";
import { SearchCalls } from "./search.js";

const graph = pb.EntityGraph.method;

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

/** An RPC is one method. */
export abstract class TraversalCalls extends SearchCalls {
  /**
   * What a walk reaches from a node, or from up to 1,000: each node once, with its least depth and the edge that reached it
   * there, in the order of time. It is one call, streamed.
   *
   * @throws NodeNotFound A start node is missing.
   * @throws NodeBudgetExceeded The walk would visit too many nodes.
   */
  traverse(start: NodeName | string[], options: TraverseOptions = {}): Rows<TraversedNode> {
    const request = {
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
    return new Rows(async function* (this: TraversalCalls) {
      const startNodeIds = Array.isArray(start) ? start : [await this.nodeId(start, options)];
      const answers = this.stream(graph.traverse, { startNodeIds, ...request }, options);
      for await (const answer of answers) yield* answer.nodes.map(traversedNodeOf);
    }.bind(this));
  }
}
