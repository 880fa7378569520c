// Made from the protos by `make proto`.

import * as contextsPb from "../../gen/contextkeep/context/v1/contexts_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { toObject } from "../../json.js";
import { enumInput, given, maskOf, whole } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type MessageInput, type Task, statusMessageOf, taskOf } from "../../tasks.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type TaskHistory, taskHistoryOf } from "../contexts.js";

/** Options of `tasks.create`. */
export interface NewTask {
  /** Unset, of a new task: TASK_STATE_SUBMITTED. */
  state?: "submitted" | "working" | "completed" | "failed" | "canceled" | "input_required" | "rejected" | "auth_required";
  /** Content, parts, name, agent_id, message_id and metadata_json of it are kept; secrets are taken out, as of messages. Unset: none. */
  statusMessage?: MessageInput | string;
  /** Of a new task: up to 100 tasks of its context. */
  referenceTaskIds?: string[];
  /** A JSON object up to 64 KiB. Empty: {}. */
  metadata?: object;
}

/** Options of `tasks.update`. */
export interface TaskChanges {
  /** Empty: that of the task, as in the next three. */
  contextId?: string;
  /** Unset, of a new task: TASK_STATE_SUBMITTED. */
  state?: "submitted" | "working" | "completed" | "failed" | "canceled" | "input_required" | "rejected" | "auth_required";
  /** Content, parts, name, agent_id, message_id and metadata_json of it are kept; secrets are taken out, as of messages. Unset: none. */
  statusMessage?: MessageInput | string;
  /** A JSON object up to 64 KiB. Empty: {}. */
  metadata?: object;
  /** The version that it must have; 0: any. */
  expectedVersion?: number;
}

/** Options of `tasks.list`. */
export interface TasksListOptions {
  /** Any of these. Empty: all. */
  states?: ("submitted" | "working" | "completed" | "failed" | "canceled" | "input_required" | "rejected" | "auth_required")[];
  pageSize?: number;
}

/** The calls of `tasks` that are one method each. */
export class Tasks extends Noun<AppClient> {
  /**
   * Begins a task of a context: work with a state, to which messages belong that name it. What goes on with an ended one is a new task
   * of the same context, which names it in `referenceTaskIds`.
   *
   * A task is never seen in another context: one that is another's, another tenant's or user's, or invented is TaskNotFound, all alike.
   *
   * Throws ContextNotFound, ContextClosed, TaskNotFound (of `referenceTaskIds`), InvalidArgument, RecordNotFound (a part of
   * the status names a record that the caller cannot read), RequestIdReused, LimitExceeded.
   */
  async create(contextId: string, options: NewTask & ContextOptions & WriteOptions = {}): Promise<Task> {
    const request = {
      contextId,
      task: {
        status: given({
          state: enumInput("task.status.state", options.state, contextsPb.TaskState),
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
    const answer = await this.client.call(contextsPb.Contexts.method.createTask, request, options);
    return taskOf(answer.task!);
  }

  /**
   * Changes what `updateMask` names of a task, each as a whole: status, metadata_json. Nothing of an ended task changes, and none goes
   * back to TASK_STATE_SUBMITTED; any other state may follow any other.
   *
   * Throws TaskNotFound, TaskEnded (FailedPrecondition), ContextClosed, VersionConflict (Aborted), and those of tasks.create.
   */
  async update(taskId: string, options: TaskChanges & ContextOptions & WriteOptions = {}): Promise<Task> {
    const request = {
      contextId: options.contextId,
      taskId,
      task: {
        status: given({
          state: enumInput("task.status.state", options.state, contextsPb.TaskState),
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
    const answer = await this.client.call(contextsPb.Contexts.method.updateTask, request, options);
    return taskOf(answer.task!);
  }

  /**
   * Reads a task with its newest messages, oldest of them first. Throws ContextNotFound, TaskNotFound.
   *
   * @param options.historyLength The newest so many messages of it. Unset: all that fit (2 MiB); 0: none.
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
    const answer = await this.client.call(contextsPb.Contexts.method.getTask, request, options);
    return taskHistoryOf(answer);
  }

  /** Lists the tasks of a context, the newest first. Throws ContextNotFound, InvalidArgument, InvalidPageToken. */
  list(contextId: string, options: TasksListOptions & ContextOptions = {}): Rows<Task> {
    const request = {
      contextId,
      states: options.states?.map((item, place) => enumInput(`states[${place}]`, item, contextsPb.TaskState)),
      subjectUserId: options.subjectUserId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextsPb.Contexts.method.listTasks, { ...request, pageToken }, options);
        return [page.tasks.map(taskOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Ends a task as TASK_STATE_CANCELED. Again is harmless. Whoever works on it reads so with tasks.get: nothing is sent to him.
   *
   * Throws ContextNotFound, TaskNotFound, TaskEnded (it ended otherwise), ContextClosed, RequestIdReused.
   */
  async cancel(taskId: string, options: { contextId?: string } & ContextOptions & WriteOptions = {}): Promise<Task> {
    const request = {
      contextId: options.contextId,
      taskId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextsPb.Contexts.method.cancelTask, request, options);
    return taskOf(answer.task!);
  }
}
