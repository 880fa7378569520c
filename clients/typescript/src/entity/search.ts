/** Nodes found by what they are, and by what they are like. */

import { type Node, nodeOf } from "../_gen/entity-graph.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { toObject } from "../json.js";
import { choice } from "../messages.js";
import type { NodeName } from "../names.js";
import type { Rows } from "../rows.js";
import { DIRECTIONS, type Direction } from "./edges.js";
import { ProgressCalls } from "./progress.js";

const graph = pb.EntityGraph.method;

export interface SearchOptions extends CallOptions {
  /** A condition tree: `{ type: "Task", "data.score": { $gte: 0.5 } }`; docs/search.md has its operators. */
  condition?: object;
  /** What the nodes' data contain. */
  contains?: object;
  /** An SQL/JSON path over the nodes' data. */
  jsonPath?: string;
  /** Nodes that a walk from a node reaches. */
  connectedTo?: { nodeId: NodeName; edgeTypes?: string[]; direction?: Direction; depthMax?: number };
  agentBundleId?: string;
  graphName?: string;
  includeArchived?: boolean;
}

/** An RPC is one method. */
export abstract class SearchCalls extends ProgressCalls {
  /** The nodes of which all that is said holds, by time or in another order. */
  searchNodes(
    options: SearchOptions & { orderBy?: string; descending?: boolean; pageSize?: number } = {},
  ): Rows<Node> {
    const { orderBy, descending, pageSize } = options;
    const filter = nodeFilter(options);
    return this.rowsOf(options.connectedTo?.nodeId ?? "", options, async (nodeId, pageToken) => {
      const request = { filter: connected(filter, nodeId), orderBy, descending, pageSize, pageToken };
      const page = await this.call(graph.searchNodes, request, options);
      return [page.nodes.map(nodeOf), page.nextPageToken];
    });
  }

  /** How many nodes `searchNodes` would find. */
  async countNodes(options: SearchOptions = {}): Promise<number> {
    const filter = nodeFilter(options);
    const nodeId = await this.nodeId(options.connectedTo?.nodeId ?? "", options, options.graphName);
    return Number((await this.call(graph.countNodes, { filter: connected(filter, nodeId) }, options)).count);
  }

  /**
   * Find the nodes whose vectors of one name are most like a vector, or like another node's, by cosine; the most similar first.
   *
   * @throws EmbeddingNotFound The node has none of the name.
   * @throws LimitExceeded There are too many vectors to compare with; narrow them with `metadataContains`.
   */
  async searchSimilar(
    to: { vector: number[]; graphName?: string } | { nodeId: NodeName },
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
    const like = "nodeId" in to ? { nodeId: await this.nodeId(to.nodeId, options) } : to;
    const request = { ...like, name, similarityMin, metadataContainsJson, nodeTypes, includeArchived, limit };
    const { nodes } = await this.call(graph.searchSimilar, request, options);
    return nodes.map(({ node, similarity }) => ({ node: nodeOf(node!), similarity }));
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
      direction: choice("filter.connected_to.direction", connectedTo.direction ?? "out", DIRECTIONS),
    },
    agentBundleId: options.agentBundleId,
    includeArchived: options.includeArchived,
  };
}
