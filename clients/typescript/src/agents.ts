/** Agents that can be asked for, and templates of them. */

import type * as pb from "./gen/contextkeep/context/v1/agents_pb.js";
import { timeText } from "./times.js";

/** Providers of context query: all that are in either. */
export interface ProviderNames {
  ids: string[];
  families: string[];
}

/** Who may name an agent, besides administrators and the agent's own credential; nobody in any: nobody else. */
export interface AgentCallers {
  userIds: string[];
  /** Those of credentials. */
  agentIds: string[];
  /** Of keys and tokens. */
  subjects: string[];
}

/** What many agents have in common. */
export interface AgentTemplate {
  templateId: string;
  displayName: string;
  /** Below which files are. */
  nodeIds: string[];
  knowledgeBases: string[];
  /** Whom it may ask; undefined: whom the tenant lets be asked. */
  allowed: ProviderNames | undefined;
  /** Who is asked where a question selects none; undefined: as the tenant has it. */
  defaults: ProviderNames | undefined;
  version: number;
  createdAt: string;
  updatedAt: string;
  updatedBy: string;
}

/** An agent that can be asked for. What it does not say, its template says, and then the tenant. */
export interface Agent extends AgentTemplate {
  agentId: string;
  /** Undefined: everybody of the tenant, or the reader is no administrator. */
  callers: AgentCallers | undefined;
}

export function templateOf(message: pb.AgentTemplate): AgentTemplate {
  const { templateId, displayName, nodeIds, knowledgeBases, policy, version, updatedBy } = message;
  return {
    ...{ templateId, displayName, nodeIds, knowledgeBases, version, updatedBy },
    allowed: namesOf(policy?.allowed),
    defaults: namesOf(policy?.defaults),
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
  };
}

export function agentOf(message: pb.Agent): Agent {
  const { agentId, templateId, displayName, nodeIds, knowledgeBases, policy, callers, version, updatedBy } = message;
  return {
    ...{ agentId, templateId, displayName, nodeIds, knowledgeBases, version, updatedBy },
    allowed: namesOf(policy?.allowed),
    defaults: namesOf(policy?.defaults),
    callers: callers && { userIds: callers.userIds, agentIds: callers.agentIds, subjects: callers.subjects },
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
  };
}

function namesOf(names: pb.ProviderNames | undefined): ProviderNames | undefined {
  return names && { ids: names.ids, families: names.families };
}
