// Made from contextkeep/context/v1/administration.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/administration_pb.js";
import { type JsonObject, parseObject } from "../json.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";
import { create } from "@bufbuild/protobuf";

/** Whom your key or token stands for. */
export interface Caller {
  tenantId: string;
  /** Its name. */
  tenant: string;
  /** What rows keep as `createdBy`. */
  subject: string;
  /** How the key begins: 12 characters. Empty: it is not stored, such as a token of an issuer. */
  keyPrefix: string;
  scopes: string[];
  /** The user whose own things the key sees; empty: it has no user. */
  userId: string;
  agentId: string;
  /** The apps that the key is bound to; empty: it is bound to no app. The same holds for the next three. */
  appIds: string[];
  agentBundleId: string;
  graphNames: string[];
  contextId: string;
  /** Empty: it does not end. */
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

/** A key, without what it is. */
export interface ApiKey {
  /** How it begins: 12 characters, by which it is revoked. */
  prefix: string;
  /** Whom it stands for. */
  subject: string;
  scopes: string[];
  /** Whose own it sees, of what belongs to users; empty: nobody's. */
  userId: string;
  agentId: string;
  /** What it is bound to, as the next two; empty: to none of these. */
  appIds: string[];
  agentBundleId: string;
  graphNames: string[];
  /** Of a key of contexts.issueKey: which one it reaches. */
  contextId: string;
  /** How the key begins that it was made with; empty: it was none, such as an operator's command. */
  madeBy: string;
  createdAt: string;
  /** Empty: it does not end. */
  expiresAt: string;
  /** Empty: it is not revoked. */
  revokedAt: string;
  /** To the minute. Empty: never, or it is a context's, of which it is not noted. */
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

/** A call that needed the scope `admin`, or `operator`. */
export interface AdministrativeCall {
  /** As logs and errors have it. */
  callId: string;
  calledAt: string;
  /** "contextkeep.context.v1.Knowledge/agents.put". */
  method: string;
  scope: string;
  /** Name of its status code: "OK", "PermissionDenied". */
  status: string;
  /** Of its error; empty: there was none. */
  reason: string;
  /** Who called. */
  subject: string;
  userId: string;
  agentId: string;
  /** From where: "ipv4:127.0.0.1:50000". */
  peer: string;
  /** The ids in its request and answer, by the paths of their fields: an object of lists of texts, 40 at most. */
  ids: JsonObject;
  /**
   * How many calls it stands for. Of refused calls that are alike (caller, method, reason) the first in a minute has a row,
   * and those that follow in that minute are added to its count when the minute is over. Of any other call 1.
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

/** A key that was made. It is never shown again. */
export interface CreatedKey {
  /** Shown once. */
  key: string;
  /** How it begins. */
  prefix: string;
}

export function createdKeyOf(message: pb.CreateKeyResponse): CreatedKey {
  return {
    key: message.key,
    prefix: message.prefix,
  };
}

/** What a tenant may store. Unset: of a tenant, what the settings say; of operations.getUsage, any number. */
export interface TenantLimits {
  /** Archived ones count, too. */
  recordsMax?: number;
  /** Of all contents and unfinished uploads. */
  bytesMax?: number;
  /** Of one blob; at least 1, as the next one. */
  blobBytesMax?: number;
  /** Of one inline content; no more than the setting counts. */
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

/** What your tenant stores, and the limits that hold for it. */
export interface Usage {
  records: number;
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

/** A tenant, what it stores, and its own limits. */
export interface Tenant {
  tenantId: string;
  name: string;
  createdAt: string;
  records: number;
  sizeBytes: number;
  /** Its own. */
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

/** What is owed of a kind, in a database. */
export interface BackgroundWork {
  /** "index" (vectors of records), "text" (texts of files), "records of messages", "erasures", ... New kinds may come. */
  kind: string;
  owed: number;
  /** Of it: what was tried, and is tried again. */
  failed: number;
  oldestAt: string;
  /** Of one of those that failed. */
  lastError: string;
  /** As DATABASE_URLS names it; empty: the home database. */
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

/** Work that an operator started, and how far it is. */
export interface Job {
  jobId: string;
  kind: "sweep" | "fsck" | "unknown";
  state: "running" | "done" | "failed" | "lost" | "unknown";
  startedAt: string;
  updatedAt: string;
  /** Empty: it is not over. */
  finishedAt: string;
  startedBy: string;
  error: string;
  /** As of StartJobRequest. */
  quick: boolean;
  repair: boolean;
  /** How far it is: an object of numbers; of a check that is over also the first 50 `problems`. */
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
