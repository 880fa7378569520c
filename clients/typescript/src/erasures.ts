/** Subjects that are erased, and holds that forbid it, as administrators see them. */

import * as contexts from "./gen/contextkeep/context/v1/contexts_pb.js";
import * as pb from "./gen/contextkeep/context/v1/erasures_pb.js";
import type { Owned } from "./gen/contextkeep/entity/v1/entity_graph_pb.js";
import { enumText } from "./messages.js";
import { timeText } from "./times.js";

/** What may not be erased, and why: a subject, or a context. */
export interface Hold {
  holdId: string;
  subject: string;
  contextId: string;
  reason: string;
  createdAt: string;
  createdBy: string;
}

/** What there is of a subject, which holds forbid to erase it, and what no erasure finds. */
export interface ErasurePlan {
  /** By kind, as tables are called. */
  counts: Record<string, number>;
  holds: Hold[];
  /** Sentences for people. */
  notFound: string[];
}

/** The receipt of a subject that is erased. */
export interface SubjectErasure {
  erasureId: string;
  /** "finished": nothing is left of it in either service. */
  state: string;
  createdAt: string;
  /** Empty while it runs. */
  finishedAt: string;
  requestedBy: string;
  /** By kind, so far. */
  removed: Record<string, number>;
  /** If not, erase again. */
  isBegunInGraph: boolean;
  /** Databases that have rows from before the tenant moved, which no erasure reaches: `tenants clean` removes them. */
  oldCopies: string[];
}

/** What of the graph a user owns, or what an erasure has removed of it. */
export interface OwnedNodes {
  nodes: number;
  edges: number;
  /** Of repeated calls. */
  answers: number;
  /** In the place of which there is a pseudonym. */
  names: number;
  /** Of an erasure; empty while it runs. */
  finishedAt: string;
}

export function holdOf(message: pb.Hold): Hold {
  const { holdId, subject, contextId, reason, createdBy } = message;
  return { ...{ holdId, subject, contextId, reason, createdBy }, createdAt: timeText(message.createdAt) };
}

export function erasurePlanOf(message: pb.PlanErasureResponse): ErasurePlan {
  return { counts: countsOf(message.counts), holds: message.holds.map(holdOf), notFound: message.notFound };
}

export function subjectErasureOf(message: pb.SubjectErasure): SubjectErasure {
  const { erasureId, requestedBy, isBegunInGraph, oldCopies } = message;
  return {
    ...{ erasureId, requestedBy, isBegunInGraph, oldCopies },
    state: enumText(contexts.ErasureState, message.state),
    createdAt: timeText(message.createdAt),
    finishedAt: timeText(message.finishedAt),
    removed: countsOf(message.removed),
  };
}

export function ownedOf(message: Owned): OwnedNodes {
  return {
    nodes: Number(message.nodes),
    edges: Number(message.edges),
    answers: Number(message.answers),
    names: Number(message.names),
    finishedAt: timeText(message.finishedAt),
  };
}

function countsOf(counts: pb.ErasureCount[]): Record<string, number> {
  return Object.fromEntries(counts.map((one) => [one.kind, Number(one.count)]));
}
