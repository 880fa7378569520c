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
  /** Up to 512 characters, as the next one. */
  userId?: string;
  /** The agent that the key is for. Empty: none. */
  agentId?: string;
  /** Up to 100 of up to 200 characters each, as `graphNames`. */
  appIds?: string[];
  /** Up to 200 characters. */
  agentBundleId?: string;
  /** Graphs that the key is bound to. Empty: it is not bound. */
  graphNames?: string[];
  /** Seconds until it ends, ten years at most. 0: it does not end. */
  ttlS?: number;
}

/** The calls of `keys` that are one method each. */
export class Keys extends Noun<AppClient> {
  /** Answers whom the caller's key or token stands for: its tenant, scopes, user, bounds and end. Every valid key may call it, also one of a context. */
  async getCaller(options: CallOptions = {}): Promise<Caller> {
    const request = {};
    const answer = await this.client.call(administrationPb.Administration.method.getCaller, request, options);
    return callerOf(answer);
  }

  /**
   * Lists keys, the newest first, revoked and expired ones too; never what a key is, but how it begins. Of a context: the short-lived ones of
   * contexts.issueKey, which no other list has.
   *
   * Throws InvalidArgument, InvalidPageToken.
   *
   * @param options.contextId Only those of this context. Empty: all others.
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
   * Makes a key, and shows it once: only its hash is kept. A key cannot give what it does not have: the new one has no scope, app, graph,
   * agent bundle or user that the caller's lacks, and ends no later; it lives on if that one is revoked. Only a key that is stored makes others: a
   * token of an issuer, the key of the environment and an anonymous caller in development are PermissionDenied. Repeated, it makes another one,
   * since nobody can be shown the first again; keys.list says if there is one that nobody has seen.
   *
   * Throws PermissionDenied, InvalidArgument, LimitExceeded.
   *
   * @param subject 1 to 512 characters; rows keep it as `createdBy`.
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
   * Takes a key back, of a context too, if it is a part of the caller's; again is harmless. The services follow within seconds. The caller's own
   * can be taken back as well.
   *
   * Throws KeyNotFound (NotFound), PermissionDenied (as of keys.create), InvalidArgument.
   *
   * @param prefix How it begins: its first 12 characters. It may be said whole.
   */
  async revoke(prefix: string, options: CallOptions = {}): Promise<void> {
    const request = {
      prefix,
    };
    await this.client.call(administrationPb.Administration.method.revokeKey, request, options);
  }
}
