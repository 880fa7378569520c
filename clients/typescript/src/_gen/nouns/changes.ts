// Made from the protos by `make proto`.

import * as entityGraphPb from "../../gen/contextkeep/entity/v1/entity_graph_pb.js";
import type { CallOptions } from "../../client.js";
import { NodeNoun } from "../../entity/names.js";
import { type ChangePage, changePageOf } from "../entity-graph.js";

/** The calls of `changes` that are one method each. */
export class Changes extends NodeNoun {
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

  /**
   * Lists what changed behind a place: nodes and edges that were written, changed, archived, restored or removed, by whichever
   * call. Setting a node's input or output changes the node; envelopes and embeddings do not.
   *
   * In the order of the transactions that wrote them, up to the oldest that still runs: nothing that commits late is missed,
   * so a long write holds all later changes up. A node or edge may be listed again without a change, and is listed once a
   * page: of several changes the last one's kind counts. A change says what to read again, not what it was: of a node that is
   * CHANGED and not found, a REMOVED follows.
   *
   * Kept for 7 days, and 1,000,000 of a tenant, unless the service is set otherwise. Places outlive restarts, and count for
   * every key of the tenant. A bound key is told of what it sees; of an edge, both nodes count.
   *
   * After a restore, a failover, or a move of the tenant into another database the list starts again by itself: places from
   * before are ChangesExpired.
   *
   * Throws ChangesNotStarted (changes.start was not called, or it waits for a transaction that began before),
   * ChangesExpired (changes after the place are forgotten, or the place is from before a restore: take a new place, then
   * read everything again), InvalidPageToken (`place`).
   *
   * @param options.place Of changes.start, or the `nextPlace` of an answer. Empty: answers no changes, and the place that is reached now.
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
   */
  async list(options: { place?: string; pageSize?: number } & CallOptions = {}): Promise<ChangePage> {
    const request = {
      place: options.place,
      pageSize: options.pageSize,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.listChanges, request, options);
    return changePageOf(answer);
  }
}
