/** Keys as administrators see them, and the calls of administrators. */

import * as pb from "./gen/contextkeep/context/v1/administration_pb.js";
import { timeText } from "./times.js";

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
  };
}
