// Made from contextkeep/context/v1/observing.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/observing_pb.js";
import { timeText } from "../times.js";

/** The calls of your tenant to a process, of the last hour. */
export interface RecentCalls {
  /** "context-service" or "entity-service". */
  service: string;
  /** Tells processes of a service apart: made when it starts. */
  processId: string;
  startedAt: string;
  /** Up to 60, the oldest first; one without a call is not there. The last one is not over. */
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

/** The calls that ended in a minute. */
export interface RecentMinute {
  beginsAt: string;
  calls: number;
  /** Of them: that ended with a status that is the caller's to mend, such as NotFound or PermissionDenied. */
  refused: number;
  /** That ended with one that is not, such as Unavailable or Internal. */
  failed: number;
  /**
   * How long unary calls took, in milliseconds: a half, and 95 of 100, took no longer; near enough, since lengths are counted in classes. Streams last as
   * long as their callers want.
   */
  p50Ms: number;
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
