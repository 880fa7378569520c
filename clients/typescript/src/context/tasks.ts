/** Tasks of contexts. */

import { type Artifact, type ContextEvent, artifactOf, contextEventOf } from "../_gen/contexts.js";
import * as pb from "../gen/contextkeep/context/v1/contexts_pb.js";
import { Unavailable } from "../gen/errors.js";
import { toObject } from "../json.js";
import { whole } from "../messages.js";
import { Rows, pages } from "../rows.js";
import { type ArtifactInput, artifactInput } from "../tasks.js";
import { type StatusInput, type Task, type TaskState, taskOf, taskState, taskStatus } from "../tasks.js";
import { type WriteOptions, requestId } from "../writes.js";
import { ContextCalls, type ContextOptions } from "./contexts.js";

const method = pb.Contexts.method;

/** A call about a task. */
export interface TaskOptions extends ContextOptions {
  /** Else that of the task. */
  contextId?: string;
}

/** An RPC is one method. A task that is of another context, or not there at all, is `TaskNotFound`. */
export abstract class TaskCalls extends ContextCalls {
  /**
   * Begin a task of a context, and return it. Messages that name it in `taskId` belong to it.
   *
   * @param options `state` is else "submitted"; `referenceTaskIds` are up to 100 tasks of the context, which this one builds on.
   * @throws ContextClosed The context is closed.
   * @throws TaskNotFound It has not all tasks that are referred to.
   */
  async createTask(
    contextId: string,
    options: StatusInput & { referenceTaskIds?: string[]; metadata?: object } & ContextOptions & WriteOptions = {},
  ): Promise<Task> {
    const { referenceTaskIds, subjectUserId } = options;
    const metadataJson = toObject(options.metadata, "task.metadata_json");
    const task = { status: taskStatus(options), referenceTaskIds, metadataJson };
    const request = { contextId, task, subjectUserId, requestId: requestId(options) };
    return taskOf((await this.call(method.createTask, request, options)).task!);
  }

  /**
   * Change the status of a task, its metadata, or both, and return it.
   *
   * @param changes With a `state` the status is a new one, with its message or none; `expectedVersion` changes only that version.
   * @throws TaskEnded Nothing of it changes any more.
   * @throws VersionConflict It has another version.
   */
  async updateTask(
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
    return taskOf((await this.call(method.updateTask, request, changes)).task!);
  }

  /** The tasks of a context, the newest first; `states` are else all. */
  listTasks(contextId: string, options: { states?: TaskState[]; pageSize?: number } & ContextOptions = {}): Rows<Task> {
    const { pageSize, subjectUserId } = options;
    const states = options.states?.map((state) => taskState(state, "states"));
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listTasks, { contextId, states, subjectUserId, pageSize, pageToken }, options);
        return [page.tasks.map(taskOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Write the next version of an artifact, or a chunk of the newest one, and return it without its parts. Its texts are found by the
   * next call, and those of the version before no more.
   *
   * @param options `append` puts the parts behind those of the newest version; `lastChunk`: nothing more comes to it.
   * @throws TaskEnded The task makes nothing any more.
   * @throws ArtifactNotFound A chunk is of none.
   * @throws ArtifactComplete A chunk comes behind the last one.
   */
  async putArtifact(
    taskId: string,
    artifact: ArtifactInput,
    options: { append?: boolean; lastChunk?: boolean } & TaskOptions & WriteOptions = {},
  ): Promise<Artifact & { redactedParts: number[] }> {
    const { contextId, append, lastChunk, subjectUserId } = options;
    const said = artifactInput(artifact);
    const request = { contextId, taskId, artifact: said, append, lastChunk, subjectUserId, requestId: requestId(options) };
    const answer = await this.call(method.putArtifact, request, options);
    return { ...artifactOf(answer.artifact!), redactedParts: answer.redactedParts };
  }

  /**
   * Return a version of an artifact with its parts.
   *
   * @param options `version` is else the newest.
   * @throws ArtifactNotFound The task has none, or not this version.
   */
  async getArtifact(
    taskId: string,
    artifactId: string,
    options: { version?: number } & TaskOptions = {},
  ): Promise<Artifact> {
    const { contextId, version, subjectUserId } = options;
    const request = { contextId, taskId, artifactId, version, subjectUserId };
    return artifactOf((await this.call(method.getArtifact, request, options)).artifact!);
  }

  /**
   * Return what a recalled item is quoted from, as a prompt names it ("a3.0"): that version, with its parts.
   *
   * @throws ContextNotFound There is no such context.
   * @throws ArtifactNotFound It has none there.
   */
  async getArtifactAt(contextId: string, ref: string, options: ContextOptions = {}): Promise<Artifact> {
    const request = { contextId, ref, subjectUserId: options.subjectUserId };
    return artifactOf((await this.call(method.getArtifact, request, options)).artifact!);
  }

  /**
   * Yield what happens in a context: messages, and tasks and artifacts as they are when they changed. It goes on from where it was
   * when a replica stops, and ends when the context is closed.
   *
   * @param options `seqFrom` is the first message, `changeAfter` behind which change of tasks and artifacts; an event says from where on
   *   there is more. `untilNow` ends when all is told that is there.
   * @throws Unauthenticated The key is revoked, or over.
   */
  async *watchContext(
    contextId: string,
    options: { seqFrom?: number; changeAfter?: number; untilNow?: boolean } & ContextOptions = {},
  ): AsyncGenerator<ContextEvent> {
    const { untilNow, subjectUserId } = options;
    let seqFrom = whole("seq_from", options.seqFrom);
    let changeAfter = whole("change_after", options.changeAfter);
    for (;;) {
      let begun = false;
      try {
        const request = { contextId, seqFrom, changeAfter, untilNow, subjectUserId };
        for await (const answer of this.stream(method.watchContext, request, options)) {
          begun = true;
          ({ seqFrom, changeAfter } = answer);
          if (answer.event.case) yield contextEventOf(answer);
        }
        return;
      } catch (error) {
        if (!begun || !(error instanceof Unavailable)) throw error;
      }
    }
  }
}
