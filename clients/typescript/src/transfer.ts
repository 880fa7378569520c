/** Bytes on their way: cut into chunks, counted, hashed, compared. */

import { createHash } from "node:crypto";

import type { WMRecord } from "./_gen/working-memory.js";
import type { GetBlobResponse } from "./gen/contextkeep/context/v1/working_memory_pb.js";
import { BlobCorrupted, InvalidArgument } from "./gen/errors.js";

/** The largest that a message may carry, and the fastest. */
const CHUNK_BYTES = 1024 * 1024;

/** Where the bytes of an upload may come from: a Node stream, a web stream, a generator. */
export type ByteStream = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Told the bytes so far and, where known, the bytes of the whole. What it throws ends the transfer. */
export type OnProgress = (doneBytes: number, totalBytes: number | undefined) => void;

/** Cut the pieces of a source, large or tiny, into chunks of 1 MiB; the last may be shorter. */
export async function* cut(source: ByteStream): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const piece of source) {
    if (!(piece instanceof Uint8Array)) {
      throw new InvalidArgument(`the source gave a ${typeof piece}, not bytes`, { field: "stream" });
    }
    let start = 0;
    while (heldBytes + piece.length - start >= CHUNK_BYTES) {
      const end = start + CHUNK_BYTES - heldBytes;
      yield joined([...held, piece.subarray(start, end)]);
      held = [];
      heldBytes = 0;
      start = end;
    }
    if (start < piece.length) {
      held.push(Uint8Array.prototype.slice.call(piece, start)); // a source may use its buffer again
      heldBytes += piece.length - start;
    }
  }
  if (heldBytes) yield joined(held);
}

function joined(pieces: Uint8Array[]): Uint8Array {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}

/** Counts and hashes the bytes of a transfer. */
export class Tally {
  sizeBytes = 0;
  private readonly hash = createHash("sha256");

  add(chunk: Uint8Array): void {
    this.hash.update(chunk);
    this.sizeBytes += chunk.length;
  }

  /** The checksum of all bytes, in hexadecimal; nothing can be added afterwards. */
  sha256(): string {
    return this.hash.digest("hex");
  }
}

/**
 * Compare the stored bytes with those that were sent.
 *
 * @throws BlobCorrupted They differ.
 */
export function checkUpload(record: WMRecord, tally: Tally): void {
  const sha256 = tally.sha256();
  if (record.sizeBytes === tally.sizeBytes && record.sha256.toLowerCase() === sha256) return;
  throw new BlobCorrupted("the service stored other bytes than were sent; delete the record and send them again", {
    metadata: {
      working_memory_id: record.workingMemoryId,
      size_bytes: String(record.sizeBytes),
      size_bytes_sent: String(tally.sizeBytes),
      sha256: record.sha256,
      sha256_sent: sha256,
    },
  });
}

/**
 * The bytes of a blob as they arrive; made by `blobs.get`. Iterate it once, or give it to what takes a stream:
 * `Readable.from(blob)`, `writeFile(path, blob)`.
 *
 * At the end the number of bytes is checked, and of a whole blob the sha256: if that throws `BlobCorrupted`, what came before is
 * to be thrown away. Leaving the loop early cancels the rest; without a loop, `close` does.
 */
export class BlobReader implements AsyncIterable<Uint8Array> {
  /** Of this read: the blob's, or the range's. */
  readonly sizeBytes: number;
  private readonly chunks: AsyncGenerator<Uint8Array>;

  constructor(
    readonly record: WMRecord,
    range: { offsetBytes: number; lengthBytes: number },
    private readonly answers: AsyncGenerator<GetBlobResponse>,
  ) {
    const toEnd = Math.max(0, record.sizeBytes - range.offsetBytes);
    this.sizeBytes = range.lengthBytes ? Math.min(range.lengthBytes, toEnd) : toEnd;
    this.chunks = checked(record, this.sizeBytes, answers);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.chunks;
  }

  /** Cancel the rest of the stream. */
  async close(): Promise<void> {
    await this.chunks.return(undefined);
    await this.answers.return(undefined);
  }
}

async function* checked(
  record: WMRecord,
  sizeBytes: number,
  answers: AsyncGenerator<GetBlobResponse>,
): AsyncGenerator<Uint8Array> {
  const tally = new Tally();
  for await (const { part } of answers) {
    if (part.case !== "chunk") continue;
    tally.add(part.value);
    if (tally.sizeBytes > sizeBytes) break;
    yield part.value;
  }
  const whole = sizeBytes === record.sizeBytes;
  if (tally.sizeBytes !== sizeBytes || (whole && tally.sha256() !== record.sha256.toLowerCase())) {
    throw new BlobCorrupted("the bytes that arrived are not those of the blob; throw them away and read again", {
      metadata: {
        working_memory_id: record.workingMemoryId,
        size_bytes: String(sizeBytes),
        size_bytes_received: String(tally.sizeBytes),
        sha256: record.sha256,
      },
    });
  }
}
