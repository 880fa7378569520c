/** Subjects erased, and holds that forbid it. */

import {
  type ErasurePlan,
  type Hold,
  type SubjectErasure,
  erasurePlanOf,
  holdOf,
  subjectErasureOf,
} from "../_gen/erasures.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/erasures_pb.js";
import { Rows, pages } from "../rows.js";
import { type WriteOptions, requestId } from "../writes.js";
import { TransferCalls } from "./transfer.js";

const method = pb.Erasures.method;

/** An RPC is one method. All of them need the scope admin, of a key without bounds. */
export abstract class ErasureCalls extends TransferCalls {
  /** What there is of a subject in both services, what forbids to erase it, and what no erasure finds. */
  async planErasure(subject: string, options: CallOptions = {}): Promise<ErasurePlan> {
    return erasurePlanOf(await this.call(method.planErasure, { subject }, options));
  }

  /**
   * Begin to erase a subject in both services, and return the receipt; `getSubjectErasure` tells how far it is.
   *
   * @param subject The id of the user, as of `ownerUserId`. Stop before whoever writes for it.
   * @throws LegalHold It may not be erased now.
   */
  async erase(subject: string, options: WriteOptions = {}): Promise<SubjectErasure> {
    const request = { subject, requestId: requestId(options) };
    return subjectErasureOf((await this.call(method.erase, request, options)).erasure!);
  }

  /**
   * The receipt of a subject that is erased, as it is now.
   *
   * @throws ErasureNotFound There is none.
   */
  async getSubjectErasure(erasureId: string, options: CallOptions = {}): Promise<SubjectErasure> {
    return subjectErasureOf((await this.call(method.getSubjectErasure, { erasureId }, options)).erasure!);
  }

  /**
   * Forbid to erase a subject, or a context with those below it, until `releaseHold`.
   *
   * @param reason For people.
   * @throws ContextNotFound There is none.
   */
  async putHold(reason: string, of: { subject?: string; contextId?: string } & WriteOptions): Promise<Hold> {
    const { subject, contextId } = of;
    return holdOf((await this.call(method.putHold, { subject, contextId, reason, requestId: requestId(of) }, of)).hold!);
  }

  /**
   * Take a hold away.
   *
   * @throws HoldNotFound There is none.
   */
  async releaseHold(holdId: string, options: WriteOptions = {}): Promise<void> {
    await this.call(method.releaseHold, { holdId, requestId: requestId(options) }, options);
  }

  /** The holds, the newest first. */
  listHolds(options: { pageSize?: number } & CallOptions = {}): Rows<Hold> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listHolds, { pageSize, pageToken }, options);
        return [page.holds.map(holdOf), page.nextPageToken];
      }),
    );
  }
}
