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
   * Forbids to erase a subject, or a context and those below it. Erase and contexts.delete are refused with LegalHold, what is past its
   * `expiresAt` stays, and an erasure that is under way stops where it is. It forbids nothing else: contexts.retractMessages, records that are
   * purged, memories that are deleted. Holds of one thing add up: each is released by itself. 1,000 a tenant.
   *
   * Throws ContextNotFound, InvalidArgument (neither or both are named; no reason), LimitExceeded, PermissionDenied,
   * RequestIdReused.
   *
   * @param reason For people: 1 to 1,000 characters.
   * @param options.subject One of these two.
   * @param options.contextId The context; or name a subject.
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

  /** Releases a hold. Who did so, and when, is in operations.listAdministrativeCalls. Throws HoldNotFound, PermissionDenied, RequestIdReused. */
  async release(holdId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      holdId,
      requestId: requestId(options),
    };
    await this.client.call(erasuresPb.Erasures.method.releaseHold, request, options);
  }

  /**
   * Lists holds, the newest first. Throws InvalidArgument, InvalidPageToken, PermissionDenied.
   *
   * @param options.pageSize Up to 1,000; 0: 100.
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
