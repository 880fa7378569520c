// Made from the protos by `make proto`.

import * as knowledgePb from "../../gen/contextkeep/context/v1/knowledge_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { type WriteOptions, requestId } from "../../writes.js";

/** The calls of `memories` that are one method each. */
export class GeneratedMemories extends Noun<AppClient> {
  /**
   * Removes a memory for good, with all that finds it. What it superseded is superseded by the next one of the key, or holds again.
   *
   * Throws MemoryNotFound, SubjectRequired, RequestIdReused.
   */
  async forget(memoryId: string, options: ContextOptions & WriteOptions = {}): Promise<void> {
    const request = {
      memoryId,
      subjectUserId: options.subjectUserId,
      requestId: requestId(options),
    };
    await this.client.call(knowledgePb.Knowledge.method.forgetMemory, request, options);
  }
}
