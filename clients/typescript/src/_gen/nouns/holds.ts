// Made from the protos by `make proto`.

import * as erasuresPb from "../../gen/contextkeep/context/v1/erasures_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type Hold, holdOf } from "../erasures.js";

/** The calls of `holds` that are one method each. */
export class Holds extends Noun<AppClient> {
  /**
   * Forbid the erasure of a subject, or of a context and its child contexts. While the hold exists, Erase and
   * contexts.delete fail with LegalHold, expired data (`expiresAt`) stays, and a running erasure pauses. The hold
   * forbids nothing else: contexts.retractMessages, purges of records and deletions of memories still work. Several holds of the
   * same subject or context all count, and each must be released. A tenant has up to 1,000.
   *
   * Throws ContextNotFound, InvalidArgument (both or neither of `subject` and `contextId` are set, or `reason` is
   * empty), LimitExceeded, PermissionDenied, RequestIdReused.
   *
   * @param reason The reason, for people: 1 to 1,000 characters.
   * @param options.subject The id of a user. Give either this or `contextId`.
   * @param options.contextId The id of a context. Give either this or `subject`.
   */
  async put(reason: string, options: { subject?: string; contextId?: string } & WriteOptions = {}): Promise<Hold> {
    const request = {
      subject: options.subject,
      contextId: options.contextId,
      reason,
      requestId: requestId(options),
    };
    const answer = await this.client.call(erasuresPb.Erasures.method.putHold, request, options);
    return holdOf(answer.hold!);
  }

  /**
   * Release a hold. operations.listAdministrativeCalls shows who released it, and when. Throws HoldNotFound,
   * PermissionDenied, RequestIdReused.
   *
   * @param holdId The hold to release.
   */
  async release(holdId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      holdId,
      requestId: requestId(options),
    };
    await this.client.call(erasuresPb.Erasures.method.releaseHold, request, options);
  }

  /**
   * List holds, newest first. Throws InvalidArgument, InvalidPageToken, PermissionDenied.
   *
   * @param options.pageSize Holds per page, at most 1,000. 0: 100.
   */
  list(options: { pageSize?: number } & CallOptions = {}): Rows<Hold> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(erasuresPb.Erasures.method.listHolds, { ...request, pageToken }, options);
        return [page.holds.map(holdOf), page.nextPageToken];
      }),
    );
  }
}
