/** From the status of a call to the error that it stands for. */

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { status as grpcStatus } from "@grpc/grpc-js";

import { ContextKeepError, type ErrorDetails, type FieldViolation, type StatusCode } from "./error.js";
import * as classes from "./gen/errors.js";

/** The trailing metadata that carries a serialized `google.rpc.Status`. */
export const DETAILS_KEY = "grpc-status-details-bin";

type ErrorClass = { new (message: string, details?: ErrorDetails): ContextKeepError; code: StatusCode; reason: string };

const CLASS_OF_REASON = new Map<string, ErrorClass>();
const CLASS_OF_CODE = new Map<StatusCode, ErrorClass>();
for (const errorClass of Object.values(classes) as ErrorClass[]) {
  CLASS_OF_REASON.set(errorClass.reason, errorClass);
  if (errorClass.reason === errorClass.code) CLASS_OF_CODE.set(errorClass.code, errorClass);
}

/**
 * Return the error that a status stands for.
 *
 * @param code Number of the gRPC status.
 * @param message Its text.
 * @param details The value of `grpc-status-details-bin`, if there was one. A malformed one is left out.
 */
export function errorOf(code: number, message: string, details?: Uint8Array): ContextKeepError {
  const name = (grpcStatus[code] ?? "UNKNOWN") as StatusCode;
  const found: Found = { message, reason: "", metadata: {}, violations: [] };
  try {
    if (details) readStatus(details, found);
  } catch {
    // Not ours; the status alone says what there is to say.
  }
  let errorClass = CLASS_OF_REASON.get(found.reason);
  if (errorClass?.code !== name) errorClass = CLASS_OF_CODE.get(name) ?? ContextKeepError; // a newer server, or not ours
  return new errorClass(found.message, {
    reason: found.reason || errorClass.reason,
    metadata: found.metadata,
    violations: found.violations,
    retryAfterMs: found.retryAfterMs,
  });
}

interface Found {
  message: string;
  reason: string;
  metadata: Record<string, string>;
  violations: FieldViolation[];
  retryAfterMs?: number;
}

// The messages of google.rpc are few and frozen: reading them takes fewer lines than generated code for them.

/** `google.rpc.Status`: 1 code, 2 message, 3 details (`Any`: 1 type URL, 2 value). */
function readStatus(bytes: Uint8Array, found: Found): void {
  const status = fieldsOf(bytes);
  found.message = text(status, 2) || found.message;
  for (const any of status.get(3) ?? []) {
    const detail = fieldsOf(any as Uint8Array);
    const value = fieldsOf((detail.get(2)?.[0] ?? new Uint8Array()) as Uint8Array);
    switch (text(detail, 1).split("/").pop()) {
      case "google.rpc.ErrorInfo": // 1 reason, 2 domain, 3 metadata
        found.reason = text(value, 1);
        for (const entry of value.get(3) ?? []) {
          const pair = fieldsOf(entry as Uint8Array);
          found.metadata[text(pair, 1)] = text(pair, 2);
        }
        break;
      case "google.rpc.BadRequest": // 1 field violations: 1 field, 2 description
        for (const violation of value.get(1) ?? []) {
          const said = fieldsOf(violation as Uint8Array);
          found.violations.push({ field: text(said, 1), description: text(said, 2) });
        }
        break;
      case "google.rpc.RetryInfo": {
        // 1 delay (`Duration`: 1 seconds, 2 nanoseconds)
        const delay = fieldsOf((value.get(1)?.[0] ?? new Uint8Array()) as Uint8Array);
        found.retryAfterMs = number(delay, 1) * 1000 + number(delay, 2) / 1e6;
        break;
      }
    }
  }
}

type Fields = Map<number, (Uint8Array | number)[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields: Fields = new Map();
  while (reader.pos < reader.len) {
    const [no, type] = reader.tag();
    if (type !== WireType.LengthDelimited && type !== WireType.Varint) {
      reader.skip(type, no);
      continue;
    }
    const values = fields.get(no) ?? [];
    values.push(type === WireType.Varint ? Number(reader.int64()) : reader.bytes());
    fields.set(no, values);
  }
  return fields;
}

function text(fields: Fields, no: number): string {
  const value = fields.get(no)?.at(-1);
  return value instanceof Uint8Array ? new TextDecoder().decode(value) : "";
}

function number(fields: Fields, no: number): number {
  const value = fields.get(no)?.at(-1);
  return typeof value === "number" ? value : 0;
}
