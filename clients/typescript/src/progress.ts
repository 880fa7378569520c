/** Timelines of nodes: what an envelope is, and how far the work is. */

import * as pb from "./gen/contextkeep/entity/v1/entity_graph_pb.js";
import { choice, enumText } from "./messages.js";

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

/** Return the number of a type; in any case: FireFoundry's "STATUS" is "status". */
export function envelopeType(type: EnvelopeType | Uppercase<EnvelopeType>, path: string): pb.EnvelopeType {
  return choice(path, type, ENVELOPE_TYPES);
}

/** Return the number of a status. */
export function envelopeStatus(status: EnvelopeStatus | Uppercase<EnvelopeStatus>, path: string): pb.EnvelopeStatus {
  return choice(path, status, ENVELOPE_STATUSES);
}

/** Return the status of an envelope; empty if it has none. */
export function envelopeStatusOf({ status }: pb.Envelope): string {
  return status === pb.EnvelopeStatus.UNSPECIFIED ? "" : enumText(pb.EnvelopeStatus, status);
}
