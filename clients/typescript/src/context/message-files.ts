/** Uploads of files in messages, artifacts and tasks that are too large for a request. */

import type { File, MessageInput, Part } from "../gen/contextkeep/context/v1/message_pb.js";
import { rowId } from "../ids.js";
import type { AppClient } from "./app.js";
import { Blobs } from "./blobs.js";

const INLINE_BYTES_MAX = 3 * 1024 * 1024; // of files in a request, which takes up to 4 MiB

/** Return a client that uploads the largest files of messages, artifacts and tasks first if a request has too many bytes. */
export function withUploads(client: AppClient): AppClient {
  const blobs = new Blobs(client);
  const uploading = Object.create(client) as AppClient;
  uploading.call = async (rpc, request, options, mayRepeat) => {
    for (const [number, file] of filesToUpload(request as WithParts).entries()) {
      const { name, mediaType, source } = file;
      const buffer = source.value as Uint8Array;
      const upload = { buffer, name: name || "file", memoryType: "message_file", contentType: mediaType };
      // The same request names the same records when it is sent again.
      const requestId = rowId((request as { requestId?: string }).requestId || undefined, `file ${number}`);
      const { workingMemoryId } = await blobs.upload({ ...upload, requestId, signal: options?.signal });
      file.source = { case: "workingMemoryId", value: workingMemoryId };
    }
    return client.call(rpc, request, options, mayRepeat);
  };
  return uploading;
}

/** The requests whose parts may have the bytes of files. */
interface WithParts {
  message?: MessageInput;
  messages?: MessageInput[];
  artifact?: { parts?: Part[] };
  task?: { status?: { message?: MessageInput } };
}

function filesToUpload(request: WithParts): File[] {
  const { message, messages = [], artifact, task } = request;
  const parts = [message, ...messages, artifact, task?.status?.message].flatMap((each) => each?.parts ?? []);
  const files = parts.flatMap(({ content }) => {
    if (content?.case === "toolResult") return content.value.files ?? [];
    return content?.case === "file" ? [content.value] : [];
  });
  const sizeOf = (file: File) => (file.source?.case === "data" ? file.source.value.length : 0);
  let surplus = files.reduce((sum, file) => sum + sizeOf(file), 0) - INLINE_BYTES_MAX;
  const chosen: File[] = [];
  for (const file of [...files].sort((a, b) => sizeOf(b) - sizeOf(a))) {
    if (surplus <= 0) break;
    surplus -= sizeOf(file);
    chosen.push(file);
  }
  return chosen;
}
