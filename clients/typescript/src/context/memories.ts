/** Memories: facts about a user, across contexts. */

import { type Consolidation, consolidationOf } from "../_gen/memories.js";
import { GeneratedMemories } from "../_gen/nouns/memories.js";
import * as pb from "../gen/contextkeep/context/v1/memories_pb.js";
import { type WriteOptions, requestId } from "../writes.js";
import type { ContextOptions } from "./app.js";

const method = pb.Memories.method;

/**
 * Each RPC is one method. A memory belongs to a user: a key without a user names one in `subjectUserId`, otherwise the
 * call fails with `SubjectRequired`. A memory of another user is `MemoryNotFound`.
 */
export class Memories extends GeneratedMemories {
  /**
   * Return a plan of duplicates to merge and lessons to promote; with `plan`, carry it out.
   *
   * @param options `runContextIds` are up to 20 runs whose lessons are promoted.
   * @throws PlanOutdated Memories changed since the plan was made.
   */
  async consolidate(
    options: { plan?: string; runContextIds?: string[] } & ContextOptions & WriteOptions = {},
  ): Promise<Consolidation> {
    const { plan, runContextIds, subjectUserId } = options;
    const request = { runContextIds, apply: Boolean(plan), plan, subjectUserId, requestId: plan && requestId(options) };
    return consolidationOf(await this.client.call(method.consolidateMemories, request, options));
  }
}
