/** Keys and calls as administrators see them; tenants, work and jobs as operators do. */

import * as pb from "./gen/contextkeep/context/v1/administration_pb.js";
import { enumText } from "./messages.js";
import { timeText } from "./times.js";

/** Whom your key or token stands for. */
export interface Caller {
  tenantId: string;
  /** Its name. */
  tenant: string;
  /** What rows keep as `created_by`. */
  subject: string;
  /** How the key begins; empty: it is not stored, such as a token. */
  keyPrefix: string;
  scopes: string[];
  userId: string;
  agentId: string;
  /** That it is bound to; empty: it is bound to no app. */
  appIds: string[];
  agentBundleId: string;
  graphNames: string[];
  contextId: string;
  /** Empty: it does not end. */
  expiresAt: string;
}

/** A key, without what it is. */
export interface ApiKey {
  /** How it begins. */
  prefix: string;
  subject: string;
  scopes: string[];
  userId: string;
  agentId: string;
  /** It is bound to; none: not to apps. */
  appIds: string[];
  agentBundleId: string;
  graphNames: string[];
  /** Which it reaches; empty: it is of none. */
  contextId: string;
  /** How the key begins that it was made with. */
  madeBy: string;
  createdAt: string;
  /** Empty: it does not end. */
  expiresAt: string;
  /** Empty: it is not revoked. */
  revokedAt: string;
  /** To the minute. */
  lastUsedAt: string;
}

/** A key that was made: nobody can be shown it again. */
export interface CreatedKey {
  key: string;
  prefix: string;
}

/** A call that needed the scope admin, and changed something or tried to. */
export interface AdministrativeCall {
  callId: string;
  calledAt: string;
  method: string;
  scope: string;
  status: string;
  /** Of its error; empty: there was none. */
  reason: string;
  subject: string;
  userId: string;
  agentId: string;
  /** From where. */
  peer: string;
  /** Of request and answer, by the paths of their fields. */
  ids: Record<string, string[]>;
  /** Of refused calls that are alike, which are one row a minute; of any other 1. */
  count: number;
}

export function callerOf(message: pb.GetCallerResponse): Caller {
  const { tenantId, tenant, subject, keyPrefix, scopes, userId, agentId } = message;
  const { appIds, agentBundleId, graphNames, contextId, expiresAt } = message;
  return {
    ...{ tenantId, tenant, subject, keyPrefix, scopes, userId, agentId },
    ...{ appIds, agentBundleId, graphNames, contextId, expiresAt: timeText(expiresAt) },
  };
}

export function keyOf(message: pb.ApiKey): ApiKey {
  const { prefix, subject, scopes, userId, agentId, appIds, agentBundleId, graphNames, contextId, madeBy } = message;
  return {
    ...{ prefix, subject, scopes, userId, agentId, appIds, agentBundleId, graphNames, contextId, madeBy },
    createdAt: timeText(message.createdAt),
    expiresAt: timeText(message.expiresAt),
    revokedAt: timeText(message.revokedAt),
    lastUsedAt: timeText(message.lastUsedAt),
  };
}

export function administrativeCallOf(message: pb.AdministrativeCall): AdministrativeCall {
  const { callId, method, scope, status, reason, subject, userId, agentId, peer } = message;
  return {
    ...{ callId, method, scope, status, reason, subject, userId, agentId, peer },
    calledAt: timeText(message.calledAt),
    ids: JSON.parse(message.idsJson || "{}") as Record<string, string[]>,
    count: message.count || 1,
  };
}

/** What a tenant may store. Undefined: what the settings say; of the usage, any number. */
export interface TenantLimits {
  recordsMax?: number;
  bytesMax?: number;
  blobBytesMax?: number;
  contentBytesMax?: number;
}

/** What your tenant stores, and the limits that hold for it. */
export interface Usage {
  records: number;
  sizeBytes: number;
  limits: TenantLimits;
}

/** A tenant, what it stores, and the limits of its own. */
export interface Tenant extends Usage {
  tenantId: string;
  name: string;
  createdAt: string;
}

/** What is owed of a kind behind calls, of all tenants together. */
export interface BackgroundWork {
  kind: string;
  owed: number;
  /** Of it: what was tried, and is tried again. */
  failed: number;
  oldestAt: string;
  /** Of one of those that failed. */
  lastError: string;
}

/** Work that an operator started, as far as it is. */
export interface Job {
  jobId: string;
  /** "sweep" or "fsck". */
  kind: string;
  /** "running", "done", "failed" or "lost". */
  state: string;
  startedAt: string;
  updatedAt: string;
  /** Empty: it is not over. */
  finishedAt: string;
  startedBy: string;
  error: string;
  quick: boolean;
  repair: boolean;
  progress: Record<string, unknown>;
}

function limitsOf(message: pb.TenantLimits | undefined): TenantLimits {
  const given: TenantLimits = {};
  for (const name of ["recordsMax", "bytesMax", "blobBytesMax", "contentBytesMax"] as const) {
    const value = message?.[name];
    if (value !== undefined) given[name] = Number(value);
  }
  return given;
}

export function usageOf(message: pb.GetUsageResponse | pb.Tenant): Usage {
  return { records: Number(message.records), sizeBytes: Number(message.sizeBytes), limits: limitsOf(message.limits) };
}

export function tenantOf(message: pb.Tenant): Tenant {
  const { tenantId, name } = message;
  return { tenantId, name, createdAt: timeText(message.createdAt), ...usageOf(message) };
}

export function workOf(message: pb.BackgroundWork): BackgroundWork {
  const { kind, lastError } = message;
  return { kind, owed: Number(message.owed), failed: Number(message.failed), oldestAt: timeText(message.oldestAt), lastError };
}

export function jobOf(message: pb.Job): Job {
  const { jobId, startedBy, error, quick, repair } = message;
  return {
    ...{ jobId, startedBy, error, quick, repair },
    kind: enumText(pb.JobKind, message.kind),
    state: enumText(pb.JobState, message.state),
    startedAt: timeText(message.startedAt),
    updatedAt: timeText(message.updatedAt),
    finishedAt: timeText(message.finishedAt),
    progress: JSON.parse(message.progressJson || "{}") as Record<string, unknown>,
  };
}
