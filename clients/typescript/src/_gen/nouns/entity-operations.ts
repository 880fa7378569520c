// Made from the protos by `make proto`.

import * as observingPb from "../../gen/contextkeep/context/v1/observing_pb.js";
import type { CallOptions } from "../../client.js";
import { NodeNoun } from "../../entity/names.js";
import { type RecentCalls, recentCallsOf } from "../observing.js";

/** The calls of `operations` that are one method each. */
export class EntityOperations extends NodeNoun {
  /**
   * Answers the calls of the caller's tenant to this process in the last hour, minute by minute. It says how many there were, how they
   * ended, and how long they took. It is kept in memory of a fixed size, for the hundred tenants that called last, and begins anew with
   * the process. Nothing of another tenant is in it, and no name.
   */
  async getRecentCalls(options: CallOptions = {}): Promise<RecentCalls> {
    const request = {};
    const answer = await this.client.call(observingPb.Observing.method.getRecentCalls, request, options);
    return recentCallsOf(answer);
  }
}
