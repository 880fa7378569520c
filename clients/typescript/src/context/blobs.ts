/** Blobs: there and back, ranges, URLs. */

import { create } from "@bufbuild/protobuf";

import { type BlobEntry, type WMRecord, blobEntryOf, wmRecordOf } from "../_gen/working-memory.js";
import type { CallOptions } from "../client.js";
import type { CallSettings } from "../connection.js";
import { AnswerTooLarge, Internal } from "../gen/errors.js";
import * as pb from "../gen/contextkeep/context/v1/working_memory_pb.js";
import { whole } from "../messages.js";
import * as records from "../records.js";
import type { BlobName, RecordFields } from "../records.js";
import { type NodeName, nameFields } from "../names.js";
import { Rows, pages } from "../rows.js";
import { timeText } from "../times.js";
import { BlobReader, type ByteStream, type OnProgress, Tally, checkUpload, cut } from "../transfer.js";
import type { WriteOptions } from "../writes.js";
import { UploadCalls } from "./uploads.js";

const memory = pb.WorkingMemory.method;

export interface UploadOptions extends RecordFields, WriteOptions {
  name: string;
  /** A UUID; else the server makes one. */
  workingMemoryId?: string;
  /** In hexadecimal, where you know it: the service then refuses other bytes. */
  sha256?: string;
  onProgress?: OnProgress;
}

export interface ReadOptions extends CallOptions {
  /** The first byte; else 0. */
  offsetBytes?: number;
  /** 0, or more than there is: to the end. */
  lengthBytes?: number;
  /** Read it although its record is archived. */
  includeArchived?: boolean;
}

/** An RPC is one method, or two: for buffers and for streams. */
export abstract class BlobCalls extends UploadCalls {
  /**
   * Store bytes as a blob and return its record. When it returns, they are durable; until then nothing is visible.
   *
   * The answer is compared with what was sent. An upload that failed with `Unavailable` is repeated, with the same request id.
   *
   * @throws BlobTooLarge The limit was passed. Nothing was stored.
   * @throws ChecksumMismatch The bytes have not the `sha256`. Nothing was stored.
   */
  async uploadBlobFromBuffer(upload: UploadOptions & { buffer: Uint8Array }): Promise<WMRecord> {
    const header = this.uploadHeader(upload, upload.buffer.length);
    const attempts = this.attempts(upload, upload.timeoutMs);
    return attempts.run(() => this.upload(header, [upload.buffer], upload, this.settings(upload, attempts)));
  }

  /**
   * Store what a stream gives as a blob and return its record; the bytes are never held at once.
   *
   * It is sent once, since a stream cannot be read again. If the stream fails, nothing is stored, and its error is thrown.
   *
   * @throws SizeMismatch The stream gave other than `sizeBytes` bytes. Nothing was stored.
   */
  async uploadBlobFromStream(upload: UploadOptions & { stream: ByteStream; sizeBytes?: number }): Promise<WMRecord> {
    const header = this.uploadHeader(upload, upload.sizeBytes);
    const attempts = this.attempts(upload, upload.timeoutMs, false);
    return attempts.run(() => this.upload(header, upload.stream, upload, this.settings(upload, attempts)));
  }

  /**
   * Open a blob, or a range of it: its record, then its bytes as they arrive.
   *
   * @throws BlobNotFound There is none of that key.
   * @throws RecordHasNoBlob Its content is inline: see `getContentAsBuffer`.
   */
  async getBlob(blob: BlobName, options: ReadOptions = {}): Promise<BlobReader> {
    return this.opened(blob, options, true);
  }

  /** Return the bytes of a blob, checked against its sha256. A read that breaks is begun again. */
  async getBlobAsBuffer(
    blob: BlobName,
    options: { includeArchived?: boolean; onProgress?: OnProgress } & CallOptions = {},
  ): Promise<Buffer> {
    const attempts = this.attempts(options, options.timeoutMs);
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

  /** Return the content of a record, wherever it lives: the bytes of its blob, or its inline JSON; none: empty. */
  async getContentAsBuffer(
    record: BlobName,
    options: { includeArchived?: boolean } & CallOptions = {},
  ): Promise<Buffer> {
    const request = { ...records.blobName(record), includeArchived: options.includeArchived };
    try {
      const { content } = await this.call(memory.getContent, request, options);
      return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    } catch (error) {
      if (!(error instanceof AnswerTooLarge)) throw error;
      return this.getBlobAsBuffer(record, options); // over 3 MiB: only a blob is
    }
  }

  /**
   * Return a URL that gives the blob to whoever has it, straight from the provider, until it expires.
   *
   * @throws NoDownloadUrl The provider, or its credentials, can sign none; use `getBlob`.
   */
  async createDownloadUrl(
    blob: BlobName,
    options: { lifetimeS?: number; includeArchived?: boolean } & CallOptions = {},
  ): Promise<{ url: string; expiresAt: string; record: WMRecord }> {
    const { lifetimeS, includeArchived } = options;
    const request = { ...records.blobName(blob), lifetimeS, includeArchived };
    const { url, expiresAt, record } = await this.call(memory.createDownloadUrl, request, options);
    return { url, expiresAt: timeText(expiresAt), record: wmRecordOf(record!) };
  }

  /** Archive the record that a blob belongs to, and return its id. */
  async deleteBlob(blob: BlobName, options: CallOptions = {}): Promise<string> {
    return (await this.call(memory.deleteBlob, records.blobName(blob), options)).workingMemoryId;
  }

  /** The blobs of an entity, newest first. */
  listBlobs(
    entity: NodeName,
    options: { includeArchived?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<BlobEntry> {
    const { includeArchived, pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { ...nameFields("entityNodeId", entity), includeArchived, pageSize, pageToken };
        const page = await this.call(memory.listBlobs, request, options);
        return [page.blobs.map(blobEntryOf), page.nextPageToken];
      }),
    );
  }

  private async opened(blob: BlobName, options: ReadOptions, mayRepeat: boolean): Promise<BlobReader> {
    const { offsetBytes = 0, lengthBytes = 0, includeArchived } = options;
    const request = {
      ...records.blobName(blob),
      offsetBytes: whole("offset_bytes", offsetBytes),
      lengthBytes: whole("length_bytes", lengthBytes),
      includeArchived,
    };
    const answers = this.stream(memory.getBlob, request, options, mayRepeat);
    const first = await answers.next();
    if (first.done || first.value.part.case !== "record") {
      await answers.return(undefined);
      throw new Internal("the service sent no record before the bytes of a blob");
    }
    return new BlobReader(wmRecordOf(first.value.part.value), { offsetBytes, lengthBytes }, answers);
  }

  private async upload(
    header: pb.UploadHeader,
    source: ByteStream,
    options: UploadOptions,
    settings: CallSettings,
  ): Promise<WMRecord> {
    const tally = new Tally();
    const totalBytes = header.sizeBytes === undefined ? undefined : Number(header.sizeBytes);
    const messages = uploadMessages(header, source, tally, (doneBytes) => options.onProgress?.(doneBytes, totalBytes));
    try {
      const answer = await this.connection.upload(memory.uploadBlob, messages, settings);
      for await (const _ of messages); // a repeated request is answered before it is read; its bytes must be the same
      const record = wmRecordOf(answer.record!);
      checkUpload(record, tally);
      return record;
    } finally {
      await messages.return(undefined);
    }
  }
}

/** Yield the messages of an upload; progress is told when a chunk was taken. */
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
