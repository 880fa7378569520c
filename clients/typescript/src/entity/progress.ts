/** Timelines of nodes. */

import { type Envelope, envelopeOf } from "../_gen/entity-graph.js";
import { GeneratedProgress } from "../_gen/nouns/progress.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { toJson } from "../json.js";
import { choice, enumText } from "../messages.js";
import type { NodeName } from "../names.js";
import type { Rows } from "../rows.js";
import { timeText } from "../times.js";
import { type WriteOptions, requestId } from "../writes.js";

const graph = pb.EntityGraph.method;

const ENVELOPE_TYPES = {
  status: pb.EnvelopeType.STATUS,
  message: pb.EnvelopeType.MESSAGE,
  error: pb.EnvelopeType.ERROR,
  bot_progress: pb.EnvelopeType.BOT_PROGRESS,
  value: pb.EnvelopeType.VALUE,
  waiting: pb.EnvelopeType.WAITING,
};

const ENVELOPE_STATUSES = {
  "": pb.EnvelopeStatus.UNSPECIFIED,
  started: pb.EnvelopeStatus.STARTED,
  running: pb.EnvelopeStatus.RUNNING,
  completed: pb.EnvelopeStatus.COMPLETED,
  failed: pb.EnvelopeStatus.FAILED,
  cancelled: pb.EnvelopeStatus.CANCELLED,
};

export type EnvelopeType = keyof typeof ENVELOPE_TYPES;

/** How far the work is; empty: the envelope says nothing of that. */
export type EnvelopeStatus = keyof typeof ENVELOPE_STATUSES;

/** An RPC is one method. */
export class Progress extends GeneratedProgress {
  /** Append an envelope to the timeline of a node. */
  async append(
    node: NodeName,
    envelope: {
      /** In any case: FireFoundry's "STATUS" is "status". */
      type: EnvelopeType | Uppercase<EnvelopeType>;
      status?: EnvelopeStatus | Uppercase<EnvelopeStatus>;
      subType?: string;
      message?: string;
      /** Any JSON. */
      value?: unknown;
      error?: unknown;
    } & WriteOptions,
  ): Promise<{ seq: number; createdAt: string }> {
    const { value, error } = envelope;
    const request = {
      nodeId: await this.nodeId(node, envelope),
      type: choice("type", envelope.type, ENVELOPE_TYPES),
      status: choice("status", envelope.status ?? "", ENVELOPE_STATUSES),
      subType: envelope.subType,
      message: envelope.message,
      valueJson: value === undefined ? "" : toJson(value, "value_json"),
      errorJson: error === undefined ? "" : toJson(error, "error_json"),
      requestId: requestId(envelope),
    };
    const { seq, createdAt } = await this.client.call(graph.appendProgress, request, envelope);
    return { seq: Number(seq), createdAt: timeText(createdAt) };
  }

  /** The envelopes of a node and of all that it `Calls`, in the order of writing; with `ownOnly` of itself alone. */
  list(
    node: NodeName,
    options: { ownOnly?: boolean; types?: (EnvelopeType | Uppercase<EnvelopeType>)[]; descending?: boolean; pageSize?: number } & CallOptions = {},
  ): Rows<Envelope> {
    const { ownOnly, descending, pageSize } = options;
    const types = options.types?.map((type) => choice("types", type, ENVELOPE_TYPES));
    return this.rowsOf(node, options, async (nodeId, pageToken) => {
      const request = { nodeId, ownOnly, types, descending, pageSize, pageToken };
      const page = await this.client.call(graph.listProgress, request, options);
      return [page.envelopes.map(envelopeOf), page.nextPageToken];
    });
  }
}

/** Return the status of an envelope; empty if it has none. */
export function envelopeStatusOf({ status }: pb.Envelope): string {
  return status === pb.EnvelopeStatus.UNSPECIFIED ? "" : enumText(pb.EnvelopeStatus, status);
}
