// Made from contextkeep/context/v1/erasures.proto by `make proto`.

import * as contextsPb from "../gen/contextkeep/context/v1/contexts_pb.js";
import type * as pb from "../gen/contextkeep/context/v1/erasures_pb.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";

/** The receipt of a subject that is erased. */
export interface SubjectErasure {
  erasureId: string;
  /** FINISHED: in both services. */
  state: "running" | "finished" | "unknown";
  createdAt: string;
  /** Empty while it runs. */
  finishedAt: string;
  /** The subject of the credential that asked for it, unless that is who was erased. */
  requestedBy: string;
  /** What is removed so far, of both services. Of contexts, those of their receipts. */
  removed: Record<string, number>;
  /** It is begun in the Entity Service, too. If not, call Erase again. */
  isBegunInGraph: boolean;
  /**
   * Databases that the tenant was moved away from and that still have its rows from before the move, which no erasure reaches:
   * `context-service tenants clean --after-hours 0` removes them. Those that do not answer are left out.
   */
  oldCopies: string[];
}

export function subjectErasureOf(message: pb.SubjectErasure): SubjectErasure {
  return {
    erasureId: message.erasureId,
    state: enumText(contextsPb.ErasureState, message.state),
    createdAt: timeText(message.createdAt),
    finishedAt: timeText(message.finishedAt),
    requestedBy: message.requestedBy,
    removed: Object.fromEntries(message.removed.map((item) => [item.kind, Number(item.count)])),
    isBegunInGraph: message.isBegunInGraph,
    oldCopies: message.oldCopies,
  };
}

/** What may not be erased, and why. */
export interface Hold {
  holdId: string;
  /** One of these two. */
  subject: string;
  contextId: string;
  reason: string;
  createdAt: string;
  /** The subject of the credential that put it. */
  createdBy: string;
}

export function holdOf(message: pb.Hold): Hold {
  return {
    holdId: message.holdId,
    subject: message.subject,
    contextId: message.contextId,
    reason: message.reason,
    createdAt: timeText(message.createdAt),
    createdBy: message.createdBy,
  };
}

/** What there is of a subject, which holds forbid to erase it, and what no erasure finds. */
export interface ErasurePlan {
  /** Without kinds of which there is nothing. */
  counts: Record<string, number>;
  /** Those that forbid it: 100 at most. */
  holds: Hold[];
  /** What is not found: sentences for people. */
  notFound: string[];
}

export function erasurePlanOf(message: pb.PlanErasureResponse): ErasurePlan {
  return {
    counts: Object.fromEntries(message.counts.map((item) => [item.kind, Number(item.count)])),
    holds: message.holds.map(holdOf),
    notFound: message.notFound,
  };
}
