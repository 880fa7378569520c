// Made from the protos by `make proto`.

import * as entityGraphPb from "../../gen/contextkeep/entity/v1/entity_graph_pb.js";
import type { CallOptions } from "../../client.js";
import { NodeNoun } from "../../entity/names.js";
import { toObject } from "../../json.js";
import type { NodeName } from "../../names.js";
import type { Rows } from "../../rows.js";
import { type Embedding, type SimilarNode, embeddingOf, similarNodeOf } from "../entity-graph.js";

/** Options of `embeddings.search`. */
export interface SimilarTo {
  /** The vector to compare with. Give either this or `nodeId`. */
  vector?: number[];
  /** The node whose vector to compare with. Give either this or `vector`. */
  nodeId?: NodeName;
  /**
   * The graph to search, if `vector` is given. Empty: "default". With `nodeId`, the search uses the graph of the node,
   * and this must be empty.
   */
  graphName?: string;
  /** Name of the vectors to compare. Empty: "default". */
  name?: string;
  /** Leave out nodes that are less similar: -1 to 1. Absent: leave out none. */
  similarityMin?: number;
  /** A JSON object. Compare only vectors whose metadata contain it. */
  metadataContains?: object;
  /** Only nodes with one of these types, general or specific. Empty: all. */
  nodeTypes?: string[];
  /** Include archived nodes. */
  includeArchived?: boolean;
  /** Nodes to return, at most 1,000. 0: 10. */
  limit?: number;
}

/** The calls of `embeddings` that are one method each. */
export class Embeddings extends NodeNoun {
  /**
   * Write a vector of a node under a name, and replace the vector that the node has under this name. Vectors are
   * stored in half precision. All vectors with the same name in a graph have the same dimension: that of the first one.
   *
   * Throws NodeNotFound, InvalidArgument (the dimension is another one, zero, or over 4,000; a value is NaN,
   * infinite or does not fit half precision; or all values are zero), LimitExceeded.
   *
   * @param nodeId The node of the vector.
   * @param vector 1 to 4,000 finite values that fit half precision, not all zero.
   * @param options.name Name of the vector, up to 128 characters. Empty: "default".
   * @param options.model The model that made the vector.
   * @param options.textSha256 SHA-256 of the text that the vector was made from: 64 hexadecimal digits. Empty: unknown.
   * @param options.metadata A JSON object, up to 64 KiB. Empty: {}.
   */
  async upsert(
    nodeId: NodeName,
    vector: number[],
    options: { name?: string; model?: string; textSha256?: string; metadata?: object } & CallOptions = {},
  ): Promise<Embedding> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
      name: options.name,
      vector,
      model: options.model,
      textSha256: options.textSha256,
      metadataJson: toObject(options.metadata, "metadata_json"),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.upsertEmbedding, request, options);
    return embeddingOf(answer.embedding!);
  }

  /**
   * Delete a vector of a node.
   *
   * Throws NodeNotFound, EmbeddingNotFound (the node has no vector of this name; also for a repeat).
   *
   * @param nodeId The node of the vector.
   * @param options.name Name of the vector. Empty: "default".
   */
  async delete(nodeId: NodeName, options: { name?: string } & CallOptions = {}): Promise<void> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
      name: options.name,
    };
    await this.client.call(entityGraphPb.EntityGraph.method.deleteEmbedding, request, options);
  }

  /**
   * List the vectors of a node by name, by default without their values. Throws NodeNotFound, InvalidPageToken.
   *
   * @param nodeId The node whose vectors to list.
   * @param options.withVectors Include the values of the vectors.
   * @param options.pageSize Vectors per page. 0: 100. Values above 1,000 count as 1,000.
   */
  list(nodeId: NodeName, options: { withVectors?: boolean; pageSize?: number } & CallOptions = {}): Rows<Embedding> {
    const request = {
      withVectors: options.withVectors,
      pageSize: options.pageSize,
    };
    return this.rowsOf(nodeId, options, async (id, pageToken) => {
      const page = await this.client.call(entityGraphPb.EntityGraph.method.listEmbeddings, { ...request, nodeId: id, pageToken }, options);
      return [page.embeddings.map(embeddingOf), page.nextPageToken];
    });
  }

  /**
   * Find the nodes whose vectors are most similar to a given vector or to another node's vector. It compares vectors
   * of one name by cosine, and answers the most similar first, then by id. The search is exact: it compares every
   * vector of that name in the graph. A search by a node stays in the node's graph and context, as a walk does, and
   * leaves out the node itself.
   *
   * Throws NodeNotFound, EmbeddingNotFound (the node has no vector of this name), InvalidArgument (as for
   * embeddings.upsert), LimitExceeded (over 100,000 vectors to compare: select fewer by their metadata),
   * AnswerTooLarge (over 4 MiB: request fewer nodes).
   */
  async search(options: SimilarTo & CallOptions = {}): Promise<SimilarNode[]> {
    const request = {
      vector: options.vector,
      nodeId: options.nodeId === undefined ? undefined : await this.nodeId(options.nodeId, options),
      graphName: options.graphName,
      name: options.name,
      similarityMin: options.similarityMin,
      metadataContainsJson: toObject(options.metadataContains, "metadata_contains_json"),
      nodeTypes: options.nodeTypes,
      includeArchived: options.includeArchived,
      limit: options.limit,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.searchSimilar, request, options);
    return answer.nodes.map(similarNodeOf);
  }
}
