// Made from the protos by `make proto`.

import * as entityGraphPb from "../../gen/contextkeep/entity/v1/entity_graph_pb.js";
import type { CallOptions } from "../../client.js";
import { NodeNoun } from "../../entity/names.js";
import { toJson } from "../../json.js";
import type { NodeName } from "../../names.js";
import { type EnvelopeStatus, type EnvelopeType, envelopeStatus, envelopeType } from "../../progress.js";
import type { Rows } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type AppendedEnvelope, type Envelope, appendedEnvelopeOf, envelopeOf } from "../entity-graph.js";

/** Options of `progress.append`. */
export interface NewEnvelope {
  /** Required. */
  type: EnvelopeType | Uppercase<EnvelopeType>;
  status?: EnvelopeStatus | Uppercase<EnvelopeStatus>;
  /** Up to 128 characters. */
  subType?: string;
  /** Up to 64 KiB. */
  message?: string;
  /** Any JSON, up to 1 MiB. Empty: none. */
  value?: unknown;
  error?: unknown;
}

/** Options of `progress.list`. */
export interface ProgressListOptions {
  /** Only the node's own envelopes, none of what it Calls. */
  ownOnly?: boolean;
  /** Empty: all. */
  types?: (EnvelopeType | Uppercase<EnvelopeType>)[];
  /** The newest first. */
  descending?: boolean;
  /** 0: 100. More than 1,000 counts as 1,000. */
  pageSize?: number;
}

/** The calls of `progress` that are one method each. */
export class Progress extends NodeNoun {
  /**
   * Appends an envelope to the timeline of a node. It changes nothing else: a node's status is changed by
   * graph.updateNodeStatus, which appends the STATUS envelope that says so.
   *
   * Throws NodeNotFound, RequestIdReused, LimitExceeded (the message is over 64 KiB, a document over 1 MiB).
   */
  async append(nodeId: NodeName, options: NewEnvelope & WriteOptions): Promise<AppendedEnvelope> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
      type: envelopeType(options.type, "type"),
      status: options.status === undefined ? undefined : envelopeStatus(options.status, "status"),
      subType: options.subType,
      message: options.message,
      valueJson: options.value === undefined ? undefined : toJson(options.value, "value_json"),
      errorJson: options.error === undefined ? undefined : toJson(options.error, "error_json"),
      requestId: requestId(options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.appendProgress, request, options);
    return appendedEnvelopeOf(answer);
  }

  /**
   * Lists the envelopes of a node and of what it Calls, to any depth, in the order of `seq`. A node that is called in two
   * ways, or calls itself in a circle, counts once. Like a walk, it stays in the node's context.
   *
   * `seq` is the server's order of writing. An envelope written while the list is paged may or may not appear.
   *
   * Throws NodeNotFound, InvalidPageToken, NodeBudgetExceeded (it Calls more than 100,000 nodes; `ownOnly`
   * lists its own envelopes all the same).
   */
  list(nodeId: NodeName, options: ProgressListOptions & CallOptions = {}): Rows<Envelope> {
    const request = {
      ownOnly: options.ownOnly,
      types: options.types?.map((item, place) => envelopeType(item, `types[${place}]`)),
      descending: options.descending,
      pageSize: options.pageSize,
    };
    return this.rowsOf(nodeId, options, async (id, pageToken) => {
      const page = await this.client.call(entityGraphPb.EntityGraph.method.listProgress, { ...request, nodeId: id, pageToken }, options);
      return [page.envelopes.map(envelopeOf), page.nextPageToken];
    });
  }

  /** Removes all envelopes of a node for good; those of what it Calls stay. Throws NodeNotFound. */
  async clear(nodeId: NodeName, options: CallOptions = {}): Promise<number> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.clearProgress, request, options);
    return Number(answer.envelopesDeleted);
  }
}
