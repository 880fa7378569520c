/** Named vectors of nodes. */

import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { type JsonObject, parseObject, toObject } from "../json.js";
import { fieldsOf } from "../messages.js";
import type { NodeName } from "../names.js";
import type { Rows } from "../rows.js";
import { timeText } from "../times.js";
import { ProgressCalls } from "./progress.js";

const graph = pb.EntityGraph.method;

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

/** An RPC is one method. */
export abstract class EmbeddingCalls extends ProgressCalls {
  /**
   * Write a vector of a node under a name, in the place of the one that it has under it.
   *
   * @param embedding A `name` of its own for each kind of vector; else "default".
   * @throws InvalidArgument It has another dimension than the others of the name, or a value that half precision has not.
   */
  async upsertEmbedding(
    node: NodeName,
    vector: number[],
    embedding: { name?: string; model?: string; textSha256?: string; metadata?: object } & CallOptions = {},
  ): Promise<Embedding> {
    const { name, model, textSha256, metadata } = embedding;
    const nodeId = await this.nodeId(node, embedding);
    const request = { nodeId, vector, name, model, textSha256, metadataJson: toObject(metadata, "metadata_json") };
    return embeddingOf((await this.call(graph.upsertEmbedding, request, embedding)).embedding!);
  }

  /** Delete a vector of a node. */
  async deleteEmbedding(node: NodeName, options: { name?: string } & CallOptions = {}): Promise<void> {
    const nodeId = await this.nodeId(node, options);
    await this.call(graph.deleteEmbedding, { nodeId, name: options.name }, options);
  }

  /** The vectors of a node by their names; their values with `withVectors`. */
  listEmbeddings(
    node: NodeName,
    options: { withVectors?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<Embedding> {
    const { withVectors, pageSize } = options;
    return this.rowsOf(node, options, async (nodeId, pageToken) => {
      const page = await this.call(graph.listEmbeddings, { nodeId, withVectors, pageSize, pageToken }, options);
      return [page.embeddings.map(embeddingOf), page.nextPageToken];
    });
  }
}

function embeddingOf(message: pb.Embedding): Embedding {
  const { metadataJson, createdAt, ...fields } = fieldsOf(message);
  return { ...fields, metadata: parseObject(metadataJson), createdAt: timeText(createdAt) };
}
