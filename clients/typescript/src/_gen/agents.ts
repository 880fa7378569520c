// Made from contextkeep/context/v1/agents.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/agents_pb.js";
import { timeText } from "../times.js";
import { type Imported, importedOf } from "./message.js";

/** All providers that are in either list; up to 64 names each. A name that no provider has allows nothing. */
export interface ProviderNames {
  /** Ids of providers. */
  ids: string[];
  /** Families of providers: all providers of the family. */
  families: string[];
}

export function providerNamesOf(message: pb.ProviderNames): ProviderNames {
  return {
    ids: message.ids,
    families: message.families,
  };
}

/** All callers that are in any of the lists; up to 1,000 names each, of up to 512 characters. */
export interface AgentCallers {
  /** Users: of the key, or named in `subjectUserId`. */
  userIds: string[];
  /** Agents of credentials. The credential of an agent may name another agent only if that agent lists it here. */
  agentIds: string[];
  /** Subjects of keys and tokens. */
  subjects: string[];
}

export function agentCallersOf(message: pb.AgentCallers): AgentCallers {
  return {
    userIds: message.userIds,
    agentIds: message.agentIds,
    subjects: message.subjects,
  };
}

/** An agent. Its template supplies the fields that it leaves empty, and after it the tenant's settings. */
export interface Agent {
  agentId: string;
  displayName: string;
  templateId: string;
  /** Nodes of the graph: the agent's files are the records of these nodes and of all nodes below them. */
  nodeIds: string[];
  knowledgeBases: string[];
  /** The allowed providers. Unset: no restriction by this policy. Given but empty: none is allowed. */
  allowed?: ProviderNames;
  /** The allowed providers to query if a question selects none. Unset: those of the template, else those of the tenant. */
  defaults?: ProviderNames;
  /** Only administrators see it. */
  callers?: AgentCallers;
  /** Counts the puts of the agent, from 1. */
  version: number;
  createdAt: string;
  updatedAt: string;
  /** The subject of the credential that put it last. */
  updatedBy: string;
  /** Where an import took it from. Unset: no import wrote it, or it was put since. */
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
