// Made from the protos by `make proto`.

import * as entityGraphPb from "../../gen/contextkeep/entity/v1/entity_graph_pb.js";
import type { CallOptions } from "../../client.js";
import { NodeNoun } from "../../entity/names.js";

/** The calls of `changes` that are one method each. */
export class GeneratedChanges extends NodeNoun {
  /**
   * Keeps the tenant's changes from now on, for changes.list, and answers the place to read them from. A caller that reads everything
   * after this answer, and then lists from the place, misses nothing. A repeat changes nothing and answers the place that is reached by
   * then. Until a tenant calls this, its writes keep nothing, and cost what they did. Needs the scope `admin`.
   *
   * Throws PermissionDenied (the key is bound, and changes are not kept yet), ChangesHeldUp (a transaction that began before, of any
   * tenant, has been open for over five seconds: try again after it; `oldest_transaction_s` in the metadata).
   */
  async start(options: CallOptions = {}): Promise<string> {
    const request = {};
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.startChanges, request, options);
    return answer.place;
  }
}
