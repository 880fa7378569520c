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
  /** The type of the envelope. Required. */
  type: EnvelopeType | Uppercase<EnvelopeType>;
  /** The state of the work. Unset: the envelope does not report one. */
  status?: EnvelopeStatus | Uppercase<EnvelopeStatus>;
  /** A type of the app's own; "return" marks the result. Up to 128 characters. */
  subType?: string;
  /** A line of text. Up to 64 KiB. */
  message?: string;
  /** A value: any JSON, up to 1 MiB. Empty: none. */
  value?: unknown;
  /** An error: any JSON, up to 1 MiB. Empty: none. */
  error?: unknown;
}

/** Options of `progress.list`. */
export interface ProgressListOptions {
  /** List only the node's own envelopes, not those of the nodes that it Calls. */
  ownOnly?: boolean;
  /** Only envelopes of these types. Empty: all. */
  types?: (EnvelopeType | Uppercase<EnvelopeType>)[];
  /** Newest first. */
  descending?: boolean;
  /** Envelopes per page. 0: 100. Values above 1,000 count as 1,000. */
  pageSize?: number;
}

/** The calls of `progress` that are one method each. */
export class Progress extends NodeNoun {
  /**
   * Append an envelope to the timeline of a node. It changes nothing else. To change the node's status, use
   * graph.updateNodeStatus, which also appends the STATUS envelope.
   *
   * Throws NodeNotFound, RequestIdReused, LimitExceeded (the message is over 64 KiB, or a document over 1 MiB).
   *
   * @param nodeId The node to append to.
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
   * List the envelopes of a node and of the nodes that it Calls, to any depth, in the order of `seq`. A node that is
   * reached in two ways, or that calls itself in a cycle, counts once. Like a walk, the list stays in the node's
   * context.
   *
   * `seq` is the order in which the server wrote. An envelope that is written during the paging may or may not appear.
   *
   * Throws NodeNotFound, InvalidPageToken, NodeBudgetExceeded (the node Calls more than 100,000 nodes;
   * `ownOnly` still lists its own envelopes).
   *
   * @param nodeId The node whose timeline to read.
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

  /**
   * Delete all envelopes of a node for good; those of the nodes that it Calls stay. Throws NodeNotFound.
   *
   * @param nodeId The node whose timeline to delete.
   */
  async clear(nodeId: NodeName, options: CallOptions = {}): Promise<number> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.clearProgress, request, options);
    return Number(answer.envelopesDeleted);
  }
}
