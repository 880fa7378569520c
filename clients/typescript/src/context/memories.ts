/** Memories: facts about a user, across contexts. */

import { type Consolidation, consolidationOf } from "../_gen/memories.js";
import { GeneratedMemories } from "../_gen/nouns/memories.js";
import * as pb from "../gen/contextkeep/context/v1/memories_pb.js";
import { type WriteOptions, requestId } from "../writes.js";
import type { ContextOptions } from "./app.js";

const method = pb.Memories.method;

/**
 * An RPC is one method. A memory belongs to a user: a key without a user names one in `subjectUserId`, otherwise it is
 * `SubjectRequired`.
 * Another's memory, and one that is not there at all, is `MemoryNotFound`.
 */
export class Memories extends GeneratedMemories {
  /**
   * Say what there is to merge and to promote; with the `plan` of that, do it.
   *
   * @param options `runContextIds` are up to 20 runs whose lessons are promoted.
   * @throws PlanOutdated Memories changed since.
   */
  async consolidate(
    options: { plan?: string; runContextIds?: string[] } & ContextOptions & WriteOptions = {},
  ): Promise<Consolidation> {
    const { plan, runContextIds, subjectUserId } = options;
    const request = { runContextIds, apply: Boolean(plan), plan, subjectUserId, requestId: plan && requestId(options) };
    return consolidationOf(await this.client.call(method.consolidateMemories, request, options));
  }
}
