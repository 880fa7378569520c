/** The files of packs and histories: their bytes are read once, kept, and inserted into the body. */

import { createHash } from "node:crypto";

import type { BodyFile } from "./_gen/chat-history.js";
import type { Client } from "./client.js";
import type { ContextOptions } from "./context/app.js";
import { WorkingMemory } from "./gen/contextkeep/context/v1/working_memory_pb.js";
import { BlobCorrupted } from "./gen/errors.js";
import type { JsonObject } from "./json.js";

const BYTES_MAX = 64 * 1024 * 1024;
const READ_AT_ONCE = 4;

/**
 * The base64 of files, by their sha256, up to 64 MiB. All views of a client share it. The service names the sha256 of a file only to callers that
 * may read the file.
 */
export class FileCache {
  private readonly kept = new Map<string, string>();
  private chars = 0;

  /** Return the base64 of a file if it is kept; it is then the last one to be dropped. */
  get(sha256: string): string | undefined {
    const base64 = this.kept.get(sha256);
    if (base64 !== undefined) {
      this.kept.delete(sha256);
      this.kept.set(sha256, base64);
    }
    return base64;
  }

  /** Keep the base64 of a file, in the place of those that were used longest ago. */
  set(sha256: string, base64: string): void {
    if (!this.kept.has(sha256)) this.chars += base64.length;
    this.kept.set(sha256, base64);
    for (const [oldest, { length }] of this.kept) {
      if (this.chars <= BYTES_MAX) return;
      this.kept.delete(oldest);
      this.chars -= length;
    }
  }
}

/**
 * Append the base64 of each file to its string in a body.
 *
 * @throws BlobCorrupted The bytes that arrived are not those of the file.
 */
export async function insertFiles(client: Client, body: JsonObject, files: readonly BodyFile[], options: ContextOptions = {}): Promise<void> {
  const cache = client.fileCache;
  const contents = new Map<string, string>();
  const missing = new Map<string, BodyFile>();
  for (const file of files) {
    const base64 = cache.get(file.sha256);
    if (base64 === undefined) missing.set(file.sha256, file);
    else contents.set(file.sha256, base64);
  }
  const todo = [...missing.values()];
  const work = async () => {
    for (let file = todo.pop(); file; file = todo.pop()) {
      const base64 = await contentOf(client, file, options);
      contents.set(file.sha256, base64);
      cache.set(file.sha256, base64);
    }
  };
  await Promise.all(Array.from({ length: READ_AT_ONCE }, work));
  for (const file of files) append(body, file.pointer, contents.get(file.sha256)!);
}

async function contentOf(client: Client, file: BodyFile, options: ContextOptions): Promise<string> {
  const { subjectUserId } = options;
  const parts: Uint8Array[] = [];
  const answers = client.stream(WorkingMemory.method.getBlob, { workingMemoryId: file.workingMemoryId, subjectUserId }, options);
  for await (const { part } of answers) if (part.case === "chunk") parts.push(part.value);
  const content = Buffer.concat(parts);
  const sha256 = createHash("sha256").update(content).digest("hex");
  if (sha256 !== file.sha256) {
    throw new BlobCorrupted(`the bytes of file ${file.workingMemoryId} have the sha256 ${sha256}, not ${file.sha256}`);
  }
  return content.toString("base64");
}

/** Append a text to the string at a JSON Pointer. */
function append(body: JsonObject, pointer: string, text: string): void {
  const names = pointer.split("/").slice(1);
  const last = names.pop()!;
  let holder: any = body;
  for (const name of names) holder = holder[name];
  holder[last] += text;
}
