// Made from contextkeep/context/v1/agents.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/agents_pb.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";

/** All that are in either list; up to 64 names each. What no provider is called allows nothing. */
export interface ProviderNames {
  ids: string[];
  families: string[];
}

export function providerNamesOf(message: pb.ProviderNames): ProviderNames {
  return {
    ids: message.ids,
    families: message.families,
  };
}

/** All that are in any list; up to 1,000 names each, of up to 512 characters. */
export interface AgentCallers {
  /** Users: of the key, or named by `subjectUserId`. */
  userIds: string[];
  /** Agents of credentials. The credential of an agent may name another one only where that one lists it. */
  agentIds: string[];
  /** Whom keys and tokens stand for. */
  subjects: string[];
}

export function agentCallersOf(message: pb.AgentCallers): AgentCallers {
  return {
    userIds: message.userIds,
    agentIds: message.agentIds,
    subjects: message.subjects,
  };
}

/** An agent that can be asked for. Where it says nothing, its template does, and then the tenant. */
export interface Agent {
  agentId: string;
  displayName: string;
  templateId: string;
  /** Nodes of the graph: the agent's files are the records of these nodes and of all nodes below them. */
  nodeIds: string[];
  knowledgeBases: string[];
  /** Unset: whom the others let it ask. Given and empty: nobody. */
  allowed?: ProviderNames;
  /** Who of them is asked where a question selects none. Unset: as the template has it, else the tenant. */
  defaults?: ProviderNames;
  /** Shown to administrators only. */
  callers?: AgentCallers;
  /** Counts how often it was put, from 1. */
  version: number;
  createdAt: string;
  updatedAt: string;
  /** Who put it last. */
  updatedBy: string;
  /** Unset: no import wrote it, or it was put since. */
  imported?: Imported;
}

export function agentOf(message: pb.Agent): Agent {
  const value: Agent = {
    agentId: message.agentId,
    displayName: message.displayName,
    templateId: message.templateId,
    nodeIds: message.nodeIds,
    knowledgeBases: message.knowledgeBases,
    version: message.version,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    updatedBy: message.updatedBy,
  };
  if (message.policy?.allowed !== undefined) value.allowed = providerNamesOf(message.policy?.allowed);
  if (message.policy?.defaults !== undefined) value.defaults = providerNamesOf(message.policy?.defaults);
  if (message.callers !== undefined) value.callers = agentCallersOf(message.callers);
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/** What many agents have in common. */
export interface AgentTemplate {
  templateId: string;
  displayName: string;
  /** Below which nodes files are. */
  nodeIds: string[];
  knowledgeBases: string[];
  /** Unset: whom the others let it ask. Given and empty: nobody. */
  allowed?: ProviderNames;
  /** Who of them is asked where a question selects none. Unset: as the template has it, else the tenant. */
  defaults?: ProviderNames;
  version: number;
  createdAt: string;
  updatedAt: string;
  updatedBy: string;
  /** Unset: no import wrote it, or it was put since. */
  imported?: Imported;
}

export function agentTemplateOf(message: pb.AgentTemplate): AgentTemplate {
  const value: AgentTemplate = {
    templateId: message.templateId,
    displayName: message.displayName,
    nodeIds: message.nodeIds,
    knowledgeBases: message.knowledgeBases,
    version: message.version,
    createdAt: timeText(message.createdAt),
    updatedAt: timeText(message.updatedAt),
    updatedBy: message.updatedBy,
  };
  if (message.policy?.allowed !== undefined) value.allowed = providerNamesOf(message.policy?.allowed);
  if (message.policy?.defaults !== undefined) value.defaults = providerNamesOf(message.policy?.defaults);
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}
