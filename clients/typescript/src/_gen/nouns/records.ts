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
  /** Only records with one of these memory types, up to 100. Empty: all. */
  memoryTypes?: string[];
  /** Only records with one of these subtypes, up to 100. Empty: all. */
  subtypes?: string[];
  /** Only records with one of these purposes, up to 100. Empty: all. */
  semanticPurposes?: string[];
  /** Only records with exactly one of these names, up to 100. Empty: all. */
  names?: string[];
  /** Only records whose name begins with this text. */
  namePrefix?: string;
  /** Only records that have all of these tags, up to 100. Empty: all. */
  tags?: string[];
  /** Only records whose metadata contain this JSON object. */
  metadataContains?: object;
  /** Include archived and expired records. */
  includeArchived?: boolean;
  /** Include inline content, which lists leave out otherwise. */
  withContent?: boolean;
  /** Records per page. 0: 100. Values above 1,000 count as 1,000. */
  pageSize?: number;
}

/** Options of `records.manifest`. */
export interface ManifestFilter {
  /** Maximum depth, from 1 to 100. 0: 3. */
  depthMax?: number;
  /**
   * Types of the edges to follow from a node to the nodes below it. Empty: Contains, Owns, Calls, Produces, HasIO,
   * HAS_CHILD, HAS_STEP.
   */
  edgeTypes?: string[];
  /** Only records with one of these memory types, up to 100. Empty: all. */
  memoryTypes?: string[];
  /** Only records with one of these subtypes, up to 100. Empty: all. */
  subtypes?: string[];
  /** Only records with one of these purposes, up to 100. Empty: all. */
  semanticPurposes?: string[];
  /** Only records with exactly one of these names, up to 100. Empty: all. */
  names?: string[];
  /** Only records whose name begins with this text. */
  namePrefix?: string;
  /** Only records that have all of these tags, up to 100. Empty: all. */
  tags?: string[];
  /** Only records whose metadata contain this JSON object. */
  metadataContains?: object;
  /** Include archived and expired records, and records of archived nodes. */
  includeArchived?: boolean;
  /** Leave out the records; answer only their numbers and sizes. */
  countsOnly?: boolean;
  /** Records to return for each entity and memory type, newest first. 0: 100. Values above 1,000 count as 1,000. */
  recordsMax?: number;
  /** Entities per page. 0: 100. Values above 1,000 count as 1,000. */
  pageSize?: number;
}

/** Options of `records.search`. */
export interface RecordsSearchOptions {
  /** The words to search for, up to 1,000 characters. */
  text?: string;
  /** 1,536 finite values that fit half precision, not all zero. */
  embedding?: number[];
  /** The model that made it. */
  embeddingModel?: string;
  /** How to search. Unset: by the given fields. */
  mode?: "text" | "vector" | "fused";
  /** Only records of these nodes, up to 1,000. Empty: all. */
  entityNodeIds?: string[];
  /** Only records with one of these memory types, up to 100. Empty: all. */
  memoryTypes?: string[];
  /** Only records of this graph. Empty: all. */
  graphName?: string;
  /** Only records of this agent bundle. Empty: all. */
  agentBundleId?: string;
  /** Only records of this app. Empty: all. */
  appId?: string;
  /** Only records that match this condition tree, as in QueryWMRecords. */
  where?: object;
  /** Include archived and expired records. */
  includeArchived?: boolean;
  /** Records to return. 0: 10. Values above 100 count as 100. */
  limit?: number;
  /** Include inline content. */
  withContent?: boolean;
  /**
   * Skip this many of the best records, up to 10,000, for the next page of a ranking. The ranking is made again for
   * each page: records that were written or changed in between may move. TEXT ranks 5,000 records at most.
   */
  offset?: number;
}

/** Options of `records.query`. */
export interface RecordsQueryOptions {
  /** The columns to return, at most 50. Required. */
  select: string[];
  /** Only records that match this condition tree. Empty: all records. */
  where?: object;
  /**
   * Fields and paths to group by, at most 50. With groups or an aggregate, every other column of `select` and
   * `orderBy` must be one of these.
   */
  groupBy?: string[];
  /**
   * The order, at most 50 columns. Texts sort by code points; for a path, numbers come before texts; missing values
   * come last. Empty: newest first, or groups by their values.
   */
  orderBy?: QueryOrder[];
  /** Rows to return. 0: 100. Values above 1,000 count as 1,000. */
  limit?: number;
  /** Include archived and expired records. */
  includeArchived?: boolean;
  /**
   * Skip this many rows, up to 1,000,000, for the next page. Rows that were written or deleted in between move the
   * others: a condition on the column of the order is a more stable page.
   */
  offset?: number;
}

/** The calls of `records` that are one method each. */
export class GeneratedRecords extends Noun<AppClient> {
  /**
   * Write a record with inline content, JSON or text, or without content.
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
   * Read a record with its inline content. Throws RecordNotFound, RecordArchived.
   *
   * @param workingMemoryId The record to read.
   * @param options.includeArchived Also read archived and expired records.
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
   * List the records of an entity, newest first.
   *
   * Throws InvalidPageToken, NodeNotFound (no node has this `externalId`), Unavailable (the Entity Service does
   * not answer; only with an `externalId`).
   *
   * @param entityNodeId The node whose records to list. Required, or `externalId`. A record without an entity is in no list of an entity; read it by its id.
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
   * List the entities below a root node that have records, with their records by memory type. The root comes first,
   * then the others in the order of the walk (`createdAt`, then the order of writing), each with its path in the
   * graph. The groups have the number of records and their total size. An entity that the walk reaches in several ways
   * appears once, with the shortest path. If the root is not a node that the caller sees, the answer has the records of
   * the root only, because records may be written before their node.
   *
   * Each page costs one walk and one query, whatever the number of entities. Entities without matching records are left
   * out, and so are archived entities unless `includeArchived`; the entities below them are not. A page ends at
   * `pageSize` entities or 2 MiB. If the records of its first entity do not fit, the page has fewer records than
   * `recordCount`: FetchWMRecordsByEntity lists all of them.
   *
   * Throws NodeNotFound (no node has this `externalId`), InvalidPageToken, LimitExceeded, NodeBudgetExceeded
   * (the walk would visit more than 100,000 entities), AnswerTooLarge (an entity has records of more than 1,000
   * memory types), Unavailable.
   *
   * @param rootNodeId The node to start from. Required, or `externalId`.
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
   * Find records of the tenant, of all entities: by words, by a vector, or by both. The best come first.
   *
   * TEXT searches name, description and content. Content means inline text, the texts and numbers of inline JSON, and
   * uploaded files that are text by content type, name or memory type and are valid UTF-8; of each, the first 50,000
   * characters. A record must have all words of `text`, in any form that they have in the service's language (a
   * setting; default: English). "or" between words, "quotes" around a phrase and -minus before a word work as in a web
   * search. Chinese, Japanese and Korean are found by pairs of characters. Names are also found by the beginnings of
   * their words. The score is Postgres's rank, plus 1 for a match in the name. If more than 5,000 records match, only
   * the newest 5,000 are ranked. A search finds a record as soon as it is written.
   *
   * VECTOR compares the embeddings of all records that pass the filters. It is exact, and the score is the cosine, -1
   * to 1. If more than 50,000 records pass, the call fails with SliceTooLarge; the metadata `filters` names filters
   * that help. If the operator has created a vector index, the answer is approximate and its hits are marked with
   * `approximate`; SliceTooLarge then means that the filters keep too few of the index's hits.
   *
   * If the service has an embedder, VECTOR and FUSED without an `embedding` use the embedding of `text`, and compare it
   * with the embeddings of the same model.
   *
   * FUSED takes the best 100 of each search, more if `offset` and `limit` reach further, and adds their reciprocal ranks,
   * 1 / (60 + rank): this is the score.
   *
   * An answer ends at `limit` records or 2 MiB.
   *
   * Throws InvalidArgument (a wrong dimension; a value that is not finite or does not fit half precision; a zero
   * vector; for `whereJson`, the violation names the path), LimitExceeded, SliceTooLarge, Unavailable (metadata
   * `dependency`: also "embedder").
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
      offset: options.offset,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.searchWMRecords, request, options);
    return answer.hits.map(searchHitOf);
  }

  /**
   * Answer a structured query over the tenant's records, of all entities. A query has columns, a condition, groups, an
   * order and a limit; it is not SQL. The service runs it as one read-only statement, within the deadline of the call.
   *
   * A column is one of these. A field of WMRecord by its name in this proto, except `contentJson` and `contentText`;
   * `status` is "active" or "archived", `indexState` "none", "pending", "indexed" or "failed". `metadata`, or a path
   * into it (`metadata.a.b`; a number selects an element of a list). `count(*)`, or `count`, `sum`, `avg`, `min` or
   * `max` of one of those: `max(created_at)`. `sum` and `avg` take numbers; `min` and `max` also take texts and times.
   * For a path, they use the values of the type that fits (numbers before texts). `count` of a column counts the rows
   * that have a value; an empty text or list is none.
   *
   * `whereJson` is a condition tree: {"memory_type": "file", "metadata.score": {"$gte": 0.5}, "$or": [{...}, {...}]}.
   * Operators: $eq (also a bare value), $ne, $gt, $gte, $lt, $lte, $in, $nin, $like, $ilike (% and _, backslash
   * escapes), $exists, $not; $and and $or join conditions; several fields in one object must all match. A missing value
   * equals nothing, so $ne, $nin and $not are true for it. null means "missing" for a field, and JSON's null in the
   * metadata. A value whose type differs from that of a field is an error; in the metadata it is unequal, and neither
   * less nor greater. Times are RFC 3339 texts. `tags` matches if one of the tags does. A condition has at most 64 KiB,
   * 200 comparisons and 16 levels.
   *
   * Throws InvalidArgument (the violation names the path, such as `where_json.$and[1].name.$in`), LimitExceeded,
   * AnswerTooLarge (over 3 MiB: select fewer columns, or set a lower limit).
   */
  async query(options: RecordsQueryOptions & CallOptions): Promise<QueriedRows> {
    const request = {
      select: options.select,
      whereJson: toObject(options.where, "where_json"),
      groupBy: options.groupBy,
      orderBy: options.orderBy,
      limit: options.limit,
      includeArchived: options.includeArchived,
      offset: options.offset,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.queryWMRecords, request, options);
    return queriedRowsOf(answer);
  }

  /**
   * Archive a record: lists leave it out, and reads without `includeArchived` fail with RecordArchived.
   * RestoreWMRecord restores it until its retention ends (a setting; default: 30 days after it was archived or
   * expired). Then, or at once with `purge`, the service deletes it for good. It deletes the bytes after its grace
   * period (7 days), if no other record shares them. The log of the record stays.
   *
   * A repeat is harmless: an archived record stays as it is, and the purge of a purged record is no error.
   *
   * Throws RecordNotFound.
   *
   * @param workingMemoryId The record to archive or purge.
   * @param options.purge Delete it for good, archived or not.
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
   * Restore an archived record, or one past its `expiresAt`, which the call removes. A repeat is harmless.
   *
   * Throws RecordNotFound (it never existed, or it was purged).
   *
   * @param workingMemoryId The record to restore.
   */
  async restore(workingMemoryId: string, options: CallOptions = {}): Promise<WMRecord> {
    const request = {
      workingMemoryId,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.restoreWMRecord, request, options);
    return wmRecordOf(answer.record!);
  }

  /**
   * List the log of a record, oldest first. Every change of a record writes an entry in the same transaction. Entries
   * are never changed or deleted, and stay readable after a purge of the record.
   *
   * Throws RecordNotFound (it never existed), InvalidPageToken.
   *
   * @param workingMemoryId The record whose log to list.
   * @param options.pageSize Entries per page. 0: 100. Values above 1,000 count as 1,000.
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
