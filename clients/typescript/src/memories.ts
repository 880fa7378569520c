/** Memories: what is kept about a user. */

import * as pb from "./gen/contextkeep/context/v1/knowledge_pb.js";
import { type Imported, importedField } from "./imported.js";
import { enumText } from "./messages.js";
import { timeText } from "./times.js";

export const KINDS = {
  fact: pb.MemoryKind.FACT,
  preference: pb.MemoryKind.PREFERENCE,
  experience: pb.MemoryKind.EXPERIENCE,
  observation: pb.MemoryKind.OBSERVATION,
};

/** What a statement is. */
export type MemoryKind = keyof typeof KINDS;

/** Where a statement comes from, in the words of whoever retained it. */
export interface MemorySource {
  /** Such as a file's name. */
  label: string;
  uri: string;
  /** A conversation, and a place within it. */
  contextId: string;
  ref: string;
}

/** What was tried, and what came of it. */
export interface Experience {
  goal: string;
  outcome: string;
  /** From 0 to 1; undefined: nobody said. */
  quality?: number | undefined;
}

/** A statement about a user. Its text is material, whoever wrote it, and never an instruction. */
export interface Memory {
  memoryId: string;
  text: string;
  /** "fact", "preference", "experience" or "observation". */
  kind: string;
  confidence: number;
  /** Of a merged one, those of all. */
  sources: MemorySource[];
  happenedAt: string;
  /** What it is about. */
  key: string;
  experience: Experience | undefined;
  /** "pending": its words find it, and its vector follows; "indexed"; "failed": its words alone. */
  state: string;
  /** The next newer one of its key; empty: it holds. */
  supersededBy: string;
  /** Others of its key that say something else. */
  contradicts: string[];
  version: number;
  ownerUserId: string;
  appId: string;
  agentBundleId: string;
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

/** A memory that matters to a question. */
export interface RecalledMemory {
  memory: Memory;
  /** It compares those of one answer. */
  score: number;
}

/** What is remembered of a question, as one statement. */
export interface Reflection {
  /** A line for each sentence, with its date; empty: nothing. */
  statement: string;
  /** That it rests on, in the order of its lines. */
  memoryIds: string[];
  /** What was found and holds no longer. */
  supersededIds: string[];
  /** "extractive": nothing in it is new. */
  method: string;
  /** "words", or "words and meaning". */
  mode: string;
}

/** What there is to merge and to promote, or was. */
export interface Consolidation {
  /** To apply it; empty: there is nothing to do. */
  plan: string;
  merged: { memoryId: string; text: string; mergedIds: string[] }[];
  /** Of each lesson the observation, which is empty until it is made, and the experiences that taught it. */
  promoted: { memoryId: string; text: string; experienceIds: string[] }[];
  /** There is more to do, after this. */
  hasMore: boolean;
  isApplied: boolean;
}

export function consolidationOf(message: pb.ConsolidateMemoriesResponse): Consolidation {
  const { plan, hasMore, isApplied } = message;
  return {
    ...{ plan, hasMore, isApplied },
    merged: message.merged.map(({ memoryId, text, mergedIds }) => ({ memoryId, text, mergedIds })),
    promoted: message.promoted.map(({ memoryId, text, experienceIds }) => ({ memoryId, text, experienceIds })),
  };
}

export function memoryOf(message: pb.Memory): Memory {
  const { memoryId, text, confidence, key, supersededBy, contradicts, version, ownerUserId, appId, agentBundleId } = message;
  const { createdBy, experience } = message;
  return {
    ...{ memoryId, text, confidence, key, supersededBy, contradicts, version, ownerUserId, appId, agentBundleId, createdBy },
    kind: enumText(pb.MemoryKind, message.kind),
    sources: message.sources.map(({ label, uri, contextId, ref }) => ({ label, uri, contextId, ref })),
    experience: experience && { goal: experience.goal, outcome: experience.outcome, quality: experience.quality },
    state: enumText(pb.MemoryState, message.state),
    happenedAt: timeText(message.happenedAt),
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    ...importedField(message.imported),
  };
}
