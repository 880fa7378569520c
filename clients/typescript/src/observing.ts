/** How the process that answers does: of both services. */

import { type RecentCalls, recentCallsOf } from "./_gen/observing.js";
import { type CallOptions, Client } from "./client.js";
import * as pb from "./gen/contextkeep/context/v1/observing_pb.js";

export abstract class ObservedClient extends Client {
  /** The calls of your tenant to the process that answers, minute by minute, of the last hour. */
  async getRecentCalls(options: CallOptions = {}): Promise<RecentCalls> {
    return recentCallsOf(await this.call(pb.Observing.method.getRecentCalls, {}, options));
  }
}
