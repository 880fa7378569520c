// Made from contextkeep/context/v1/administration.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/administration_pb.js";
import { type JsonObject, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";
import { create } from "@bufbuild/protobuf";

/** The identity and rights of your key or token. */
export interface Caller {
  tenantId: string;
  /** The name of the tenant. */
  tenant: string;
  /** The value that rows store as `createdBy`. */
  subject: string;
  /** The first 12 characters of the key. Empty: the key is not stored, such as a token of an issuer. */
  keyPrefix: string;
  scopes: string[];
  /** The user whose own data the key sees. Empty: the key has no user. */
  userId: string;
  /** The agent that the key is for. Empty: none. */
  agentId: string;
  /** The apps that the key is bound to. Empty: it is not bound to apps. */
  appIds: string[];
  /** The agent bundle that the key is bound to. Empty: it is not bound to one. */
  agentBundleId: string;
  /** The graphs that the key is bound to. Empty: it is not bound to graphs. */
  graphNames: string[];
  /** The context that the key is bound to. Empty: it is not bound to one. */
  contextId: string;
  /** Empty: it does not expire. */
  expiresAt: string;
}

export function callerOf(message: pb.GetCallerResponse): Caller {
  return {
    tenantId: message.tenantId,
    tenant: message.tenant,
    subject: message.subject,
    keyPrefix: message.keyPrefix,
    scopes: message.scopes,
    userId: message.userId,
    agentId: message.agentId,
    appIds: message.appIds,
    agentBundleId: message.agentBundleId,
    graphNames: message.graphNames,
    contextId: message.contextId,
    expiresAt: timeText(message.expiresAt),
  };
}

/** A key, without its secret. */
export interface ApiKey {
  /** The first 12 characters. keys.revoke takes them. */
  prefix: string;
  /** The subject that the key stands for. */
  subject: string;
  scopes: string[];
  /** The user whose own data the key sees. Empty: the key has no user. */
  userId: string;
  /** The agent that the key is for. Empty: none. */
  agentId: string;
  /** The apps that the key is bound to. Empty: it is not bound to apps. */
  appIds: string[];
  /** The agent bundle that the key is bound to. Empty: it is not bound to one. */
  agentBundleId: string;
  /** The graphs that the key is bound to. Empty: it is not bound to graphs. */
  graphNames: string[];
  /** For a key of contexts.issueKey: the context that it reaches. */
  contextId: string;
  /** The first 12 characters of the key that created it. Empty: no key did, such as for a command of an operator. */
  madeBy: string;
  createdAt: string;
  /** Empty: it does not expire. */
  expiresAt: string;
  /** Empty: it is not revoked. */
  revokedAt: string;
  /**
   * When the key was last used, to the minute. Empty: never, or it is a key of a context, for which the service does
   * not record it.
   */
  lastUsedAt: string;
}

export function apiKeyOf(message: pb.ApiKey): ApiKey {
  return {
    prefix: message.prefix,
    subject: message.subject,
    scopes: message.scopes,
    userId: message.userId,
    agentId: message.agentId,
    appIds: message.appIds,
    agentBundleId: message.agentBundleId,
    graphNames: message.graphNames,
    contextId: message.contextId,
    madeBy: message.madeBy,
    createdAt: timeText(message.createdAt),
    expiresAt: timeText(message.expiresAt),
    revokedAt: timeText(message.revokedAt),
    lastUsedAt: timeText(message.lastUsedAt),
  };
}

/** A call that needed the scope `admin` or `operator`. */
export interface AdministrativeCall {
  /** The id of the call, as in logs and errors. */
  callId: string;
  calledAt: string;
  /** Such as "contextkeep.context.v1.Agents/agents.put". */
  method: string;
  scope: string;
  /** Name of the status code, such as "OK" or "PermissionDenied". */
  status: string;
  /** Reason of the error. Empty: there was no error. */
  reason: string;
  /** The subject of the caller's key or token. */
  subject: string;
  userId: string;
  agentId: string;
  /** The address of the caller, such as "ipv4:127.0.0.1:50000". */
  peer: string;
  /** The ids in the request and the answer, by the paths of their fields: an object of lists of texts, at most 40. */
  ids: JsonObject;
  /**
   * Number of calls that this row stands for. Refused calls with the same caller, method and reason share a row for
   * each minute: the first call writes it, and the others are added when the minute is over. For any other call: 1.
   */
  count: number;
}

export function administrativeCallOf(message: pb.AdministrativeCall): AdministrativeCall {
  return {
    callId: message.callId,
    calledAt: timeText(message.calledAt),
    method: message.method,
    scope: message.scope,
    status: message.status,
    reason: message.reason,
    subject: message.subject,
    userId: message.userId,
    agentId: message.agentId,
    peer: message.peer,
    ids: parseObject(message.idsJson),
    count: message.count,
  };
}

/** A new key. No call shows it again. */
export interface CreatedKey {
  /** The key itself, shown only here. */
  key: string;
  /** The first 12 characters of the key. */
  prefix: string;
}

export function createdKeyOf(message: pb.CreateKeyResponse): CreatedKey {
  return {
    key: message.key,
    prefix: message.prefix,
  };
}

/** The storage limits of a tenant. Unset: for a tenant, the settings apply; in operations.getUsage, there is no limit. */
export interface TenantLimits {
  /** Number of records, archived ones included. */
  recordsMax?: number;
  /** Total size of all contents and unfinished uploads, in bytes. */
  bytesMax?: number;
  /** Size of one blob, in bytes; at least 1. */
  blobBytesMax?: number;
  /** Size of one inline content, in bytes; at least 1. If it is above the setting, the setting applies. */
  contentBytesMax?: number;
}

export function tenantLimitsOf(message: pb.TenantLimits): TenantLimits {
  const value: TenantLimits = {
  };
  if (message.recordsMax !== undefined) value.recordsMax = Number(message.recordsMax);
  if (message.bytesMax !== undefined) value.bytesMax = Number(message.bytesMax);
  if (message.blobBytesMax !== undefined) value.blobBytesMax = Number(message.blobBytesMax);
  if (message.contentBytesMax !== undefined) value.contentBytesMax = Number(message.contentBytesMax);
  return value;
}

/** The data that your tenant stores, and the limits in effect. */
export interface Usage {
  /** Number of records. */
  records: number;
  /** Total size of the contents. */
  sizeBytes: number;
  limits: TenantLimits;
}

export function usageOf(message: pb.GetUsageResponse): Usage {
  return {
    records: Number(message.records),
    sizeBytes: Number(message.sizeBytes),
    limits: tenantLimitsOf(message.limits ?? create(pb.TenantLimitsSchema)),
  };
}

/** A tenant, its usage and its own limits. */
export interface Tenant {
  tenantId: string;
  name: string;
  createdAt: string;
  records: number;
  sizeBytes: number;
  /** The tenant's own limits, without those of the settings. */
  limits: TenantLimits;
}

export function tenantOf(message: pb.Tenant): Tenant {
  return {
    tenantId: message.tenantId,
    name: message.name,
    createdAt: timeText(message.createdAt),
    records: Number(message.records),
    sizeBytes: Number(message.sizeBytes),
    limits: tenantLimitsOf(message.limits ?? create(pb.TenantLimitsSchema)),
  };
}

/** Waiting work of one kind, in one database. */
export interface BackgroundWork {
  /**
   * "index" (embeddings of records), "text" (texts of files), "records of messages", "erasures", and others. Later
   * versions may add kinds.
   */
  kind: string;
  /** Number of items that wait, failed ones included. */
  owed: number;
  /** Number of items that failed and will be retried. */
  failed: number;
  /** When the oldest of them began to wait. */
  oldestAt: string;
  /** Error of one of the failed items. */
  lastError: string;
  /** The database, by its name in DATABASE_URLS. Empty: the home database. */
  database: string;
}

export function backgroundWorkOf(message: pb.BackgroundWork): BackgroundWork {
  return {
    kind: message.kind,
    owed: Number(message.owed),
    failed: Number(message.failed),
    oldestAt: timeText(message.oldestAt),
    lastError: message.lastError,
    database: message.database,
  };
}

/** Background work that waits, by kind and database. */
export interface PendingWork {
  /** Kinds without waiting work are left out. */
  work: BackgroundWork[];
  /** Databases that do not answer; their work is unknown. */
  databasesAway: string[];
}

export function pendingWorkOf(message: pb.ListBackgroundWorkResponse): PendingWork {
  return {
    work: message.work.map(backgroundWorkOf),
    databasesAway: message.databasesAway,
  };
}

/** The result of a retry. */
export interface RetriedWork {
  /** Number of items that are retried now. */
  retried: number;
  /** Databases that do not answer; nothing is retried there. */
  databasesAway: string[];
}

export function retriedWorkOf(message: pb.RetryBackgroundWorkResponse): RetriedWork {
  return {
    retried: Number(message.retried),
    databasesAway: message.databasesAway,
  };
}

/** Work that an operator started, and its progress. */
export interface Job {
  jobId: string;
  kind: "sweep" | "fsck" | "unknown";
  state: "running" | "done" | "failed" | "lost" | "unknown";
  startedAt: string;
  updatedAt: string;
  /** Empty: it is not finished. */
  finishedAt: string;
  /** The subject of the credential that started it. */
  startedBy: string;
  /** Why it failed. Empty: it did not. */
  error: string;
  /** As in StartJobRequest. */
  quick: boolean;
  /** As in StartJobRequest. */
  repair: boolean;
  /** The progress: an object of numbers. A finished check adds the first 50 `problems`. */
  progress: JsonObject;
}

export function jobOf(message: pb.Job): Job {
  return {
    jobId: message.jobId,
    kind: enumText(pb.JobKind, message.kind),
    state: enumText(pb.JobState, message.state),
    startedAt: timeText(message.startedAt),
    updatedAt: timeText(message.updatedAt),
    finishedAt: timeText(message.finishedAt),
    startedBy: message.startedBy,
    error: message.error,
    quick: message.quick,
    repair: message.repair,
    progress: parseObject(message.progressJson),
  };
}
