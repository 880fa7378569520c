// Made from the protos by `make proto`.

import * as workingMemoryPb from "../../gen/contextkeep/context/v1/working_memory_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { type Upload, uploadOf } from "../working-memory.js";

/** The calls of `uploads` that are one method each. */
export class GeneratedUploads extends Noun<AppClient> {
  /**
   * Return the progress of an upload; for one that finished within the last day, its record.
   *
   * Throws UploadNotFound (it never existed, it expired, or it finished longer ago).
   *
   * @param uploadId The upload to read.
   */
  async get(uploadId: string, options: CallOptions = {}): Promise<Upload> {
    const request = {
      uploadId,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.getUpload, request, options);
    return uploadOf(answer.upload!);
  }
}
