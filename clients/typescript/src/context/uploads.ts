/** Uploads that survive broken connections and restarts. */

import { randomUUID } from "node:crypto";

import { create } from "@bufbuild/protobuf";

import { GeneratedUploads } from "../_gen/nouns/uploads.js";
import { type Upload, type WMRecord, uploadOf, wmRecordOf } from "../_gen/working-memory.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/working_memory_pb.js";
import { InvalidArgument } from "../gen/errors.js";
import { whole } from "../messages.js";
import * as records from "../records.js";
import type { RecordFields } from "../records.js";
import { type ResumeOptions, patiently, sendRest } from "../resumable.js";
import { type ByteStream, cut } from "../transfer.js";

const memory = pb.WorkingMemory.method;

const FINISH_TIMEOUT_MS = 3_600_000; // the service reads and writes every byte once more

/** A new resumable upload. */
export interface NewUpload extends RecordFields {
  name: string;
  workingMemoryId?: string;
  /** Size of the whole file, if you know it. The same applies to the hash. */
  sizeBytes?: number;
  sha256?: string;
  /** A UUID. A repeat with the same one returns the same upload. */
  requestId?: string;
}

/** Each RPC is one method; `upload` and `resume` call several of them. */
export class Uploads extends GeneratedUploads {
  /**
   * Store a stream like `blobs.upload`, but in parts that are each stored at once: a broken connection or a restart of
   * the service costs one part, not the whole file. Store the id that `onStarted` gets: if this process ends,
   * `uploads.resume` continues the upload.
   *
   * @throws Unavailable The service did not answer for too long.
   */
  async upload(
    upload: NewUpload & ResumeOptions & { stream: ByteStream; onStarted?: (uploadId: string) => void },
  ): Promise<WMRecord> {
    const request = { ...upload, requestId: upload.requestId ?? randomUUID(), timeoutMs: undefined };
    const started = await patiently(upload, () => this.start(request));
    upload.onStarted?.(started.uploadId);
    return sendRest(this, started, upload.stream, upload);
  }

  /**
   * Continue an upload that was started in this or another process, and return its record.
   *
   * @param stream The same bytes, from their start.
   * @throws UploadNotFound The upload was discarded, after a day without a new part.
   * @throws ChecksumMismatch The bytes differ from those that the upload was started with.
   */
  async resume(uploadId: string, stream: ByteStream, options: ResumeOptions = {}): Promise<WMRecord> {
    const upload = await patiently(options, () => this.get(uploadId, { ...options, timeoutMs: undefined }));
    return sendRest(this, upload, stream, options);
  }

  /** Start an upload that survives broken connections and restarts; `uploads.resume` sends the bytes. */
  async start(upload: NewUpload & CallOptions): Promise<Upload> {
    const { record, sizeBytes, sha256, requestId } = uploadHeader(upload, upload.sizeBytes, this.client.appId);
    const { upload: started } = await this.client.call(memory.startUpload, { record, sizeBytes, sha256, requestId }, upload);
    return uploadOf(started!);
  }

  /**
   * Add one part to an upload, in one piece or several. The part is sent once: after an error, `uploads.get` shows
   * whether it arrived.
   *
   * @throws UploadPartExists The upload already has bytes beyond this offset: `offset_bytes` in the metadata.
   */
  async append(
    uploadId: string,
    offsetBytes: number,
    part: Uint8Array | Uint8Array[],
    options: CallOptions = {},
  ): Promise<Upload> {
    const header = { uploadId, offsetBytes: whole("offset_bytes", offsetBytes) };
    const messages = partMessages(header, part instanceof Uint8Array ? [part] : part);
    const settings = this.client.settings(options, this.client.attempts(options, options.timeoutMs, false));
    return uploadOf((await this.client.connection.upload(memory.appendUpload, messages, settings)).upload!);
  }

  /**
   * Make a record of an upload and return it. A repeat returns the same record. The call may take minutes; its deadline
   * is an hour.
   *
   * @throws SizeMismatch The parts have another number of bytes. They stay, and further parts may be added.
   */
  async finish(
    uploadId: string,
    options: { sizeBytes?: number; sha256?: string } & CallOptions = {},
  ): Promise<WMRecord> {
    const request = { uploadId, sizeBytes: whole("size_bytes", options.sizeBytes), sha256: options.sha256 };
    const call = { ...options, timeoutMs: options.timeoutMs ?? FINISH_TIMEOUT_MS };
    return wmRecordOf((await this.client.call(memory.finishUpload, request, call)).record!);
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

/** Return the header of an upload; its record belongs to the app `appId` if it names no app. */
export function uploadHeader(upload: NewUpload, sizeBytes: number | undefined, appId: string): pb.UploadHeader {
  if (!upload.name) throw new InvalidArgument("an upload needs a name", { field: "header.record.name" });
  return create(pb.UploadHeaderSchema, {
    record: records.recordInput({
      ...upload,
      appId: upload.appId ?? appId,
    memoryType: upload.memoryType ?? records.MemoryType.FILE,
      content: undefined, // it is in the chunks, whatever else the caller's object holds
      contentJson: undefined,
    } as RecordFields, "header.record"),
    sizeBytes: whole("header.size_bytes", sizeBytes),
    sha256: upload.sha256,
    requestId: upload.requestId ?? randomUUID(),
  });
}
