// Made from the protos by `make proto`.

import * as administrationPb from "../../gen/contextkeep/context/v1/administration_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { whole } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type ApiKey, type Caller, type CreatedKey, apiKeyOf, callerOf, createdKeyOf } from "../administration.js";

/** Options of `keys.create`. */
export interface KeyFields {
  /** The user that the key is for, up to 512 characters. Empty: none. */
  userId?: string;
  /** The agent that the key is for, up to 512 characters. Empty: none. */
  agentId?: string;
  /** Apps to bind the key to, up to 100 of up to 200 characters each. Empty: the key is not bound to apps. */
  appIds?: string[];
  /** The agent bundle to bind the key to, up to 200 characters. Empty: the key is not bound to one. */
  agentBundleId?: string;
  /** Graphs to bind the key to, up to 100 of up to 200 characters each. Empty: the key is not bound to graphs. */
  graphNames?: string[];
  /** Lifetime in seconds, at most ten years. 0: the key does not expire. */
  ttlS?: number;
}

/** The calls of `keys` that are one method each. */
export class Keys extends Noun<AppClient> {
  /**
   * Describe the caller's key or token: its tenant, scopes, user, bounds and expiry. Any valid key may call it, even a
   * key of a context.
   */
  async getCaller(options: CallOptions = {}): Promise<Caller> {
    const request = {};
    const answer = await this.client.call(administrationPb.Administration.method.getCaller, request, options);
    return callerOf(answer);
  }

  /**
   * List keys, newest first, including revoked and expired ones. It shows only the first 12 characters of a key. With
   * a context, it lists the short-lived keys of contexts.issueKey instead, which no other list contains.
   *
   * Throws InvalidArgument, InvalidPageToken.
   *
   * @param options.contextId Only keys of this context. Empty: all other keys.
   */
  list(options: { contextId?: string; pageSize?: number } & CallOptions = {}): Rows<ApiKey> {
    const request = {
      contextId: options.contextId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(administrationPb.Administration.method.listKeys, { ...request, pageToken }, options);
        return [page.keys.map(apiKeyOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Create a key, and show it once: the service stores only its hash. A key cannot grant what it does not have: the
   * new key has only scopes, apps, graphs, agent bundle and user of the caller's key, and expires no later. It stays
   * valid if the caller's key is revoked. Only a stored key can create keys: a token of an issuer, the key of the
   * environment and an anonymous caller in development get PermissionDenied. A repeat creates another key, because the
   * service cannot show the first one again. To find a key whose answer was lost, use keys.list.
   *
   * Throws PermissionDenied, InvalidArgument, LimitExceeded.
   *
   * @param subject The subject that the key stands for, 1 to 512 characters. Rows store it as `createdBy`.
   * @param scopes At least one of "read", "write", "admin", "delegate", "context:read", "compile".
   */
  async create(subject: string, scopes: string[], options: KeyFields & CallOptions = {}): Promise<CreatedKey> {
    const request = {
      key: {
        subject,
        scopes,
        userId: options.userId,
        agentId: options.agentId,
        appIds: options.appIds,
        agentBundleId: options.agentBundleId,
        graphNames: options.graphNames,
        ttlS: whole("key.ttl_s", options.ttlS),
      },
    };
    const answer = await this.client.call(administrationPb.Administration.method.createKey, request, options);
    return createdKeyOf(answer);
  }

  /**
   * Revoke a key within the caller's bounds, also a key of a context. A repeat is harmless. The services stop
   * accepting the key within seconds. A caller may revoke its own key.
   *
   * Throws KeyNotFound, PermissionDenied (the scope is missing, or the caller's key is not a stored one),
   * InvalidArgument.
   *
   * @param prefix The first 12 characters of the key, or the whole key.
   */
  async revoke(prefix: string, options: CallOptions = {}): Promise<void> {
    const request = {
      prefix,
    };
    await this.client.call(administrationPb.Administration.method.revokeKey, request, options);
  }
}
