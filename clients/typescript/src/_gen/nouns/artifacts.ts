// Made from the protos by `make proto`.

import * as artifactsPb from "../../gen/contextkeep/context/v1/artifacts_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { type WrittenArtifact, writtenArtifactOf } from "../../tasks.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type Artifact, artifactOf } from "../artifacts.js";
import { type ArtifactInput, artifactInput } from "../inputs.js";

/** The calls of `artifacts` that are one method each. */
export class GeneratedArtifacts extends Noun<AppClient> {
  /**
   * Write an artifact, the result of a task. The same `artifactId` again creates the next version. With `append`, the
   * parts are added to the newest version as a chunk.
   *
   * When the call returns, the next call finds the texts of the artifact, as passages of the kind "artifact". It no
   * longer finds the texts of the version before. An artifact belongs to one task, and is never listed with another.
   *
   * Throws ContextNotFound, TaskNotFound, TaskEnded, ContextClosed, ArtifactNotFound (a chunk for an artifact
   * that does not exist), ArtifactComplete (FailedPrecondition; a chunk after the last one), InvalidArgument,
   * RecordNotFound (a part names a record that the caller cannot read), RequestIdReused, LimitExceeded. Repeating
   * an `append` without a `requestId` appends the parts twice.
   *
   * @param options.contextId Empty means the context of the task.
   * @param options.append Add the parts to the end of the newest version. Otherwise they are the next version.
   * @param options.lastChunk Complete this version: no more chunks can follow.
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
    const answer = await this.client.call(artifactsPb.Artifacts.method.putArtifact, request, options);
    return writtenArtifactOf(answer);
  }

  /**
   * Read a version of an artifact with its parts. Throws ContextNotFound, TaskNotFound, ArtifactNotFound,
   * InvalidArgument.
   *
   * @param options.contextId Empty means the context of the task. Required with `ref`.
   * @param options.version 0 means the newest version.
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
    const answer = await this.client.call(artifactsPb.Artifacts.method.getArtifact, request, options);
    return artifactOf(answer.artifact!);
  }

  /**
   * Read a version of an artifact with its parts. Throws ContextNotFound, TaskNotFound, ArtifactNotFound,
   * InvalidArgument.
   *
   * @param contextId Empty means the context of the task. Required with `ref`.
   * @param ref The `ref` that `contexts.recall` returned for a passage of the artifact, such as "a3.0". Set it instead of `taskId`, `artifactId` and `version`. It names the version that `contexts.recall` found. Without it, `taskId` and `artifactId` are required.
   */
  async getAt(contextId: string, ref: string, options: ContextOptions = {}): Promise<Artifact> {
    const request = {
      contextId,
      subjectUserId: options.subjectUserId,
      ref,
    };
    const answer = await this.client.call(artifactsPb.Artifacts.method.getArtifact, request, options);
    return artifactOf(answer.artifact!);
  }
}
