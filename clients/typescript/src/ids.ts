/** Ids made by the client. */

import { createHash, randomBytes } from "node:crypto";

import { InvalidArgument } from "./gen/errors.js";

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;

/** Return a new UUID of version 7 (RFC 9562): rows that are written together lie together in the server's indexes. */
export function newId(): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(Date.now(), 0, 6);
  return idOf(bytes, 0x70);
}

/**
 * Return the id of a row that is written with others: new, or always the same one of a given request id (a UUID of version 5), so
 * that another process's repeat of the request has it too.
 *
 * @throws InvalidArgument The request id is not a UUID.
 */
export function rowId(requestId: string | undefined, row: string): string {
  if (requestId === undefined) return newId();
  if (!UUID.test(requestId)) {
    throw new InvalidArgument(`requestId is ${JSON.stringify(requestId)}, not a UUID`, { field: "request_id" });
  }
  const namespace = Buffer.from(requestId.replaceAll("-", ""), "hex");
  return idOf(createHash("sha1").update(namespace).update(row).digest(), 0x50);
}

function idOf(bytes: Buffer, version: number): string {
  bytes[6] = version | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
