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
  vector?: number[];
  nodeId?: NodeName;
  /** The graph to look in, with `vector`. Empty: "default". With `nodeId` it is the node's, and this is empty. */
  graphName?: string;
  /** Of the vectors. Empty: "default". */
  name?: string;
  /** Nodes that are less similar are left out: -1 to 1. Absent: none is. */
  similarityMin?: number;
  /** A JSON object: only vectors whose metadata contain it are compared with. */
  metadataContains?: object;
  /** Either type name. Empty: all. */
  nodeTypes?: string[];
  includeArchived?: boolean;
  /** 0: 10. At most 1,000. */
  limit?: number;
}

/** The calls of `embeddings` that are one method each. */
export class Embeddings extends NodeNoun {
  /**
   * Writes a vector of a node under a name, in the place of the one that it has under it. Vectors are stored in half
   * precision, and all of one name in one graph have one dimension: it is that of the first.
   *
   * Throws NodeNotFound, InvalidArgument (another dimension, none, or over 4,000; NaN, infinity, a value past half
   * precision, or all zero), LimitExceeded.
   *
   * @param vector 1 to 4,000 finite values that fit half precision, not all zero.
   * @param options.name Up to 128 characters. Empty: "default".
   * @param options.textSha256 Empty, or 64 hexadecimal digits.
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
   * Deletes a vector of a node.
   *
   * Throws NodeNotFound, EmbeddingNotFound (a repeat, too: nothing is left).
   *
   * @param options.name Empty: "default".
   */
  async delete(nodeId: NodeName, options: { name?: string } & CallOptions = {}): Promise<void> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
      name: options.name,
    };
    await this.client.call(entityGraphPb.EntityGraph.method.deleteEmbedding, request, options);
  }

  /**
   * Lists the vectors of a node by their names, without their values unless asked. Throws NodeNotFound,
   * InvalidPageToken.
   *
   * @param options.withVectors With the values of the vectors.
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
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
   * Finds the nodes whose vectors of one name are most like a given vector, or like another node's, by cosine; the most
   * similar first, then by id. Exact: every vector of that name in the graph is compared with, so none is missed.
   * Like a walk, a search by a node stays in the node's graph and context, and the node itself is left out.
   *
   * Throws NodeNotFound, EmbeddingNotFound (the node has none of the name), InvalidArgument (as of
   * embeddings.upsert), LimitExceeded (over 100,000 vectors to compare with: narrow them by their metadata),
   * AnswerTooLarge (over 4 MiB: ask for fewer).
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
