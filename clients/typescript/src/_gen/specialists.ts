// Made from contextkeep/context/v1/specialists.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/specialists_pb.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";

/** A specialist: a provider that searches one folder of the workspace in several steps. */
export interface Specialist {
  specialistId: string;
  displayName: string;
  instructions: string;
  /** The folder. Empty: the specialist has none. */
  nodeIds: string[];
  stepsMax: number;
  /** Context query queries it if a question selects no provider. */
  isDefault: boolean;
  /** Its provider id in context query, of the family `sub-agent`. */
  providerId: string;
  /** Counts the puts of the specialist, from 1. */
  version: number;
  createdAt: string;
  updatedAt: string;
  /** The subject of the credential that put it last. */
  updatedBy: string;
  /** Where an import took it from. Unset: no import wrote it, or it was put since. */
  imported?: Imported;
}

export function specialistOf(message: pb.Specialist): Specialist {
  const value: Specialist = {
    specialistId: message.specialistId,
    displayName: message.displayName,
    instructions: message.instructions,
    nodeIds: message.nodeIds,
    stepsMax: message.stepsMax,
    isDefault: message.isDefault,
    providerId: message.providerId,
    version: message.version,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    updatedBy: message.updatedBy,
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}
