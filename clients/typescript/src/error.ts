/** The base of all errors of the services; the classes, one per reason, are generated into `gen/errors.ts`. */

/** The name of a gRPC status. */
export type StatusCode =
  | "CANCELLED"
  | "UNKNOWN"
  | "INVALID_ARGUMENT"
  | "DEADLINE_EXCEEDED"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "OUT_OF_RANGE"
  | "UNIMPLEMENTED"
  | "INTERNAL"
  | "UNAVAILABLE"
  | "DATA_LOSS"
  | "UNAUTHENTICATED";

/** An invalid field of a request. */
export interface FieldViolation {
  /** Path in the request message, e.g. "node.data_json". */
  field: string;
  description: string;
}

/** The fields of an error besides its message. */
export interface ErrorDetails {
  /** Where it is not the class's own: a reason that this version has no class for. */
  reason?: string;
  /** Path of the one field that is at fault; `violations` names several. */
  field?: string;
  violations?: FieldViolation[];
  /** When to try again, where the server knows. */
  retryAfterMs?: number;
  metadata?: Record<string, string>;
  cause?: unknown;
}

/** Base of all errors of the services. Programs read `reason` and `metadata`; the message is for people. */
export class ContextKeepError extends Error {
  static readonly code: StatusCode = "UNKNOWN";
  static readonly reason: string = "UNKNOWN";

  readonly code: StatusCode;
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly violations: readonly FieldViolation[];
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const { code, reason } = new.target;
    this.name = new.target.name;
    this.code = code;
    this.reason = details.reason ?? reason;
    this.metadata = details.metadata ?? {};
    this.violations = details.violations ?? (details.field ? [{ field: details.field, description: message }] : []);
    this.retryAfterMs = details.retryAfterMs;
  }
}
