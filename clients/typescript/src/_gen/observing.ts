// Made from contextkeep/context/v1/observing.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/observing_pb.js";
import { timeText } from "../times.js";

/** Statistics of your tenant's calls to one process in the last hour. */
export interface RecentCalls {
  /** "context-service" or "entity-service". */
  service: string;
  /** An id that the process makes when it starts; it distinguishes the processes of a service. */
  processId: string;
  startedAt: string;
  /** Up to 60 minutes, oldest first. Minutes without calls are left out. The last minute may still be running. */
  minutes: RecentMinute[];
}

export function recentCallsOf(message: pb.GetRecentCallsResponse): RecentCalls {
  return {
    service: message.service,
    processId: message.processId,
    startedAt: timeText(message.startedAt),
    minutes: message.minutes.map(recentMinuteOf),
  };
}

/** The calls that ended in one minute. */
export interface RecentMinute {
  beginsAt: string;
  /** Number of calls, including refused and failed ones. */
  calls: number;
  /** Calls that ended with a status that the caller can fix, such as NotFound or PermissionDenied. */
  refused: number;
  /** Calls that ended with a status that the caller cannot fix, such as Unavailable or Internal. */
  failed: number;
  /**
   * Median duration of the unary calls, in milliseconds. It is approximate, because durations are counted in buckets.
   * Streams are not included: they last as long as their callers want.
   */
  p50Ms: number;
  /** Like `p50_ms`, the 95th percentile. */
  p95Ms: number;
}

export function recentMinuteOf(message: pb.RecentMinute): RecentMinute {
  return {
    beginsAt: timeText(message.beginsAt),
    calls: Number(message.calls),
    refused: Number(message.refused),
    failed: Number(message.failed),
    p50Ms: message.p50Ms,
    p95Ms: message.p95Ms,
  };
}
