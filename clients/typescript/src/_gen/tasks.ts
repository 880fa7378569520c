// Made from contextkeep/context/v1/tasks.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/tasks_pb.js";
import { type Task, taskOf } from "../tasks.js";
import { type Artifact, artifactOf } from "./artifacts.js";
import { type ChatMessage, chatMessageOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

export interface TaskHistory {
  task: Task;
  messages: ChatMessage[];
  /** The artifacts of the task, each in its newest version without its parts, oldest first. A task has up to 500. */
  artifacts: Artifact[];
  /**
   * Whether older messages that the caller asked for are left out. The history ends at 2 MiB or 1,000 messages.
   * contexts.listMessages reads the others.
   */
  historyIsPartial: boolean;
}

export function taskHistoryOf(message: pb.GetTaskResponse): TaskHistory {
  return {
    task: taskOf(message.task ?? create(pb.TaskSchema)),
    messages: message.history.map(chatMessageOf),
    artifacts: message.artifacts.map(artifactOf),
    historyIsPartial: message.historyIsPartial,
  };
}
