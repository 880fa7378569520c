/** Uploads in parts that each survive on their own: a broken connection or a restart costs one part, not the whole. */

import type { Upload, WMRecord } from "./_gen/working-memory.js";
import type { CallOptions } from "./client.js";
import type { Uploads } from "./context/uploads.js";
import { DeadlineExceeded, InvalidArgument, Unavailable, UploadPartExists } from "./gen/errors.js";
import { Attempts } from "./retries.js";
import { type ByteStream, type OnProgress, Tally, cut } from "./transfer.js";

const PART_BYTES = 16 * 1024 * 1024; // what a broken connection costs at most
const PATIENCE_MS = 120_000; // longer than a restart of the service

export interface ResumeOptions extends Omit<CallOptions, "timeoutMs"> {
  /** Told the bytes that are durable and, where known, all bytes. */
  onProgress?: OnProgress;
  /** The size of a part, which is held in memory; 16 MiB. */
  partBytes?: number;
  /** How long to go on trying while nothing gets through; 120,000. */
  patienceMs?: number;
}

/** Return what `attempt` returns, trying again as long as the patience lasts. */
export function patiently<T>(options: ResumeOptions, attempt: () => Promise<T>): Promise<T> {
  const { patienceMs = PATIENCE_MS, signal } = options;
  return new Attempts(undefined, Number.POSITIVE_INFINITY, patienceMs, signal, [Unavailable, DeadlineExceeded]).run(attempt);
}

/**
 * Send what an upload lacks, finish it, and return its record.
 *
 * The source is read from its start, so that all of it is compared with what the service has.
 */
export async function sendRest(
  uploads: Uploads,
  upload: Upload,
  source: ByteStream,
  options: ResumeOptions,
): Promise<WMRecord> {
  const partBytes = Math.min(options.partBytes ?? PART_BYTES, upload.partBytesMax);
  if (!(partBytes > 0)) throw new InvalidArgument("partBytes is not above 0", { field: "partBytes" });
  const call = { headers: options.headers, signal: options.signal };
  const tally = new Tally();
  let [offset, held, heldBytes] = [upload.offsetBytes, [] as Uint8Array[], 0];

  const append = async (): Promise<void> => {
    const [part, end] = [held, offset + heldBytes];
    let attempts = 0;
    await patiently(options, async () => {
      attempts += 1;
      if (attempts > 1 && (await uploads.get(upload.uploadId, call)).offsetBytes === end) return; // its answer was lost
      try {
        await uploads.append(upload.uploadId, offset, part, call);
      } catch (error) {
        // The attempt before was still on its way when we asked.
        const arrived = error instanceof UploadPartExists && error.metadata.offset_bytes === String(end);
        if (attempts === 1 || !arrived) throw error;
      }
    });
    [offset, held, heldBytes] = [end, [], 0];
    options.onProgress?.(end, upload.sizeBytes);
  };

  for await (const chunk of cut(source)) {
    const stored = Math.min(chunk.length, Math.max(0, upload.offsetBytes - tally.sizeBytes));
    tally.add(chunk);
    for (let rest = chunk.subarray(stored); rest.length > 0; ) {
      const taken = rest.subarray(0, partBytes - heldBytes);
      rest = rest.subarray(taken.length);
      held.push(Buffer.from(taken)); // a source may use its buffer again
      heldBytes += taken.length;
      if (heldBytes === partBytes) await append();
    }
  }
  if (heldBytes) await append();
  const [sizeBytes, sha256] = [tally.sizeBytes, tally.sha256()];
  return patiently(options, () => uploads.finish(upload.uploadId, { ...call, sizeBytes, sha256 }));
}
