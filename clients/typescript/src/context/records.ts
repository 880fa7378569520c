/** Records found by words, vectors and conditions. */

import { randomUUID } from "node:crypto";
import { GeneratedRecords } from "../_gen/nouns/records.js";
import { type WMRecord, wmRecordOf } from "../_gen/working-memory.js";
import * as pb from "../gen/contextkeep/context/v1/working_memory_pb.js";
import { whole } from "../messages.js";
import * as records from "../records.js";
import type { InlineContent, RecordFields } from "../records.js";
import type { VersionOptions, WriteOptions } from "../writes.js";

const memory = pb.WorkingMemory.method;

/** An RPC is one method. */
export class Records extends GeneratedRecords {
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
      record: records.recordInput({ ...changes, workingMemoryId }, "record"),
      updateMask: { paths: records.recordMask(changes) },
      expectedVersion: whole("expected_version", changes.expectedVersion),
      requestId: changes.requestId ?? randomUUID(),
    };
    return wmRecordOf((await this.client.call(memory.updateWMRecord, request, changes)).record!);
  }
}
