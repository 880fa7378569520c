/** How the process that answers does: of both services. */

import { type CallOptions, Client } from "./client.js";
import * as pb from "./gen/contextkeep/context/v1/observing_pb.js";
import { timeText } from "./times.js";

/** The calls that ended in a minute. */
export interface RecentMinute {
  beginsAt: string;
  calls: number;
  /** Of them: with a status that is the caller's to mend. */
  refused: number;
  /** With another one. */
  failed: number;
  /** Of unary calls; near enough. */
  p50Ms: number;
  p95Ms: number;
}

/** The calls of your tenant to a process, of the last hour; minutes without one are not there. */
export interface RecentCalls {
  service: string;
  processId: string;
  startedAt: string;
  minutes: RecentMinute[];
}

export abstract class ObservedClient extends Client {
  /** The calls of your tenant to the process that answers, minute by minute, of the last hour. */
  async getRecentCalls(options: CallOptions = {}): Promise<RecentCalls> {
    const { service, processId, startedAt, minutes } = await this.call(pb.Observing.method.getRecentCalls, {}, options);
    return {
      service,
      processId,
      startedAt: timeText(startedAt),
      minutes: minutes.map(({ beginsAt, calls, refused, failed, p50Ms, p95Ms }) => ({
        ...{ calls: Number(calls), refused: Number(refused), failed: Number(failed), p50Ms, p95Ms },
        beginsAt: timeText(beginsAt),
      })),
    };
  }
}
