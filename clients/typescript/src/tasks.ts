/** Tasks of contexts: what callers see and say of them. */

import type { MessageInitShape } from "@bufbuild/protobuf";

import { type Context, type MessageInput, type PartInput, contextOf, messageInput, partInput } from "./contexts.js";
import * as pb from "./gen/contextkeep/context/v1/contexts_pb.js";
import { InvalidArgument } from "./gen/errors.js";
import { type ChatMessage, type Part, chatMessageOf, partOf } from "./history.js";
import { type Imported, importedField } from "./imported.js";
import { type JsonObject, parseObject, toObject } from "./json.js";
import { choice, enumText, fieldsOf } from "./messages.js";
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

/** A version of what a task made. Parts and metadata are there where it was read by `getArtifact`. */
export interface Artifact {
  /** The sender's, unique in its task. */
  artifactId: string;
  taskId: string;
  contextId: string;
  name: string;
  description: string;
  /** From 1. */
  version: number;
  /** Nothing more comes to this version. */
  isComplete: boolean;
  parts: Part[];
  metadata: JsonObject;
  partCount: number;
  sizeBytes: number;
  /** What its texts take of a model's context, about. */
  tokens: number;
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  /** Unset: no import wrote it. */
  imported?: Imported;
}

/** A new version of an artifact, or a chunk of one. */
export interface ArtifactInput {
  /** 1 to 100 of one call, up to 1,000 of a version. */
  parts: PartInput[];
  /** Up to 200 characters, unique in its task; else the server makes one. */
  artifactId?: string;
  /** Up to 200 characters; of a chunk it stays as it was said first, as the next two. */
  name?: string;
  /** Up to 1,000 characters. */
  description?: string;
  /** Up to 64 KiB of JSON. */
  metadata?: object;
}

/** A task, its newest messages, oldest of them first, and its artifacts, each in its newest version without its parts. */
export interface TaskHistory {
  task: Task;
  messages: ChatMessage[];
  artifacts: Artifact[];
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
  return { state: taskState(state, `${field}.state`), message: said && messageInput(said, `${field}.message`) };
}

/** Return the number of a state. */
export function taskState(state: TaskState, field: string): pb.TaskState {
  return choice(field, state, STATES);
}

/** Return the message of an artifact. */
export function artifactInput(said: ArtifactInput): MessageInitShape<typeof pb.ArtifactInputSchema> {
  const { artifactId, name, description, parts } = said;
  return {
    artifactId,
    name,
    description,
    parts: parts.map((part, place) => partInput(part, `artifact.parts[${place}]`)),
    metadataJson: toObject(said.metadata, "artifact.metadata_json"),
  };
}

/** Return an artifact of an answer. */
export function artifactOf(message: pb.Artifact): Artifact {
  const { parts, metadataJson, sizeBytes, createdAt, updatedAt, imported, ...fields } = fieldsOf(message);
  return {
    ...fields,
    parts: parts.map(partOf),
    metadata: parseObject(metadataJson),
    sizeBytes: Number(sizeBytes),
    createdAt: timeText(createdAt),
    updatedAt: timeText(updatedAt),
    ...importedField(imported),
  };
}

/** Something that happened in a context: one of the first three. */
export interface ContextEvent {
  message?: ChatMessage;
  task?: Task;
  /** Without its parts. */
  artifact?: Artifact;
  /** Taken back: a copy of them has to go. Also of messages that were never told. */
  retracted?: RetractedMessages;
  /** The header, changed or closed. */
  context?: Context;
  /** From where on there is more, as the next one. */
  seqFrom: number;
  changeAfter: number;
}

/** Messages that one call took back; their ids are in the order of their places. */
export interface RetractedMessages {
  seqs: number[];
  messageIds: string[];
}

/** Return an event of an answer. */
export function contextEventOf({ event, ...places }: pb.WatchContextResponse): ContextEvent {
  const from = { seqFrom: Number(places.seqFrom), changeAfter: Number(places.changeAfter) };
  switch (event.case) {
    case "message":
      return { message: chatMessageOf(event.value), ...from };
    case "task":
      return { task: taskOf(event.value), ...from };
    case "artifact":
      return { artifact: artifactOf(event.value), ...from };
    case "retracted":
      return { retracted: { seqs: event.value.seqs.map(Number), messageIds: event.value.messageIds }, ...from };
    case "context":
      return { context: contextOf(event.value), ...from };
    default:
      return from;
  }
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
    ...importedField(message.imported),
  };
  return status?.message ? { ...task, statusMessage: chatMessageOf(status.message) } : task;
}
