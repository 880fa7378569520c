/** Keys, and what administrators did. */

import {
  type AdministrativeCall,
  type ApiKey,
  type Caller,
  type CreatedKey,
  administrativeCallOf,
  apiKeyOf,
  callerOf,
  createdKeyOf,
} from "../_gen/administration.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/administration_pb.js";
import { Rows, pages } from "../rows.js";
import { QueryCalls } from "./query.js";

const method = pb.Administration.method;

/** What a key is to stand for, besides whom and what it may do. */
export interface KeyFields {
  /** Whose own it sees, of what belongs to users. */
  userId?: string;
  agentId?: string;
  /** It is bound to; else not to apps. */
  appIds?: string[];
  agentBundleId?: string;
  graphNames?: string[];
  /** Seconds until it ends; else it does not. */
  ttlS?: number;
}

/** An RPC is one method. All but the first need the scope admin. */
export abstract class AdministrationCalls extends QueryCalls {
  /** Whom your key or token stands for. Every valid key may ask. */
  async getCaller(options: CallOptions = {}): Promise<Caller> {
    return callerOf(await this.call(method.getCaller, {}, options));
  }

  /** The keys of the tenant, within the bounds of yours, the newest first; with `contextId` the short-lived ones of a context. */
  listKeys(options: { contextId?: string; pageSize?: number } & CallOptions = {}): Rows<ApiKey> {
    const { contextId, pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listKeys, { contextId, pageSize, pageToken }, options);
        return [page.keys.map(apiKeyOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Make a key, a part of yours, and return it: nobody can be shown it again.
   *
   * @param subject Whom it stands for.
   * @param scopes At least one of "read", "write", "admin", "delegate", "context:read", "compile".
   * @throws PermissionDenied It would have what yours has not; or yours is none that is stored.
   */
  async createKey(subject: string, scopes: string[], options: KeyFields & CallOptions = {}): Promise<CreatedKey> {
    const { userId, agentId, appIds, agentBundleId, graphNames, ttlS } = options;
    const said = { subject, scopes, userId, agentId, appIds, agentBundleId, graphNames, ttlS: BigInt(ttlS ?? 0) };
    return createdKeyOf(await this.call(method.createKey, { key: said }, options));
  }

  /**
   * Take a key back that is a part of yours; again is harmless. The services follow within seconds.
   *
   * @param prefix How it begins: its first 12 characters.
   * @throws KeyNotFound None begins like this.
   */
  async revokeKey(prefix: string, options: CallOptions = {}): Promise<void> {
    await this.call(method.revokeKey, { prefix }, options);
  }

  /** The calls of administrators, the newest first; with `callId` only that one. */
  listAdministrativeCalls(options: { callId?: string; pageSize?: number } & CallOptions = {}): Rows<AdministrativeCall> {
    const { callId, pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listAdministrativeCalls, { callId, pageSize, pageToken }, options);
        return [page.calls.map(administrativeCallOf), page.nextPageToken];
      }),
    );
  }
}
