/** Tasks of contexts. */

import type { ContextOptions } from "./app.js";
import { GeneratedTasks } from "../_gen/nouns/tasks.js";
import * as pb from "../gen/contextkeep/context/v1/contexts_pb.js";
import { toObject } from "../json.js";
import { whole } from "../messages.js";
import { type StatusInput, type Task, taskOf, taskStatus } from "../tasks.js";
import { type WriteOptions, requestId } from "../writes.js";

const method = pb.Contexts.method;

/** A call about a task. */
export interface TaskOptions extends ContextOptions {
  /** Else that of the task. */
  contextId?: string;
}

/** An RPC is one method. A task that is of another context, or not there at all, is `TaskNotFound`. */
export class Tasks extends GeneratedTasks {
  /**
   * Begin a task of a context, and return it. Messages that name it in `taskId` belong to it.
   *
   * @param options `state` is else "submitted"; `referenceTaskIds` are up to 100 tasks of the context, which this one builds on.
   * @throws ContextClosed The context is closed.
   * @throws TaskNotFound It has not all tasks that are referred to.
   */
  async create(
    contextId: string,
    options: StatusInput & { referenceTaskIds?: string[]; metadata?: object } & ContextOptions & WriteOptions = {},
  ): Promise<Task> {
    const { referenceTaskIds, subjectUserId } = options;
    const metadataJson = toObject(options.metadata, "task.metadata_json");
    const task = { status: taskStatus(options), referenceTaskIds, metadataJson };
    const request = { contextId, task, subjectUserId, requestId: requestId(options) };
    return taskOf((await this.client.call(method.createTask, request, options)).task!);
  }

  /**
   * Change the status of a task, its metadata, or both, and return it.
   *
   * @param changes With a `state` the status is a new one, with its message or none; `expectedVersion` changes only that version.
   * @throws TaskEnded Nothing of it changes any more.
   * @throws VersionConflict It has another version.
   */
  async update(
    taskId: string,
    changes: StatusInput & { metadata?: object; expectedVersion?: number } & TaskOptions & WriteOptions,
  ): Promise<Task> {
    const { contextId, metadata, subjectUserId } = changes;
    const status = taskStatus(changes);
    const request = {
      contextId,
      taskId,
      task: { status, metadataJson: toObject(metadata, "task.metadata_json") },
      updateMask: { paths: [...(status ? ["status"] : []), ...(metadata === undefined ? [] : ["metadata_json"])] },
      expectedVersion: whole("expected_version", changes.expectedVersion),
      subjectUserId,
      requestId: requestId(changes),
    };
    return taskOf((await this.client.call(method.updateTask, request, changes)).task!);
  }
}
