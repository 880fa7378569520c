/**
 * Times are texts: RFC 3339, UTC, always with six digits after the point, so that they sort in order of time.
 * A `Date` has no microseconds, and rows that are written together lie one microsecond apart.
 */

import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";

import { InvalidArgument } from "./gen/errors.js";

const RFC3339 = /^([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?([Zz]|[+-][0-9]{2}:[0-9]{2})$/;

/** Return the text of a timestamp; empty: it is absent. */
export function timeText(timestamp: Timestamp | undefined): string {
  if (!timestamp) return "";
  const seconds = new Date(Number(timestamp.seconds) * 1000).toISOString().slice(0, -5);
  return `${seconds}.${String(Math.floor(timestamp.nanos / 1000)).padStart(6, "0")}Z`;
}

/**
 * Return the timestamp of a time.
 *
 * @throws InvalidArgument It is not a time, or has no zone, so its moment is unknown.
 */
export function toTimestamp(time: Date | string | undefined, field: string): Timestamp | undefined {
  if (time === undefined || time === "") return undefined;
  const text = time instanceof Date && !Number.isNaN(time.getTime()) ? time.toISOString() : String(time);
  const [, moment, fraction = "", zone = ""] = RFC3339.exec(text) ?? [];
  const milliseconds = moment ? Date.parse(`${moment.replace(/[t ]/, "T")}${zone.toUpperCase()}`) : Number.NaN;
  if (Number.isNaN(milliseconds)) {
    throw new InvalidArgument(`${field} ${JSON.stringify(text)} is no time with a zone, such as 2026-01-31T12:00:00Z`, {
      field,
    });
  }
  return create(TimestampSchema, { seconds: BigInt(milliseconds / 1000), nanos: Number(fraction.padEnd(9, "0")) });
}
