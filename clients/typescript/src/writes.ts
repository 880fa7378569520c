/** The options of a write, besides its content. */

import { randomUUID } from "node:crypto";

import type { CallOptions } from "./client.js";
import { DataUpdate } from "./gen/contextkeep/entity/v1/entity_graph_pb.js";
import { whole } from "./messages.js";

/** A write: the same id again answers as the first time and writes nothing. Else each call has an id of its own. */
export interface WriteOptions extends CallOptions {
  /** A UUID. */
  requestId?: string;
}

/** An update that fails with `VersionConflict` if another caller changed the object first. */
export interface VersionOptions extends CallOptions {
  expectedVersion?: number;
}

export function requestId(options: WriteOptions): string {
  return options.requestId ?? randomUUID();
}

export function expectedVersion(options: VersionOptions): bigint | undefined {
  return whole("expected_version", options.expectedVersion);
}

/** Return how data are updated: replaced, or by a JSON merge patch. */
export function dataUpdate(replace: boolean, _path: string): DataUpdate {
  return replace ? DataUpdate.REPLACE : DataUpdate.MERGE_PATCH;
}
