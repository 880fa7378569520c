// Made from the protos by `make proto`.

import * as contextsPb from "../../gen/contextkeep/context/v1/contexts_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { enumInput } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type Task, taskOf } from "../../tasks.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type TaskHistory, taskHistoryOf } from "../contexts.js";

/** Options of `tasks.list`. */
export interface TasksListOptions {
  /** Any of these. Empty: all. */
  states?: ("submitted" | "working" | "completed" | "failed" | "canceled" | "input_required" | "rejected" | "auth_required")[];
  pageSize?: number;
}

/** The calls of `tasks` that are one method each. */
export class GeneratedTasks extends Noun<AppClient> {
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
