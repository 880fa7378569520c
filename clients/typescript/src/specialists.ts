/** Specialists: providers of context query that search one folder of the workspace in several steps. */

import type * as pb from "./gen/contextkeep/context/v1/specialists_pb.js";
import { timeText } from "./times.js";

/** A specialist. */
export interface Specialist {
  specialistId: string;
  displayName: string;
  instructions: string;
  /** Its folder; empty: it is not wired. */
  nodeIds: string[];
  stepsMax: number;
  /** Asked where a question selects nobody. */
  isDefault: boolean;
  /** Of context query. */
  providerId: string;
  version: number;
  createdAt: string;
  updatedAt: string;
  updatedBy: string;
}

export function specialistOf(message: pb.Specialist): Specialist {
  const { specialistId, displayName, instructions, nodeIds, stepsMax, isDefault, providerId, version, updatedBy } = message;
  return {
    ...{ specialistId, displayName, instructions, nodeIds, stepsMax, isDefault, providerId, version, updatedBy },
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
  };
}
