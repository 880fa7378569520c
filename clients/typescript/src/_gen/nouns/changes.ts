// Made from the protos by `make proto`.

import * as entityGraphPb from "../../gen/contextkeep/entity/v1/entity_graph_pb.js";
import type { CallOptions } from "../../client.js";
import { NodeNoun } from "../../entity/names.js";
import { type ChangePage, changePageOf } from "../entity-graph.js";

/** The calls of `changes` that are one method each. */
export class Changes extends NodeNoun {
  /**
   * Start the change log of the tenant, and answer the current place in it for changes.list. A caller that reads
   * everything after this answer, and then lists from the place, misses nothing. A repeat changes nothing and answers
   * the place that the log has reached. Before the first call, writes of the tenant log no changes and cost nothing
   * extra. Needs the scope `admin`.
   *
   * Throws PermissionDenied (the key is bound, and the log has not started yet), ChangesHeldUp (an earlier
   * transaction of any tenant has been open for over five seconds: retry after it ends; metadata
   * `oldest_transaction_s`).
   */
  async start(options: CallOptions = {}): Promise<string> {
    const request = {};
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.startChanges, request, options);
    return answer.place;
  }

  /**
   * List the changes after a place: nodes and edges that any call wrote, changed, archived, restored or deleted.
   * Setting a node's input or output counts as a change of the node; envelopes and embeddings do not.
   *
   * The order is that of the transactions that wrote them, up to the oldest transaction that still runs. So no late
   * commit is missed, but a long write delays all later changes. A node or edge may appear again without a change; on
   * one page it appears once, with the kind of its last change. A change says which row to read again, not its old
   * content. If a node is CHANGED and reading it answers NotFound, a REMOVED follows.
   *
   * The log keeps changes for 7 days, and up to 1,000,000 per tenant, unless the settings say otherwise. Places survive
   * restarts, and every key of the tenant may use them. A bound key sees only the changes within its bounds; for an
   * edge, both nodes count.
   *
   * After a restore, a failover, or a move of the tenant to another database, the log starts again by itself: older
   * places are then ChangesExpired.
   *
   * Throws ChangesNotStarted (changes.start was not called, or it waits for an earlier transaction), ChangesExpired
   * (changes after the place are deleted, or the place is from before a restore: take a new place, then read everything
   * again), InvalidPageToken (`place`).
   *
   * @param options.place The place of changes.start, or the `nextPlace` of an answer. Empty: answer no changes, only the current place.
   * @param options.pageSize Changes per page. 0: 100. Values above 1,000 count as 1,000.
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
