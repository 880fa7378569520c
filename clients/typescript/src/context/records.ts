/** Records found by words, vectors and conditions. */

import { randomUUID } from "node:crypto";
import { GeneratedRecords } from "../_gen/nouns/records.js";
import {
  type ManifestEntity,
  type SearchHit,
  type WMRecord,
  manifestEntityOf,
  searchHitOf,
  wmRecordOf,
} from "../_gen/working-memory.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/working_memory_pb.js";
import { type JsonObject, parseJson, toObject } from "../json.js";
import { choice, whole } from "../messages.js";
import { type NodeName, nameFields } from "../names.js";
import * as records from "../records.js";
import type { InlineContent, RecordFields } from "../records.js";
import { Rows, pages } from "../rows.js";
import type { VersionOptions, WriteOptions } from "../writes.js";

const SEARCH_MODES = {
  text: pb.SearchMode.TEXT,
  vector: pb.SearchMode.VECTOR,
  fused: pb.SearchMode.FUSED,
};

const memory = pb.WorkingMemory.method;

/** Which records are meant; all that is said must hold. */
export interface RecordFilter {
  /** One of these; so of the next three. */
  memoryTypes?: string[];
  subtypes?: string[];
  semanticPurposes?: string[];
  names?: string[];
  namePrefix?: string;
  /** All of these. */
  tags?: string[];
  metadataContains?: object;
  includeArchived?: boolean;
}

/** An RPC is one method. */
export class Records extends GeneratedRecords {
  /**
   * Find records of all entities by their words, by a vector, or by both; the best first.
   *
   * @param search `text` has words, all of which a record must have, with "or", quotes and minus as in a web search; `embedding`
   *   has 1,536 values. Unlike elsewhere the client's app filters nothing.
   * @throws SliceTooLarge There are more than 50,000 vectors to compare with; add a filter.
   */
  async search(
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
      /** A condition tree, as of `records.query`. */
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
    return (await this.client.call(memory.searchWMRecords, request, search)).hits.map(searchHitOf);
  }

  /**
   * Answer a question about records without SQL: columns, a condition, groups, an order, a limit; docs/search.md has examples.
   */
  async query(
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
    const answer = await this.client.call(memory.queryWMRecords, request, query);
    return { rows: answer.rowsJson.map(parseJson), hasMore: answer.hasMore };
  }

  /**
   * Write a record with inline content, JSON or text, or with none, and return it.
   *
   * @throws RecordExists The id is taken.
   */
  async insert(
    record: RecordFields & InlineContent & { workingMemoryId?: string; name: string; memoryType: string } & WriteOptions,
  ): Promise<WMRecord> {
    const request = { record: records.recordInput({ ...record, appId: record.appId ?? this.client.appId }), requestId: record.requestId ?? randomUUID() };
    return wmRecordOf((await this.client.call(memory.insertWMRecord, request, record)).record!);
  }

  /**
   * Change fields of a record and return it: what is not given stays, what is empty is emptied. Metadata are replaced, not merged.
   *
   * @throws VersionConflict `expectedVersion` is stale: `version` in the metadata.
   */
  async update(
    workingMemoryId: string,
    changes: RecordFields & InlineContent & WriteOptions & VersionOptions,
  ): Promise<WMRecord> {
    const request = {
      record: records.recordInput({ ...changes, workingMemoryId }),
      updateMask: { paths: records.recordMask(changes) },
      expectedVersion: whole("expected_version", changes.expectedVersion),
      requestId: changes.requestId ?? randomUUID(),
    };
    return wmRecordOf((await this.client.call(memory.updateWMRecord, request, changes)).record!);
  }

  /** The records of an entity, newest first; with their inline content if `withContent`. */
  listByEntity(
    entity: NodeName,
    options: RecordFilter & { withContent?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<WMRecord> {
    const { withContent, pageSize } = options;
    const filter = recordFilter(options);
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { ...nameFields("entityNodeId", entity), ...filter, withContent, pageSize, pageToken };
        const page = await this.client.call(memory.fetchWMRecordsByEntity, request, options);
        return [page.records.map(wmRecordOf), page.nextPageToken];
      }),
    );
  }

  /**
   * The entities below a root that have records, with these by memory type, counted. A root that is no node gives its own records.
   *
   * @throws NodeBudgetExceeded There are too many entities below the root.
   */
  manifest(
    root: NodeName,
    options: RecordFilter & {
      /** 1 to 100; else 3. */
      depthMax?: number;
      edgeTypes?: string[];
      /** Leave the records out. */
      countsOnly?: boolean;
      /** Records of one entity and memory type, the newest; else 100. */
      recordsMax?: number;
      pageSize?: number;
    } & CallOptions = {},
  ): Rows<ManifestEntity> {
    const { depthMax, edgeTypes, countsOnly, recordsMax, pageSize } = options;
    const filter = recordFilter(options);
    return new Rows(() =>
      pages(async (pageToken) => {
        const walk = { ...nameFields("rootNodeId", root), depthMax, edgeTypes };
        const request = { ...walk, ...filter, countsOnly, recordsMax, pageSize, pageToken };
        const page = await this.client.call(memory.fetchWMManifest, request, options);
        return [page.entities.map(manifestEntityOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Archive a record and return it as it is now; `records.restore` brings it back. With `purge` it is gone for good, and nothing is
   * returned.
   */
  async delete(
    workingMemoryId: string,
    options: { purge?: boolean } & CallOptions = {},
  ): Promise<WMRecord | undefined> {
    const request = { workingMemoryId, purge: options.purge };
    const { record } = await this.client.call(memory.deleteWMRecord, request, options);
    return record && wmRecordOf(record);
  }
}

function recordFilter(options: RecordFilter) {
  return {
    memoryTypes: options.memoryTypes,
    subtypes: options.subtypes,
    semanticPurposes: options.semanticPurposes,
    names: options.names,
    namePrefix: options.namePrefix,
    tags: options.tags,
    metadataContainsJson: toObject(options.metadataContains, "metadata_contains_json"),
    includeArchived: options.includeArchived,
  };
}
