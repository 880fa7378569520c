/** Records of working memory: written, read, changed, archived. */

import { randomUUID } from "node:crypto";

import { type ManifestEntity, type WMRecord, manifestEntityOf, wmRecordOf } from "../_gen/working-memory.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/working_memory_pb.js";
import { toObject } from "../json.js";
import { whole } from "../messages.js";
import * as records from "../records.js";
import type { InlineContent, RecordFields } from "../records.js";
import { type NodeName, nameFields } from "../names.js";
import { Rows, pages } from "../rows.js";
import type { VersionOptions, WriteOptions } from "../writes.js";
import { GeneratedCalls } from "../_gen/calls.js";

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
export abstract class RecordCalls extends GeneratedCalls {
  /**
   * Write a record with inline content, JSON or text, or with none, and return it.
   *
   * @throws RecordExists The id is taken.
   */
  async insertWMRecord(
    record: RecordFields & InlineContent & { workingMemoryId?: string; name: string; memoryType: string } & WriteOptions,
  ): Promise<WMRecord> {
    const request = { record: this.recordInput(record), requestId: record.requestId ?? randomUUID() };
    return wmRecordOf((await this.call(memory.insertWMRecord, request, record)).record!);
  }

  /**
   * Change fields of a record and return it: what is not given stays, what is empty is emptied. Metadata are replaced, not merged.
   *
   * @throws VersionConflict `expectedVersion` is stale: `version` in the metadata.
   */
  async updateWMRecord(
    workingMemoryId: string,
    changes: RecordFields & InlineContent & WriteOptions & VersionOptions,
  ): Promise<WMRecord> {
    const request = {
      record: records.recordInput({ ...changes, workingMemoryId }),
      updateMask: { paths: records.recordMask(changes) },
      expectedVersion: whole("expected_version", changes.expectedVersion),
      requestId: changes.requestId ?? randomUUID(),
    };
    return wmRecordOf((await this.call(memory.updateWMRecord, request, changes)).record!);
  }

  /** The records of an entity, newest first; with their inline content if `withContent`. */
  fetchWMRecordsByEntity(
    entity: NodeName,
    options: RecordFilter & { withContent?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<WMRecord> {
    const { withContent, pageSize } = options;
    const filter = recordFilter(options);
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { ...nameFields("entityNodeId", entity), ...filter, withContent, pageSize, pageToken };
        const page = await this.call(memory.fetchWMRecordsByEntity, request, options);
        return [page.records.map(wmRecordOf), page.nextPageToken];
      }),
    );
  }

  /**
   * The entities below a root that have records, with these by memory type, counted. A root that is no node gives its own records.
   *
   * @throws NodeBudgetExceeded There are too many entities below the root.
   */
  fetchWMManifest(
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
        const page = await this.call(memory.fetchWMManifest, request, options);
        return [page.entities.map(manifestEntityOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Archive a record and return it as it is now; `restoreWMRecord` brings it back. With `purge` it is gone for good, and nothing is
   * returned.
   */
  async deleteWMRecord(
    workingMemoryId: string,
    options: { purge?: boolean } & CallOptions = {},
  ): Promise<WMRecord | undefined> {
    const request = { workingMemoryId, purge: options.purge };
    const { record } = await this.call(memory.deleteWMRecord, request, options);
    return record && wmRecordOf(record);
  }

  protected recordInput(record: RecordFields & InlineContent & { workingMemoryId?: string }): pb.WMRecordInput {
    return records.recordInput({ ...record, appId: record.appId ?? this.appId });
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
