/** Contexts and their messages. */

import { type ContextEvent, type ContextIndex, contextEventOf, contextIndexOf } from "../_gen/contexts.js";
import { ContextHandle } from "../_gen/handles.js";
import { GeneratedContexts } from "../_gen/nouns/contexts.js";
import * as pb from "../gen/contextkeep/context/v1/contexts_pb.js";
import { Unavailable } from "../gen/errors.js";
import { whole } from "../messages.js";
import type { AppClient, ContextOptions } from "./app.js";
import { withUploads } from "./message-files.js";

const method = pb.Contexts.method;

/**
 * Each RPC is one method. A context that belongs to another tenant or user, is outside the bounds of the key, has
 * expired, or does not exist is `ContextNotFound`.
 */
export class Contexts extends GeneratedContexts {
  constructor(client: AppClient) {
    super(withUploads(client));
  }

  /**
   * Return a handle of a context: its methods need no `contextId`, and act for the user of `subjectUserId` if one is
   * given. Makes no call.
   */
  handle(contextId: string, { subjectUserId }: { subjectUserId?: string } = {}): ContextHandle {
    return new ContextHandle(subjectUserId ? new Contexts(this.client.forUser(subjectUserId)) : this, contextId);
  }

  /**
   * Wait until messages are found by all indexes, and return the state of the index. A message can be found by its
   * words as soon as it is sent. Vectors follow, if the service has an embedder.
   *
   * @param options `seq` is the last message that must be indexed; by default the newest one. `waitS` is the number of
   *   seconds to wait, up to 300; by default 30.
   * @throws ContextNotFound The context does not exist, or was deleted meanwhile.
   */
  async waitForIndex(
    contextId: string,
    options: { seq?: number; waitS?: number } & ContextOptions = {},
  ): Promise<ContextIndex> {
    const { waitS = 30, subjectUserId } = options;
    const request = { contextId, seq: whole("seq", options.seq), timeoutS: waitS, subjectUserId };
    const answer = await this.client.call(method.waitForIndex, request, { timeoutMs: (waitS + 5) * 1000, ...options });
    return contextIndexOf(answer.index!);
  }

  /**
   * Yield the events of a context: its messages, and each changed task or artifact in its new state. If a replica
   * stops, the stream continues on another one. It ends when the context is closed.
   *
   * @param options `seqFrom` is the first message; `changeAfter` skips changes of tasks and artifacts up to this
   *   number; an event has both values for the next call. `untilNow` stops after the events that exist now.
   * @throws Unauthenticated The key was revoked, or has expired.
   */
  async *watch(
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
        for await (const answer of this.client.stream(method.watchContext, request, options)) {
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
