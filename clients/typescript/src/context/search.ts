/** Records found by words, vectors and conditions. */

import { type SearchHit, searchHitOf } from "../_gen/working-memory.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/working_memory_pb.js";
import { type JsonObject, parseJson, toObject } from "../json.js";
import { choice } from "../messages.js";
import { RecordCalls } from "./records.js";

const memory = pb.WorkingMemory.method;

const SEARCH_MODES = {
  text: pb.SearchMode.TEXT,
  vector: pb.SearchMode.VECTOR,
  fused: pb.SearchMode.FUSED,
};

/** An RPC is one method. */
export abstract class SearchCalls extends RecordCalls {
  /**
   * Find records of all entities by their words, by a vector, or by both; the best first.
   *
   * @param search `text` has words, all of which a record must have, with "or", quotes and minus as in a web search; `embedding`
   *   has 1,536 values. Unlike elsewhere the client's app filters nothing.
   * @throws SliceTooLarge There are more than 50,000 vectors to compare with; add a filter.
   */
  async searchWMRecords(
    search: {
      text?: string;
      embedding?: number[];
      /** Compare only with embeddings of this model. */
      embeddingModel?: string;
      /** Else by what is given. */
      mode?: keyof typeof SEARCH_MODES;
      entityNodeIds?: string[];
      memoryTypes?: string[];
      graphName?: string;
      agentBundleId?: string;
      appId?: string;
      /** A condition tree, as of `queryWMRecords`. */
      where?: object;
      includeArchived?: boolean;
      /** At most 100; else 10. */
      limit?: number;
      withContent?: boolean;
    } & CallOptions,
  ): Promise<SearchHit[]> {
    const { text, embedding, embeddingModel, mode, where, entityNodeIds, memoryTypes } = search;
    const { graphName, agentBundleId, appId, includeArchived, limit, withContent } = search;
    const request = {
      text,
      embedding: embedding && { values: embedding, model: embeddingModel },
      mode: mode && choice("mode", mode, SEARCH_MODES),
      whereJson: toObject(where, "where_json"),
      ...{ entityNodeIds, memoryTypes, graphName, agentBundleId, appId, includeArchived, limit, withContent },
    };
    return (await this.call(memory.searchWMRecords, request, search)).hits.map(searchHitOf);
  }

  /**
   * Answer a question about records without SQL: columns, a condition, groups, an order, a limit; docs/search.md has examples.
   */
  async queryWMRecords(
    query: {
      select: string[];
      where?: object;
      groupBy?: string[];
      orderBy?: { column: string; descending?: boolean }[];
      limit?: number;
      includeArchived?: boolean;
    } & CallOptions,
  ): Promise<{ rows: JsonObject[]; hasMore: boolean }> {
    const { select, where, groupBy, orderBy, limit, includeArchived } = query;
    const request = { select, whereJson: toObject(where, "where_json"), groupBy, orderBy, limit, includeArchived };
    const answer = await this.call(memory.queryWMRecords, request, query);
    return { rows: answer.rowsJson.map(parseJson), hasMore: answer.hasMore };
  }
}
