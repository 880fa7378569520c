/** What changes in the graph. */

import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { timeText } from "../times.js";
import { GeneratedChanges } from "../_gen/nouns/changes.js";
import type { CallOptions } from "../client.js";

const graph = pb.EntityGraph.method;

/** What became of a node or an edge: what to read again, not what it was. */
export interface Change {
  /** "changed": it is new, too. */
  kind: "changed" | "removed";
  /** Empty: it is an edge. */
  nodeId: string;
  edgeId: string;
  graphName: string;
  /** Of a node. */
  generalTypeName: string;
  specificTypeName: string;
  /** Of an edge. */
  edgeType: string;
  fromNodeId: string;
  toNodeId: string;
  changedAt: string;
}

/** Changes in their order, each node and each edge once. */
export interface ChangePage {
  changes: Change[];
  /** Where to go on, now or later: to be kept once the changes are dealt with. */
  nextPlace: string;
  /** There is more already. */
  hasMore: boolean;
}

/** An RPC is one method. */
export class Changes extends GeneratedChanges {
  /**
   * What changed behind a place, in an order in which nothing that is written late is missed. Keep `nextPlace` once the changes are
   * dealt with, and go on from it: at once if there `hasMore`, else later. Without a place: no changes, and the place of now.
   *
   * @throws ChangesNotStarted `changes.start` was not called, or has not answered yet.
   * @throws ChangesExpired Changes behind the place are forgotten: take a new place, then read everything anew.
   */
  async list(place = "", options: { pageSize?: number } & CallOptions = {}): Promise<ChangePage> {
    const { pageSize } = options;
    const page = await this.client.call(graph.listChanges, { place, pageSize }, options);
    return { changes: page.changes.map(change), nextPlace: page.nextPlace, hasMore: page.hasMore };
  }
}

function change(message: pb.Change): Change {
  const { nodeId, edgeId, graphName, generalTypeName, specificTypeName, edgeType, fromNodeId, toNodeId } = message;
  const kind = message.kind === pb.ChangeKind.REMOVED ? "removed" : "changed";
  const changedAt = timeText(message.changedAt);
  return { kind, nodeId, edgeId, graphName, generalTypeName, specificTypeName, edgeType, fromNodeId, toNodeId, changedAt };
}
