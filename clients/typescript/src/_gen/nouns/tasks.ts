// Made from the protos by `make proto`.

import * as tasksPb from "../../gen/contextkeep/context/v1/tasks_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { toObject } from "../../json.js";
import { enumInput, given, maskOf, whole } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type MessageInput, type Task, statusMessageOf, taskOf } from "../../tasks.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type TaskHistory, taskHistoryOf } from "../tasks.js";

/** Options of `tasks.create`. */
export interface NewTask {
  /** Unset means TASK_STATE_SUBMITTED, for a new task. */
  state?: "submitted" | "working" | "completed" | "failed" | "canceled" | "input_required" | "rejected" | "auth_required";
  /**
   * The service keeps its content, parts, name, agent_id, message_id and metadata_json. Secrets are removed, as in
   * messages. Unset means no message.
   */
  statusMessage?: MessageInput | string;
  /** Up to 100 tasks of its context. Only for a new task. */
  referenceTaskIds?: string[];
  /** A JSON object up to 64 KiB. Empty means {}. */
  metadata?: object;
}

/** Options of `tasks.update`. */
export interface TaskChanges {
  /** Empty means the context of the task. */
  contextId?: string;
  /** Unset means TASK_STATE_SUBMITTED, for a new task. */
  state?: "submitted" | "working" | "completed" | "failed" | "canceled" | "input_required" | "rejected" | "auth_required";
  /**
   * The service keeps its content, parts, name, agent_id, message_id and metadata_json. Secrets are removed, as in
   * messages. Unset means no message.
   */
  statusMessage?: MessageInput | string;
  /** A JSON object up to 64 KiB. Empty means {}. */
  metadata?: object;
  /** The version that the task must have. 0 means any version. */
  expectedVersion?: number;
}

/** Options of `tasks.list`. */
export interface TasksListOptions {
  /** Tasks in one of these states. Empty means all states. */
  states?: ("submitted" | "working" | "completed" | "failed" | "canceled" | "input_required" | "rejected" | "auth_required")[];
  pageSize?: number;
}

/** The calls of `tasks` that are one method each. */
export class GeneratedTasks extends Noun<AppClient> {
  /**
   * Create a task in a context: work with a state, and messages that name it. To continue an ended task, create a new
   * one in the same context and name the old task in `referenceTaskIds`.
   *
   * Throws ContextNotFound, ContextClosed, TaskNotFound (of `referenceTaskIds`), InvalidArgument,
   * RecordNotFound (a part of the status names a record that the caller cannot read), RequestIdReused,
   * LimitExceeded.
   */
  async create(contextId: string, options: NewTask & ContextOptions & WriteOptions = {}): Promise<Task> {
    const request = {
      contextId,
      task: {
        status: given({
          state: enumInput("task.status.state", options.state, tasksPb.TaskState),
          message: options.statusMessage === undefined ? undefined : statusMessageOf(
            options.statusMessage,
            "task.status.message",
          ),
        }),
        referenceTaskIds: options.referenceTaskIds,
        metadataJson: toObject(options.metadata, "task.metadata_json"),
      },
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(tasksPb.Tasks.method.createTask, request, options);
    return taskOf(answer.task!);
  }

  /**
   * Replace the fields of a task that `updateMask` names: status, metadata_json. An ended task does not change. No
   * task returns to TASK_STATE_SUBMITTED; every other change of state is allowed.
   *
   * Throws TaskNotFound, TaskEnded (FailedPrecondition), ContextClosed, VersionConflict (Aborted), and those of
   * tasks.create.
   */
  async update(taskId: string, options: TaskChanges & ContextOptions & WriteOptions = {}): Promise<Task> {
    const request = {
      contextId: options.contextId,
      taskId,
      task: {
        status: given({
          state: enumInput("task.status.state", options.state, tasksPb.TaskState),
          message: options.statusMessage === undefined ? undefined : statusMessageOf(
            options.statusMessage,
            "task.status.message",
          ),
        }),
        metadataJson: toObject(options.metadata, "task.metadata_json"),
      },
      updateMask: maskOf({
        status: options.state ?? options.statusMessage,
        metadata_json: options.metadata,
      }),
      expectedVersion: whole("expected_version", options.expectedVersion),
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(tasksPb.Tasks.method.updateTask, request, options);
    return taskOf(answer.task!);
  }

  /**
   * Read a task with its newest messages, sorted oldest first. Throws ContextNotFound, TaskNotFound.
   *
   * @param options.historyLength Return at most this many of its newest messages. Unset means as many as fit in 2 MiB; 0 means none.
   */
  async get(
    taskId: string,
    options: { contextId?: string; historyLength?: number } & ContextOptions = {},
  ): Promise<TaskHistory> {
    const request = {
      contextId: options.contextId,
      taskId,
      historyLength: options.historyLength,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(tasksPb.Tasks.method.getTask, request, options);
    return taskHistoryOf(answer);
  }

  /** List the tasks of a context, newest first. Throws ContextNotFound, InvalidArgument, InvalidPageToken. */
  list(contextId: string, options: TasksListOptions & ContextOptions = {}): Rows<Task> {
    const request = {
      contextId,
      states: options.states?.map((item, place) => enumInput(`states[${place}]`, item, tasksPb.TaskState)),
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(tasksPb.Tasks.method.listTasks, { ...request, pageToken }, options);
        return [page.tasks.map(taskOf), page.nextPageToken];
      }),
    );
  }

  /**
   * End a task as TASK_STATE_CANCELED. Canceling a canceled task changes nothing. The agent that works on the task is
   * not notified: it reads the state with tasks.get.
   *
   * Throws ContextNotFound, TaskNotFound, TaskEnded (the task ended in another state), ContextClosed,
   * RequestIdReused.
   */
  async cancel(taskId: string, options: { contextId?: string } & ContextOptions & WriteOptions = {}): Promise<Task> {
    const request = {
      contextId: options.contextId,
      taskId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(tasksPb.Tasks.method.cancelTask, request, options);
    return taskOf(answer.task!);
  }
}
