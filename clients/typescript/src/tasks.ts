/** Tasks of contexts: what callers see and say of them. */


import { type Artifact, artifactOf } from "./_gen/artifacts.js";
import { type ChatMessage, type Imported, chatMessageOf, importedOf } from "./_gen/message.js";
import { type MessageInput, messageOf } from "./contexts.js";
import type { PutArtifactResponse } from "./gen/contextkeep/context/v1/artifacts_pb.js";
import * as pb from "./gen/contextkeep/context/v1/tasks_pb.js";
import { type JsonObject, parseObject } from "./json.js";
import { enumText } from "./messages.js";
import { timeText } from "./times.js";

/** How far a task is; the last four end it. */
export type TaskState = Exclude<Lowercase<keyof typeof pb.TaskState>, "unspecified">;

/** Work that is done within a context. An ended one stays as it is. */
export interface Task {
  taskId: string;
  contextId: string;
  /** "submitted", "working", ...: see `TaskState`. */
  state: string;
  /** What the agent says of the state; no message of the log. */
  statusMessage?: ChatMessage;
  /** Since when it has the state. */
  statusAt: string;
  /** Others of the context, which it builds on. */
  referenceTaskIds: string[];
  metadata: JsonObject;
  /** Counts its changes, from 1. */
  version: number;
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

export type { MessageInput };

/** Return the message of a state; a text is the agent's. */
export function statusMessageOf(message: MessageInput | string, path: string) {
  return messageOf(typeof message === "string" ? { content: message, role: "assistant" } : message, path);
}

/** Return a task of an answer. */
export function taskOf(message: pb.Task): Task {
  const { taskId, contextId, referenceTaskIds, createdBy, status } = message;
  const task = {
    taskId,
    contextId,
    state: enumText(pb.TaskState, status?.state ?? pb.TaskState.UNSPECIFIED),
    statusAt: timeText(status?.time),
    referenceTaskIds,
    metadata: parseObject(message.metadataJson),
    version: Number(message.version),
    createdBy,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    ...(message.imported && { imported: importedOf(message.imported) }),
  };
  return status?.message ? { ...task, statusMessage: chatMessageOf(status.message) } : task;
}

/** An artifact as it was written, without its parts, and the places of those that held secrets. */
export type WrittenArtifact = Artifact & { redactedParts: number[] };

export function writtenArtifactOf({ artifact, redactedParts }: PutArtifactResponse): WrittenArtifact {
  return { ...artifactOf(artifact!), redactedParts };
}
