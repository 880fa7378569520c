// Made from the protos by `make proto`.

import * as administrationPb from "../../gen/contextkeep/context/v1/administration_pb.js";
import * as observingPb from "../../gen/contextkeep/context/v1/observing_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import {
  type AdministrativeCall,
  type PendingWork,
  type RetriedWork,
  type Tenant,
  type Usage,
  administrativeCallOf,
  pendingWorkOf,
  retriedWorkOf,
  tenantOf,
  usageOf,
} from "../administration.js";
import { type RecentCalls, recentCallsOf } from "../observing.js";

/** The calls of `operations` that are one method each. */
export class GeneratedOperations extends Noun<AppClient> {
  /**
   * List the calls of administrators, newest first: the caller, the method, the address and the result. These are the
   * calls of both services that need the scope `admin` and that changed something, or tried to. The service keeps them
   * for 400 days. They contain no content and no keys. A bound caller sees the calls of callers with the same bounds.
   * The log also has a line for each of them, and for every other call that writes.
   *
   * Throws InvalidArgument, InvalidPageToken.
   *
   * @param options.callId Only the call with this id. Empty: all.
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
   * Return how much the tenant stores, and its limits. The limits are those in effect: the tenant's own, or else those
   * of the settings.
   */
  async getUsage(options: CallOptions = {}): Promise<Usage> {
    const request = {};
    const answer = await this.client.call(administrationPb.Administration.method.getUsage, request, options);
    return usageOf(answer);
  }

  /**
   * List all tenants of all databases by id, with their database, usage and own limits. If a database does not answer,
   * its tenants are still in the list, marked with `isAway`.
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
   * List the background work that waits, by kind and database, for all tenants together. Background work makes
   * embeddings, parses files, and deletes bytes and contexts. Work that failed for good is shown at its object, such as
   * in `textError` of a record.
   */
  async listBackgroundWork(options: CallOptions = {}): Promise<PendingWork> {
    const request = {};
    const answer = await this.client.call(administrationPb.Administration.method.listBackgroundWork, request, options);
    return pendingWorkOf(answer);
  }

  /**
   * Retry the failed work of a kind now, up to 10,000 items per database. Without this call, each retry waits longer
   * than the one before. A repeat is harmless.
   *
   * Throws PermissionDenied, InvalidArgument.
   *
   * @param kind The kind of work to retry, as operations.listBackgroundWork names it.
   */
  async retryBackgroundWork(kind: string, options: CallOptions = {}): Promise<RetriedWork> {
    const request = {
      kind,
    };
    const answer = await this.client.call(administrationPb.Administration.method.retryBackgroundWork, request, options);
    return retriedWorkOf(answer);
  }

  /**
   * Return statistics of the tenant's calls to this process in the last hour. For each minute, they have the number of
   * calls, their results and their durations. The process keeps them in memory of a fixed size, for the 100 tenants
   * that called last, and loses them on a restart. The answer contains nothing of other tenants, and no names.
   */
  async getRecentCalls(options: CallOptions = {}): Promise<RecentCalls> {
    const request = {};
    const answer = await this.client.call(observingPb.Observing.method.getRecentCalls, request, options);
    return recentCallsOf(answer);
  }
}
