/** Nodes found by what they are, and by what they are like. */

import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { type Node, nodeOf } from "../_gen/entity-graph.js";
import { GeneratedEmbeddings } from "../_gen/nouns/embeddings.js";
import type { CallOptions } from "../client.js";
import { toObject } from "../json.js";
import type { NodeName } from "../names.js";

const graph = pb.EntityGraph.method;

/** An RPC is one method. */
export class Embeddings extends GeneratedEmbeddings {
  /**
   * Find the nodes whose vectors of one name are most like a vector, or like another node's, by cosine; the most similar first.
   *
   * @throws EmbeddingNotFound The node has none of the name.
   * @throws LimitExceeded There are too many vectors to compare with; narrow them with `metadataContains`.
   */
  async search(
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
    const { nodes } = await this.client.call(graph.searchSimilar, request, options);
    return nodes.map(({ node, similarity }) => ({ node: nodeOf(node!), similarity }));
  }
}
