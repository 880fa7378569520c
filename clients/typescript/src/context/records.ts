/** Records of working memory: changes of their content. */

import { GeneratedRecords } from "../_gen/nouns/records.js";
import { type WMRecord, wmRecordOf } from "../_gen/working-memory.js";
import * as pb from "../gen/contextkeep/context/v1/working_memory_pb.js";
import { type InlineContent, type RecordFields, recordInput, recordMask } from "../records.js";
import { type VersionOptions, type WriteOptions, expectedVersion, requestId } from "../writes.js";

const memory = pb.WorkingMemory.method;

/** Each RPC is one method. */
export class Records extends GeneratedRecords {
  /**
   * Change fields of a record and return it: fields that are not given stay, empty values empty a field. Metadata are
   * replaced, not merged.
   *
   * @throws VersionConflict The record has another version than `expectedVersion`: `version` in the metadata.
   */
  async update(
    workingMemoryId: string,
    changes: RecordFields & InlineContent & WriteOptions & VersionOptions,
  ): Promise<WMRecord> {
    const request = {
      record: recordInput({ ...changes, workingMemoryId }, "record"),
      updateMask: { paths: recordMask(changes) },
      expectedVersion: expectedVersion(changes),
      requestId: requestId(changes),
    };
    return wmRecordOf((await this.client.call(memory.updateWMRecord, request, changes)).record!);
  }
}
