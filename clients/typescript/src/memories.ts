/** Memories: what is kept about a user. */

import * as pb from "./gen/contextkeep/context/v1/knowledge_pb.js";

export const KINDS = {
  fact: pb.MemoryKind.FACT,
  preference: pb.MemoryKind.PREFERENCE,
  experience: pb.MemoryKind.EXPERIENCE,
  observation: pb.MemoryKind.OBSERVATION,
};

/** What a statement is. */
export type MemoryKind = keyof typeof KINDS;
