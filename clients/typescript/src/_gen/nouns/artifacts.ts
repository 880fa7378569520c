// Made from the protos by `make proto`.

import * as contextsPb from "../../gen/contextkeep/context/v1/contexts_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { type WrittenArtifact, writtenArtifactOf } from "../../tasks.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type Artifact, artifactOf } from "../contexts.js";
import { type ArtifactInput, artifactInput } from "../inputs.js";

/** The calls of `artifacts` that are one method each. */
export class Artifacts extends Noun<AppClient> {
  /**
   * Writes an artifact: what a task makes. The same `artifactId` again is its next version, or with `append` a chunk of the newest one.
   *
   * When this is answered, its texts are found by the next call, as passages of the kind "artifact"; those of the version before are not.
   * An artifact of one task is never listed with another.
   *
   * Throws ContextNotFound, TaskNotFound, TaskEnded, ContextClosed, ArtifactNotFound (a chunk of none), ArtifactComplete
   * (FailedPrecondition; a chunk behind the last one), InvalidArgument, RecordNotFound (a part names a record that the caller cannot
   * read), RequestIdReused, LimitExceeded. Who repeats an `append` without a `requestId` appends twice.
   *
   * @param options.contextId Empty: that of the task.
   * @param options.append The parts go behind those of the newest version. Else they are the next version.
   * @param options.lastChunk Nothing more comes to this version.
   */
  async put(
    taskId: string,
    artifact: ArtifactInput,
    options: { contextId?: string; append?: boolean; lastChunk?: boolean } & ContextOptions & WriteOptions = {},
  ): Promise<WrittenArtifact> {
    const request = {
      contextId: options.contextId,
      taskId,
      artifact: artifactInput(artifact, "artifact"),
      append: options.append,
      lastChunk: options.lastChunk,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextsPb.Contexts.method.putArtifact, request, options);
    return writtenArtifactOf(answer);
  }

  /**
   * Reads a version of an artifact, with its parts. Throws ContextNotFound, TaskNotFound, ArtifactNotFound, InvalidArgument.
   *
   * @param options.contextId Empty: that of the task.
   * @param options.version 0: the newest.
   */
  async get(
    taskId: string,
    artifactId: string,
    options: { contextId?: string; version?: number } & ContextOptions = {},
  ): Promise<Artifact> {
    const request = {
      contextId: options.contextId,
      taskId,
      artifactId,
      version: options.version,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.getArtifact, request, options);
    return artifactOf(answer.artifact!);
  }

  /**
   * Reads a version of an artifact, with its parts. Throws ContextNotFound, TaskNotFound, ArtifactNotFound, InvalidArgument.
   *
   * @param contextId Empty: that of the task.
   * @param ref In the place of the task and what is below it: what Recall calls a passage of it, in `contextId`, such as "a3.0". It is of the version that was found then.
   */
  async getAt(contextId: string, ref: string, options: ContextOptions = {}): Promise<Artifact> {
    const request = {
      contextId,
      subjectUserId: options.subjectUserId,
      ref,
    };
    const answer = await this.client.call(contextsPb.Contexts.method.getArtifact, request, options);
    return artifactOf(answer.artifact!);
  }
}
