// Made from the protos by `make proto`.

import * as workingMemoryPb from "../../gen/contextkeep/context/v1/working_memory_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type RecordAction, type WMRecord, recordActionOf, wmRecordOf } from "../working-memory.js";

/** The calls of `records` that are one method each. */
export class GeneratedRecords extends Noun<AppClient> {
  /** Reads a record with its inline content. Throws RecordNotFound, RecordArchived. */
  async get(workingMemoryId: string, options: { includeArchived?: boolean } & CallOptions = {}): Promise<WMRecord> {
    const request = {
      workingMemoryId,
      includeArchived: options.includeArchived,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.fetchWMRecord, request, options);
    return wmRecordOf(answer.record!);
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
