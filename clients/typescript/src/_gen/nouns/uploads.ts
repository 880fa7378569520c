// Made from the protos by `make proto`.

import * as workingMemoryPb from "../../gen/contextkeep/context/v1/working_memory_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { whole } from "../../messages.js";
import { Noun } from "../../noun.js";
import { type Upload, uploadOf } from "../working-memory.js";

/** The calls of `uploads` that are one method each. */
export class GeneratedUploads extends Noun<AppClient> {
  /**
   * Add one part of up to 1 MiB to an upload, in one request. Use it where uploads.append, a stream, is not at hand: over
   * HTTP. A part in JSON has up to 750 kB, because its base64 counts against the size of a body.
   *
   * The part is added as by uploads.append, and the errors are the same.
   *
   * Throws InvalidArgument, UploadNotFound, UploadPartExists, UploadGap, LimitExceeded, SizeMismatch,
   * BlobTooLarge, UploadExpired, Unavailable, StorageFull. None of them ends the upload.
   *
   * @param uploadId The upload to add to.
   * @param content The bytes of the part, from 1 byte to 1 MiB.
   * @param options.offsetBytes Where the part begins in the whole file.
   */
  async appendPart(
    uploadId: string,
    content: Uint8Array,
    options: { offsetBytes?: number } & CallOptions = {},
  ): Promise<Upload> {
    const request = {
      uploadId,
      offsetBytes: whole("offset_bytes", options.offsetBytes),
      content,
    };
    const answer = await this.client.call(workingMemoryPb.WorkingMemory.method.appendUploadPart, request, options);
    return uploadOf(answer.upload!);
  }

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
