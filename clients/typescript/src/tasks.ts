/** Tasks of contexts: what callers see and say of them. */

import type { MessageInitShape } from "@bufbuild/protobuf";

import { type ChatMessage, type Imported, chatMessageOf, importedOf } from "./_gen/message.js";
import { type Artifact, artifactOf } from "./_gen/contexts.js";
import { type MessageInput, messageOf } from "./contexts.js";
import * as pb from "./gen/contextkeep/context/v1/contexts_pb.js";
import { InvalidArgument } from "./gen/errors.js";
import { type JsonObject, parseObject } from "./json.js";
import { choice, enumText } from "./messages.js";
import { timeText } from "./times.js";

const STATES = {
  submitted: pb.TaskState.SUBMITTED,
  working: pb.TaskState.WORKING,
  input_required: pb.TaskState.INPUT_REQUIRED,
  auth_required: pb.TaskState.AUTH_REQUIRED,
  completed: pb.TaskState.COMPLETED,
  failed: pb.TaskState.FAILED,
  canceled: pb.TaskState.CANCELED,
  rejected: pb.TaskState.REJECTED,
};

/** How far a task is; the last four end it. */
export type TaskState = keyof typeof STATES;

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

/** A status as it is said. */
export interface StatusInput {
  /** Nothing goes back to "submitted". */
  state?: TaskState;
  /** What is said of the state, with which it comes; a text is the agent's. */
  statusMessage?: MessageInput | string;
}

/** Return the message of a status; undefined: nothing is said of it. */
export function taskStatus(
  { state, statusMessage }: StatusInput,
  field = "task.status",
): MessageInitShape<typeof pb.TaskStatusInputSchema> | undefined {
  if (state === undefined) {
    if (statusMessage === undefined) return undefined;
    throw new InvalidArgument("statusMessage comes with a state", { field: `${field}.message` });
  }
  const said: MessageInput | undefined =
    typeof statusMessage === "string" ? { content: statusMessage, role: "assistant" } : statusMessage;
  return { state: taskState(state, `${field}.state`), message: said && messageOf(said, `${field}.message`) };
}

/** Return the number of a state. */
export function taskState(state: TaskState, field: string): pb.TaskState {
  return choice(field, state, STATES);
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

export function writtenArtifactOf({ artifact, redactedParts }: pb.PutArtifactResponse): WrittenArtifact {
  return { ...artifactOf(artifact!), redactedParts };
}
