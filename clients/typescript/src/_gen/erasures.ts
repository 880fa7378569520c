// Made from contextkeep/context/v1/erasures.proto by `make proto`.

import * as contextsPb from "../gen/contextkeep/context/v1/contexts_pb.js";
import type * as pb from "../gen/contextkeep/context/v1/erasures_pb.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";

/** The receipt of an erasure of a subject. */
export interface SubjectErasure {
  erasureId: string;
  /** FINISHED: in both services. */
  state: "running" | "finished" | "unknown";
  createdAt: string;
  /** Empty while the erasure runs. */
  finishedAt: string;
  /** The subject of the credential that started it; a pseudonym if that is the erased subject. */
  requestedBy: string;
  /** Rows deleted so far, in both services. For contexts, the counts of their own receipts. */
  removed: Record<string, number>;
  /** The erasure has started in the Entity Service too. If not, call Erase again. */
  isBegunInGraph: boolean;
  /**
   * Databases that the tenant was moved away from and that still have its old rows. No erasure reaches these;
   * `context-service tenants clean --after-hours 0` deletes them. Databases that do not answer are left out.
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

/** A subject or a context that must not be erased, and why. */
export interface Hold {
  holdId: string;
  /** The user. Empty: the hold is for a context. */
  subject: string;
  /** The context. Empty: the hold is for a user. */
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

/** The data of a subject, the holds that forbid its erasure, and the data that no erasure finds. */
export interface ErasurePlan {
  /** Kinds without rows are left out. */
  counts: Record<string, number>;
  /** The holds that forbid the erasure; at most 100. */
  holds: Hold[];
  /** The data that no erasure finds: sentences for people. */
  notFound: string[];
}

export function erasurePlanOf(message: pb.PlanErasureResponse): ErasurePlan {
  return {
    counts: Object.fromEntries(message.counts.map((item) => [item.kind, Number(item.count)])),
    holds: message.holds.map(holdOf),
    notFound: message.notFound,
  };
}
