/** Blobs: uploads, downloads, ranges and URLs. */

import { create } from "@bufbuild/protobuf";

import { GeneratedBlobs } from "../_gen/nouns/blobs.js";
import { type WMRecord, wmRecordOf } from "../_gen/working-memory.js";
import type { CallOptions } from "../client.js";
import type { CallSettings } from "../connection.js";
import * as pb from "../gen/contextkeep/context/v1/working_memory_pb.js";
import { AnswerTooLarge, Internal } from "../gen/errors.js";
import { whole } from "../messages.js";
import * as records from "../records.js";
import type { BlobName, RecordFields } from "../records.js";
import { BlobReader, type ByteStream, type OnProgress, Tally, checkUpload, cut } from "../transfer.js";
import type { WriteOptions } from "../writes.js";
import { uploadHeader } from "./uploads.js";

const memory = pb.WorkingMemory.method;

export interface UploadOptions extends RecordFields, WriteOptions {
  name: string;
  /** A UUID. Default: the server makes one. */
  workingMemoryId?: string;
  /** Hash in hexadecimal, if you know it. The service then refuses other bytes. */
  sha256?: string;
  onProgress?: OnProgress;
}

/** The bytes of an upload: in memory, or a stream, with their number if you know it. */
export type UploadSource =
  | { buffer: Uint8Array; stream?: undefined; sizeBytes?: undefined }
  | { buffer?: undefined; stream: ByteStream; sizeBytes?: number };

export interface ReadOptions extends CallOptions {
  /** Position of the first byte. Default: 0. */
  offsetBytes?: number;
  /** Number of bytes. 0, or a number beyond the end, reads to the end. */
  lengthBytes?: number;
  /** Read the blob even if its record is archived. */
  includeArchived?: boolean;
  /** The user for whom to read a file of a context. */
  subjectUserId?: string;
}

/** Each RPC is one method. */
export class Blobs extends GeneratedBlobs {
  /**
   * Store a buffer, or the bytes of a stream, as a blob and return its record. When it returns, the bytes are durable;
   * until then nothing is visible.
   *
   * The answer is compared with the sent bytes. A buffer that failed with `Unavailable` is sent again, with the same
   * request id. A stream is sent once, since it cannot be read again, and never held at once; if it fails, nothing is
   * stored, and its error is thrown.
   *
   * @throws BlobTooLarge The blob exceeds the size limit. Nothing was stored.
   * @throws ChecksumMismatch The bytes have another hash than `sha256`. Nothing was stored.
   * @throws SizeMismatch The stream had more or fewer than `sizeBytes` bytes. Nothing was stored.
   */
  async upload(upload: UploadOptions & UploadSource): Promise<WMRecord> {
    const [source, sizeBytes] = upload.buffer ? [[upload.buffer], upload.buffer.length] : [upload.stream, upload.sizeBytes];
    const header = uploadHeader(upload, sizeBytes, this.client.appId);
    const attempts = this.client.attempts(upload, upload.timeoutMs, upload.buffer !== undefined);
    return attempts.run(() => this.sent(header, source, upload, this.client.settings(upload, attempts)));
  }

  /**
   * Open a blob, or a range of it: its record, then its bytes as they arrive.
   *
   * @throws BlobNotFound No blob has this key.
   * @throws RecordHasNoBlob The content of the record is inline: see `blobs.getContent`.
   */
  async get(blob: BlobName, options: ReadOptions = {}): Promise<BlobReader> {
    return this.opened(blob, options, true);
  }

  /** Return the bytes of a blob, checked against its sha256. If the connection breaks, the read starts again. */
  async getAsBuffer(
    blob: BlobName,
    options: { includeArchived?: boolean; subjectUserId?: string; onProgress?: OnProgress } & CallOptions = {},
  ): Promise<Buffer> {
    const attempts = this.client.attempts(options, options.timeoutMs);
    return attempts.run(async () => {
      const once = { ...options, timeoutMs: attempts.remainingMs() };
      const reader = await this.opened(blob, once, false); // all of this is repeated
      const bytes = Buffer.allocUnsafeSlow(reader.sizeBytes);
      let doneBytes = 0;
      for await (const chunk of reader) {
        bytes.set(chunk, doneBytes);
        doneBytes += chunk.length;
        options.onProgress?.(doneBytes, reader.sizeBytes);
      }
      return bytes;
    });
  }

  /**
   * Return the content of a record: the bytes of its blob, or its inline content; empty if it has none.
   *
   * With `offsetBytes` or `lengthBytes`, up to 3 MiB, it returns that range; `lengthBytes` 0 reads to the end.
   */
  async getContent(record: BlobName, options: ReadOptions = {}): Promise<Buffer> {
    const { offsetBytes = 0, lengthBytes = 0, includeArchived, subjectUserId } = options;
    const request = {
      ...records.blobName(record),
      offsetBytes: whole("offset_bytes", offsetBytes),
      lengthBytes: whole("length_bytes", lengthBytes),
      includeArchived,
      subjectUserId,
    };
    try {
      const { content } = await this.client.call(memory.getContent, request, options);
      return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    } catch (error) {
      if (!(error instanceof AnswerTooLarge) || offsetBytes || lengthBytes) throw error;
      return this.getAsBuffer(record, options); // over 3 MiB: only a blob is
    }
  }

  private async opened(blob: BlobName, options: ReadOptions, mayRepeat: boolean): Promise<BlobReader> {
    const { offsetBytes = 0, lengthBytes = 0, includeArchived, subjectUserId } = options;
    const request = {
      ...records.blobName(blob),
      offsetBytes: whole("offset_bytes", offsetBytes),
      lengthBytes: whole("length_bytes", lengthBytes),
      includeArchived,
      subjectUserId,
    };
    const answers = this.client.stream(memory.getBlob, request, options, mayRepeat);
    const first = await answers.next();
    if (first.done || first.value.part.case !== "record") {
      await answers.return(undefined);
      throw new Internal("the service sent no record before the bytes of a blob");
    }
    return new BlobReader(wmRecordOf(first.value.part.value), { offsetBytes, lengthBytes }, answers);
  }

  private async sent(
    header: pb.UploadHeader,
    source: ByteStream,
    options: UploadOptions,
    settings: CallSettings,
  ): Promise<WMRecord> {
    const tally = new Tally();
    const totalBytes = header.sizeBytes === undefined ? undefined : Number(header.sizeBytes);
    const messages = uploadMessages(header, source, tally, (doneBytes) => options.onProgress?.(doneBytes, totalBytes));
    try {
      const answer = await this.client.connection.upload(memory.uploadBlob, messages, settings);
      for await (const _ of messages); // a repeated request is answered before it is read; its bytes must be the same
      const record = wmRecordOf(answer.record!);
      checkUpload(record, tally);
      return record;
    } finally {
      await messages.return(undefined);
    }
  }
}

/** Yield the messages of an upload; report progress after each chunk. */
async function* uploadMessages(
  header: pb.UploadHeader,
  source: ByteStream,
  tally: Tally,
  report: (doneBytes: number) => void,
): AsyncGenerator<pb.UploadBlobRequest> {
  yield create(pb.UploadBlobRequestSchema, { part: { case: "header", value: header } });
  for await (const chunk of cut(source)) {
    tally.add(chunk);
    yield create(pb.UploadBlobRequestSchema, { part: { case: "chunk", value: chunk } });
    report(tally.sizeBytes);
  }
}
