/** Tasks of contexts. */

import type { TaskOptions } from "./tasks.js";
import * as pb from "../gen/contextkeep/context/v1/contexts_pb.js";
import { type Artifact, artifactOf } from "../_gen/contexts.js";
import type { AppClient, ContextOptions } from "./app.js";
import { Noun } from "../noun.js";
import { type ArtifactInput, artifactInput } from "../tasks.js";
import { type WriteOptions, requestId } from "../writes.js";

const method = pb.Contexts.method;

/** An RPC is one method. A task that is of another context, or not there at all, is `TaskNotFound`. */
export class Artifacts extends Noun<AppClient> {
  /**
   * Write the next version of an artifact, or a chunk of the newest one, and return it without its parts. Its texts are found by the
   * next call, and those of the version before no more.
   *
   * @param options `append` puts the parts behind those of the newest version; `lastChunk`: nothing more comes to it.
   * @throws TaskEnded The task makes nothing any more.
   * @throws ArtifactNotFound A chunk is of none.
   * @throws ArtifactComplete A chunk comes behind the last one.
   */
  async put(
    taskId: string,
    artifact: ArtifactInput,
    options: { append?: boolean; lastChunk?: boolean } & TaskOptions & WriteOptions = {},
  ): Promise<Artifact & { redactedParts: number[] }> {
    const { contextId, append, lastChunk, subjectUserId } = options;
    const said = artifactInput(artifact);
    const request = { contextId, taskId, artifact: said, append, lastChunk, subjectUserId, requestId: requestId(options) };
    const answer = await this.client.call(method.putArtifact, request, options);
    return { ...artifactOf(answer.artifact!), redactedParts: answer.redactedParts };
  }

  /**
   * Return a version of an artifact with its parts.
   *
   * @param options `version` is else the newest.
   * @throws ArtifactNotFound The task has none, or not this version.
   */
  async get(
    taskId: string,
    artifactId: string,
    options: { version?: number } & TaskOptions = {},
  ): Promise<Artifact> {
    const { contextId, version, subjectUserId } = options;
    const request = { contextId, taskId, artifactId, version, subjectUserId };
    return artifactOf((await this.client.call(method.getArtifact, request, options)).artifact!);
  }

  /**
   * Return what a recalled item is quoted from, as a prompt names it ("a3.0"): that version, with its parts.
   *
   * @throws ContextNotFound There is no such context.
   * @throws ArtifactNotFound It has none there.
   */
  async getAt(contextId: string, ref: string, options: ContextOptions = {}): Promise<Artifact> {
    const request = { contextId, ref, subjectUserId: options.subjectUserId };
    return artifactOf((await this.client.call(method.getArtifact, request, options)).artifact!);
  }
}
