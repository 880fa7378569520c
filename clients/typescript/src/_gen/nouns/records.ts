// Made from the protos by `make proto`.

import * as workingMemoryPb from "../../gen/contextkeep/context/v1/working_memory_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { toObject } from "../../json.js";
import { enumInput, given } from "../../messages.js";
import { type NodeName, nameFields } from "../../names.js";
import { Noun } from "../../noun.js";
import { type NewRecord, recordInput } from "../../records.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import type { QueryOrder } from "../inputs.js";
import {
  type ManifestEntity,
  type QueriedRows,
  type RecordAction,
  type SearchHit,
  type WMRecord,
  manifestEntityOf,
  queriedRowsOf,
  recordActionOf,
  searchHitOf,
  wmRecordOf,
} from "../working-memory.js";

/** Options of `records.listByEntity`. */
export interface RecordFilter {
  /** Empty lists filter nothing; of several values one must match. Up to 100 values each. */
  memoryTypes?: string[];
  /** One of these. */
  subtypes?: string[];
  /** One of these. */
  semanticPurposes?: string[];
  /** One of these, exactly. */
  names?: string[];
  /** The name begins with it. */
  namePrefix?: string;
  /** All of them must be there. */
  tags?: string[];
  /** A JSON object that the metadata must contain. */
  metadataContains?: object;
  /** Archived and expired records, too. */
  includeArchived?: boolean;
  /** With inline content, which lists leave out otherwise. */
  withContent?: boolean;
  /** 0: 100. More than 1,000 counts as 1,000. */
  pageSize?: number;
}

/** Options of `records.manifest`. */
export interface ManifestFilter {
  /** 1 to 100; 0: 3. */
  depthMax?: number;
  /** Followed from a node to what is below it. Empty: Contains, Owns, Calls, Produces, HasIO, HAS_CHILD, HAS_STEP. */
  edgeTypes?: string[];
  /** Empty lists filter nothing; of several values one must match. Up to 100 values each. */
  memoryTypes?: string[];
  /** One of these. */
  subtypes?: string[];
  /** One of these. */
  semanticPurposes?: string[];
  /** One of these, exactly. */
  names?: string[];
  /** The name begins with it. */
  namePrefix?: string;
  /** All of them must be there. */
  tags?: string[];
  /** A JSON object that the metadata must contain. */
  metadataContains?: object;
  /** Archived and expired records, and those of archived nodes. */
  includeArchived?: boolean;
  /** Leave the records out. */
  countsOnly?: boolean;
  /** Records of one entity and memory type, the newest; 0: 100. More than 1,000 counts as 1,000. */
  recordsMax?: number;
  /** Entities; 0: 100. More than 1,000 counts as 1,000. */
  pageSize?: number;
}

/** Options of `records.search`. */
export interface RecordsSearchOptions {
  /** Up to 1,000 characters. */
  text?: string;
  /** 1,536 finite values that fit half precision, not all zero. */
  embedding?: number[];
  /** The model that made it. */
  embeddingModel?: string;
  mode?: "text" | "vector" | "fused";
  /** The filters; empty ones filter nothing. Of several values one must match. Up to 1,000. */
  entityNodeIds?: string[];
  /** Up to 100. */
  memoryTypes?: string[];
  graphName?: string;
  agentBundleId?: string;
  appId?: string;
  /** A condition tree, as of QueryWMRecords. */
  where?: object;
  includeArchived?: boolean;
  /** Records; 0: 10. More than 100 counts as 100. */
  limit?: number;
  withContent?: boolean;
}

/** Options of `records.query`. */
export interface RecordsQueryOptions {
  /** Required: the columns to answer. Of each of the three lists up to 50. */
  select: string[];
  /** Empty: all records. */
  where?: object;
  /** Fields and paths. With it, or with an aggregate, every other column of `select` and `orderBy` is one of them. */
  groupBy?: string[];
  /** Empty: newest first; groups by their own values. Texts by code points; of a path numbers before texts; what is not there last. */
  orderBy?: QueryOrder[];
  /** Rows; 0: 100. More than 1,000 counts as 1,000. */
  limit?: number;
  includeArchived?: boolean;
}

/** The calls of `records` that are one method each. */
export class GeneratedRecords extends Noun<AppClient> {
  /**
   * Writes a record with inline content, JSON or text, or with none.
   *
   * Throws InvalidArgument, RecordExists (the id is taken), RequestIdReused, LimitExceeded.
   */
  async insert(record: NewRecord, options: WriteOptions = {}): Promise<WMRecord> {
    const request = {
      record: recordInput(record, "record", this.client.appId),
      requestId: requestId(options),
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.insertWMRecord, request, options);
    return wmRecordOf(answer.record!);
  }

  /**
   * Reads a record with its inline content. Throws RecordNotFound, RecordArchived.
   *
   * @param options.includeArchived Archived and expired records, too.
   */
  async get(workingMemoryId: string, options: { includeArchived?: boolean } & CallOptions = {}): Promise<WMRecord> {
    const request = {
      workingMemoryId,
      includeArchived: options.includeArchived,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.fetchWMRecord, request, options);
    return wmRecordOf(answer.record!);
  }

  /**
   * Lists the records of an entity, newest first.
   *
   * Throws InvalidPageToken; of an `externalId` NodeNotFound and Unavailable.
   *
   * @param entityNodeId Required, or `externalId`. A record without an entity is found by its id.
   */
  listByEntity(entityNodeId: NodeName, options: RecordFilter & CallOptions = {}): Rows<WMRecord> {
    const request = {
      ...nameFields("entityNodeId", entityNodeId),
      memoryTypes: options.memoryTypes,
      subtypes: options.subtypes,
      semanticPurposes: options.semanticPurposes,
      names: options.names,
      namePrefix: options.namePrefix,
      tags: options.tags,
      metadataContainsJson: toObject(options.metadataContains, "metadata_contains_json"),
      includeArchived: options.includeArchived,
      withContent: options.withContent,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(workingMemoryPb.WorkingMemory.method.fetchWMRecordsByEntity, { ...request, pageToken }, options);
        return [page.records.map(wmRecordOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Lists the entities below a root node that have records, with these records by memory type. The root comes first, the others in the
   * order of the walk (`createdAt`, then the order of writing), each with its place in the graph. Records are counted and added up. An
   * entity that is reached in several ways is there once, with the shortest. A root that is no node of the caller's gives its own
   * records: records may be written before their node.
   *
   * One walk and one query a page, whatever the number of entities. Entities without records that pass the filters are left out, and so
   * are archived ones unless `includeArchived`; what hangs below them is not. A page ends at `pageSize` entities or 2 MiB; if the
   * records of its first entity do not fit, there are fewer of them than `recordCount` says: FetchWMRecordsByEntity lists them all.
   *
   * Throws NodeNotFound (of an `externalId`), InvalidPageToken, LimitExceeded, NodeBudgetExceeded (more entities than one walk
   * visits: 100,000), AnswerTooLarge (an entity has records of more than 1,000 memory types), Unavailable.
   *
   * @param rootNodeId Required, or `externalId`.
   */
  manifest(rootNodeId: NodeName, options: ManifestFilter & CallOptions = {}): Rows<ManifestEntity> {
    const request = {
      ...nameFields("rootNodeId", rootNodeId),
      depthMax: options.depthMax,
      edgeTypes: options.edgeTypes,
      memoryTypes: options.memoryTypes,
      subtypes: options.subtypes,
      semanticPurposes: options.semanticPurposes,
      names: options.names,
      namePrefix: options.namePrefix,
      tags: options.tags,
      metadataContainsJson: toObject(options.metadataContains, "metadata_contains_json"),
      includeArchived: options.includeArchived,
      countsOnly: options.countsOnly,
      recordsMax: options.recordsMax,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(workingMemoryPb.WorkingMemory.method.fetchWMManifest, { ...request, pageToken }, options);
        return [page.entities.map(manifestEntityOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Finds records of the tenant, of all entities: by their words, by a vector, or by both. The best come first.
   *
   * TEXT looks into name, description and content: inline text, the texts and numbers of inline JSON, and uploaded files that are text by their
   * content type, name or memory type and are valid UTF-8; of each the first 50,000 characters. A record must have all words of `text`, as
   * they are or in any form that the service's language (a setting, English) has of them; "or" between words, "quotes" around a phrase
   * and -minus before a word mean what they mean in a web search. Chinese, Japanese and Korean are found by pairs of characters. Names are
   * also found by the beginnings of their words. The score is Postgres's rank, and 1 more for a name. Of more than 5,000 records that match,
   * the newest 5,000 are ranked. What was written is found at once.
   *
   * VECTOR compares the embeddings of all records that pass the filters: it is exact, and the score is the cosine, -1 to 1. More than
   * 50,000 are SliceTooLarge, and metadata `filters` names the filters that help; unless the operator has made an index of vectors: then
   * the answer is approximate, the hits say so, and SliceTooLarge is what the filters leave too little of.
   *
   * Where the service has an embedder, VECTOR and FUSED without an `embedding` take that of `text`, and compare with those of its model.
   *
   * FUSED takes the best 100 of each and adds their reciprocal ranks, 1 / (60 + place): the score.
   *
   * An answer ends at `limit` records or 2 MiB.
   *
   * Throws InvalidArgument (a wrong dimension, a value that is not finite or does not fit half precision, a zero vector; in `whereJson`
   * the field violation names the place), LimitExceeded, SliceTooLarge, Unavailable (metadata `dependency`: also "embedder").
   */
  async search(options: RecordsSearchOptions & CallOptions = {}): Promise<SearchHit[]> {
    const request = {
      text: options.text,
      embedding: given({
        values: options.embedding,
        model: options.embeddingModel,
      }),
      mode: enumInput("mode", options.mode, workingMemoryPb.SearchMode),
      entityNodeIds: options.entityNodeIds,
      memoryTypes: options.memoryTypes,
      graphName: options.graphName,
      agentBundleId: options.agentBundleId,
      appId: options.appId,
      whereJson: toObject(options.where, "where_json"),
      includeArchived: options.includeArchived,
      limit: options.limit,
      withContent: options.withContent,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.searchWMRecords, request, options);
    return answer.hits.map(searchHitOf);
  }

  /**
   * Answers a question about the tenant's records, of all entities: columns, a condition, groups, an order, a limit; no SQL. One
   * statement that can only read, within the call's deadline.
   *
   * A column is a field of WMRecord by its name in this proto (all but `contentJson` and `contentText`; `status` is "active" or "archived",
   * `indexState` "none", "pending", "indexed" or "failed"), `metadata` or a path into it (`metadata.a.b`; a number names an
   * element of a list), `count(*)`, or `count`, `sum`, `avg`, `min` or `max` of one of those: `max(created_at)`. `sum` and `avg` take
   * numbers, `min` and `max` also texts and times; of a path they look at what has the type (numbers before texts). `count` of a column counts the
   * rows in which it is there; an empty text or list is not.
   *
   * `whereJson` is a condition tree: {"memory_type": "file", "metadata.score": {"$gte": 0.5}, "$or": [{...}, {...}]}. Operators: $eq
   * (also a bare value), $ne, $gt, $gte, $lt, $lte, $in, $nin, $like, $ilike (% and _, backslash escapes), $exists, $not; $and and $or
   * join conditions, several fields in one object are a conjunction. What is not there equals nothing, so $ne, $nin and $not are true
   * of it; null is "not there" of a field, JSON's null in the metadata. A value of another type than the field's is an error; in
   * the metadata it is different, and neither less nor greater. Times are RFC 3339 texts. `tags` matches if one of them does. Up to 64
   * KiB, 200 comparisons, 16 levels.
   *
   * Throws InvalidArgument (the field violation names the place, such as `where_json.$and[1].name.$in`), LimitExceeded, AnswerTooLarge
   * (3 MiB: select less, or set a lower limit).
   */
  async query(options: RecordsQueryOptions & CallOptions): Promise<QueriedRows> {
    const request = {
      select: options.select,
      whereJson: toObject(options.where, "where_json"),
      groupBy: options.groupBy,
      orderBy: options.orderBy,
      limit: options.limit,
      includeArchived: options.includeArchived,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.queryWMRecords, request, options);
    return queriedRowsOf(answer);
  }

  /**
   * Archives a record: lists leave it out, and readers without `includeArchived` get RecordArchived. RestoreWMRecord brings it back
   * until its retention ends (a setting, 30 days from when it was archived or expired). Then, or at once with `purge`, it is gone for
   * good, and its bytes follow after the grace time of the service (7 days) if no other record shares them. Its log stays.
   *
   * Again is harmless: an archived record stays as it is, and to purge one that was purged is no error.
   *
   * Throws RecordNotFound.
   *
   * @param options.purge Remove it for good, archived or not.
   */
  async delete(
    workingMemoryId: string,
    options: { purge?: boolean } & CallOptions = {},
  ): Promise<WMRecord | undefined> {
    const request = {
      workingMemoryId,
      purge: options.purge,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.deleteWMRecord, request, options);
    return answer.record && wmRecordOf(answer.record);
  }

  /**
   * Brings an archived record back, and one past its `expiresAt`, which is then taken away. Again is harmless.
   *
   * Throws RecordNotFound (it never was, or it was purged).
   */
  async restore(workingMemoryId: string, options: CallOptions = {}): Promise<WMRecord> {
    const request = {
      workingMemoryId,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.restoreWMRecord, request, options);
    return wmRecordOf(answer.record!);
  }

  /**
   * Lists what happened to a record, oldest first. Every change of a record is an entry, written in the transaction of the change;
   * entries are never changed nor removed, and can be read when the record is purged.
   *
   * Throws RecordNotFound (it never was), InvalidPageToken.
   *
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
   */
  listActions(workingMemoryId: string, options: { pageSize?: number } & CallOptions = {}): Rows<RecordAction> {
    const request = {
      workingMemoryId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(workingMemoryPb.WorkingMemory.method.listWMRecordActions, { ...request, pageToken }, options);
        return [page.actions.map(recordActionOf), page.nextPageToken];
      }),
    );
  }
}
