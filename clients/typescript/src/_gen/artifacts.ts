// Made from contextkeep/context/v1/artifacts.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/artifacts_pb.js";
import { type Part, partOf } from "../history.js";
import { type JsonObject, parseObject } from "../json.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";

/** A version of a result of a task. */
export interface Artifact {
  /** The sender's id, unique in its task. */
  artifactId: string;
  taskId: string;
  contextId: string;
  name: string;
  description: string;
  /** The first version is 1. */
  version: number;
  /** The version is complete: its last chunk was written, and no more can follow. */
  isComplete: boolean;
  /** Set by artifacts.get only, like `metadataJson`. */
  parts: Part[];
  metadata: JsonObject;
  partCount: number;
  sizeBytes: number;
  /** Estimated tokens of its texts in the context of a model. */
  tokens: number;
  createdBy: string;
  /** When this version was created. */
  createdAt: string;
  updatedAt: string;
  /** Unset if no import wrote it. */
  imported?: Imported;
}

export function artifactOf(message: pb.Artifact): Artifact {
  const value: Artifact = {
    artifactId: message.artifactId,
    taskId: message.taskId,
    contextId: message.contextId,
    name: message.name,
    description: message.description,
    version: message.version,
    isComplete: message.isComplete,
    parts: message.parts.map(partOf),
    metadata: parseObject(message.metadataJson),
    partCount: message.partCount,
    sizeBytes: Number(message.sizeBytes),
    tokens: message.tokens,
    createdBy: message.createdBy,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}
