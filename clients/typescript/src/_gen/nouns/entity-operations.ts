// Made from the protos by `make proto`.

import * as observingPb from "../../gen/contextkeep/context/v1/observing_pb.js";
import type { CallOptions } from "../../client.js";
import { NodeNoun } from "../../entity/names.js";
import { type RecentCalls, recentCallsOf } from "../observing.js";

/** The calls of `operations` that are one method each. */
export class EntityOperations extends NodeNoun {
  /**
   * Return statistics of the tenant's calls to this process in the last hour. For each minute, they have the number of
   * calls, their results and their durations. The process keeps them in memory of a fixed size, for the 100 tenants
   * that called last, and loses them on a restart. The answer contains nothing of other tenants, and no names.
   */
  async getRecentCalls(options: CallOptions = {}): Promise<RecentCalls> {
    const request = {};
    const answer = await this.client.call(observingPb.Observing.method.getRecentCalls, request, options);
    return recentCallsOf(answer);
  }
}
