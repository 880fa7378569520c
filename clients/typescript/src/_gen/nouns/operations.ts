// Made from the protos by `make proto`.

import * as administrationPb from "../../gen/contextkeep/context/v1/administration_pb.js";
import * as observingPb from "../../gen/contextkeep/context/v1/observing_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import {
  type AdministrativeCall,
  type BackgroundWork,
  type Tenant,
  type Usage,
  administrativeCallOf,
  backgroundWorkOf,
  tenantOf,
  usageOf,
} from "../administration.js";
import { type RecentCalls, recentCallsOf } from "../observing.js";

/** The calls of `operations` that are one method each. */
export class GeneratedOperations extends Noun<AppClient> {
  /**
   * Lists the calls of administrators, the newest first: who, what, from where, and what came of it. These are the calls of both services
   * that need the scope `admin` and changed something, or tried to. They are kept for 400 days. No content and no key is in them. A
   * caller that is bound sees those of callers that are bound to the same. The log has a line for each, too, and for every other call
   * that writes.
   *
   * Throws InvalidArgument, InvalidPageToken.
   *
   * @param options.callId Only the call of this id. Empty: all.
   */
  listAdministrativeCalls(options: { callId?: string; pageSize?: number } & CallOptions = {}): Rows<AdministrativeCall> {
    const request = {
      callId: options.callId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(administrationPb.Administration.method.listAdministrativeCalls, { ...request, pageToken }, options);
        return [page.calls.map(administrativeCallOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Answers how much the tenant stores, and how much it may store. Of the limits it answers those that hold, whether they are the
   * tenant's own or the settings'.
   */
  async getUsage(options: CallOptions = {}): Promise<Usage> {
    const request = {};
    const answer = await this.client.call(administrationPb.Administration.method.getUsage, request, options);
    return usageOf(answer);
  }

  /**
   * Lists all tenants by id, of all databases, with where each lives, what it stores and the limits of its own. Tenants of a database that does not answer
   * are in the list, and said to be away.
   *
   * Throws PermissionDenied, InvalidArgument, InvalidPageToken.
   */
  listTenants(options: { pageSize?: number } & CallOptions = {}): Rows<Tenant> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(administrationPb.Administration.method.listTenants, { ...request, pageToken }, options);
        return [page.tenants.map(tenantOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Lists the work that waits in the background, by kind and database, of all tenants together. It makes vectors, reads files, and
   * removes bytes and contexts. What failed for good is said where it belongs, such as `textError` of a record.
   */
  async listBackgroundWork(options: CallOptions = {}): Promise<BackgroundWork[]> {
    const request = {};
    const answer = await this.client.call(administrationPb.Administration.method.listBackgroundWork, request, options);
    return answer.work.map(backgroundWorkOf);
  }

  /**
   * Retries the failed work of a kind now, up to 10,000 of each database. Otherwise each retry waits longer than the one before. Again is
   * harmless.
   *
   * Throws PermissionDenied, InvalidArgument.
   */
  async retryBackgroundWork(kind: string, options: CallOptions = {}): Promise<number> {
    const request = {
      kind,
    };
    const answer = await this.client.call(administrationPb.Administration.method.retryBackgroundWork, request, options);
    return Number(answer.retried);
  }

  /**
   * Answers the calls of the caller's tenant to this process in the last hour, minute by minute. It says how many there were, how they
   * ended, and how long they took. It is kept in memory of a fixed size, for the hundred tenants that called last, and begins anew with
   * the process. Nothing of another tenant is in it, and no name.
   */
  async getRecentCalls(options: CallOptions = {}): Promise<RecentCalls> {
    const request = {};
    const answer = await this.client.call(observingPb.Observing.method.getRecentCalls, request, options);
    return recentCallsOf(answer);
  }
}
