/** Uploads that survive broken connections and restarts. */

import { randomUUID } from "node:crypto";

import { create } from "@bufbuild/protobuf";

import { type Upload, type WMRecord, uploadOf, wmRecordOf } from "../_gen/working-memory.js";
import type { CallOptions } from "../client.js";
import { InvalidArgument } from "../gen/errors.js";
import * as pb from "../gen/contextkeep/context/v1/working_memory_pb.js";
import { whole } from "../messages.js";
import * as records from "../records.js";
import type { RecordFields } from "../records.js";
import { type ResumeOptions, patiently, sendRest } from "../resumable.js";
import { type ByteStream, cut } from "../transfer.js";
import { SearchCalls } from "./search.js";

const memory = pb.WorkingMemory.method;

const FINISH_TIMEOUT_MS = 3_600_000; // the service reads and writes every byte once more

/** A resumable upload to begin. */
export interface NewUpload extends RecordFields {
  name: string;
  workingMemoryId?: string;
  /** Of the whole, where you know it; so of the next one. */
  sizeBytes?: number;
  sha256?: string;
  /** A UUID: the same one again answers the same upload. */
  requestId?: string;
}

/** An RPC is one method; `uploadResumable` and `resumeUpload` are made of them. */
export abstract class UploadCalls extends SearchCalls {
  /**
   * Store a stream as `uploadBlobFromStream` does, but in parts that each survive on their own: a broken connection or a restart of
   * the service costs one part, not the whole. Keep the id that `onStarted` gets: should this process end, `resumeUpload` goes on.
   *
   * @throws Unavailable The service was away for too long.
   */
  async uploadResumable(
    upload: NewUpload & ResumeOptions & { stream: ByteStream; onStarted?: (uploadId: string) => void },
  ): Promise<WMRecord> {
    const request = { ...upload, requestId: upload.requestId ?? randomUUID(), timeoutMs: undefined };
    const started = await patiently(upload, () => this.startUpload(request));
    upload.onStarted?.(started.uploadId);
    return sendRest(this, started, upload.stream, upload);
  }

  /**
   * Go on with an upload, in this process or another, and return its record.
   *
   * @param stream The same bytes again, from their start.
   * @throws UploadNotFound It was given up, after a day without a new part.
   * @throws ChecksumMismatch These are other bytes.
   */
  async resumeUpload(uploadId: string, stream: ByteStream, options: ResumeOptions = {}): Promise<WMRecord> {
    const upload = await patiently(options, () => this.getUpload(uploadId, { ...options, timeoutMs: undefined }));
    return sendRest(this, upload, stream, options);
  }

  /** Begin an upload that survives broken connections and restarts; `resumeUpload` does the rest of it. */
  async startUpload(upload: NewUpload & CallOptions): Promise<Upload> {
    const { record, sizeBytes, sha256, requestId } = this.uploadHeader(upload, upload.sizeBytes);
    const { upload: started } = await this.call(memory.startUpload, { record, sizeBytes, sha256, requestId }, upload);
    return uploadOf(started!);
  }

  /**
   * Add one part to an upload, in one piece or several. It is sent once: behind an error, `getUpload` tells whether it arrived.
   *
   * @throws UploadPartExists The upload is past this offset: `offset_bytes` in the metadata.
   */
  async appendUpload(
    uploadId: string,
    offsetBytes: number,
    part: Uint8Array | Uint8Array[],
    options: CallOptions = {},
  ): Promise<Upload> {
    const header = { uploadId, offsetBytes: whole("offset_bytes", offsetBytes) };
    const messages = partMessages(header, part instanceof Uint8Array ? [part] : part);
    const settings = this.settings(options, this.attempts(options, options.timeoutMs, false));
    return uploadOf((await this.connection.upload(memory.appendUpload, messages, settings)).upload!);
  }

  /**
   * Make a record of an upload and return it; again answers the same. It may take minutes, and has an hour.
   *
   * @throws SizeMismatch The parts are not as many bytes. They stay, and others may be added.
   */
  async finishUpload(
    uploadId: string,
    options: { sizeBytes?: number; sha256?: string } & CallOptions = {},
  ): Promise<WMRecord> {
    const request = { uploadId, sizeBytes: whole("size_bytes", options.sizeBytes), sha256: options.sha256 };
    const call = { ...options, timeoutMs: options.timeoutMs ?? FINISH_TIMEOUT_MS };
    return wmRecordOf((await this.call(memory.finishUpload, request, call)).record!);
  }

  protected uploadHeader(upload: NewUpload, sizeBytes: number | undefined): pb.UploadHeader {
    if (!upload.name) throw new InvalidArgument("an upload needs a name", { field: "header.record.name" });
    return create(pb.UploadHeaderSchema, {
      record: this.recordInput({
        ...upload,
        memoryType: upload.memoryType ?? records.MemoryType.FILE,
        content: undefined, // it is in the chunks, whatever else the caller's object holds
        contentJson: undefined,
      } as RecordFields),
      sizeBytes: whole("header.size_bytes", sizeBytes),
      sha256: upload.sha256,
      requestId: upload.requestId ?? randomUUID(),
    });
  }
}

/** Yield the messages of one part. */
async function* partMessages(
  header: { uploadId: string; offsetBytes: bigint | undefined },
  part: Uint8Array[],
): AsyncGenerator<pb.AppendUploadRequest> {
  yield create(pb.AppendUploadRequestSchema, { part: { case: "header", value: header } });
  for await (const chunk of cut(part)) {
    yield create(pb.AppendUploadRequestSchema, { part: { case: "chunk", value: chunk } });
  }
}
