// Made from contextkeep/context/v1/agent_templates.proto by `make proto`.

import type * as pb from "../gen/contextkeep/context/v1/agent_templates_pb.js";
import { timeText } from "../times.js";
import { type ProviderNames, providerNamesOf } from "./agents.js";
import { type Imported, importedOf } from "./message.js";

/** Settings that several agents share. */
export interface AgentTemplate {
  templateId: string;
  displayName: string;
  /** Nodes of the graph: the files of the agents are the records of these nodes and of all nodes below them. */
  nodeIds: string[];
  knowledgeBases: string[];
  /** The allowed providers. Unset: no restriction by this policy. Given but empty: none is allowed. */
  allowed?: ProviderNames;
  /** The allowed providers to query if a question selects none. Unset: those of the template, else those of the tenant. */
  defaults?: ProviderNames;
  /** Counts the puts of the template, from 1. */
  version: number;
  createdAt: string;
  updatedAt: string;
  /** The subject of the credential that put it last. */
  updatedBy: string;
  /** Where an import took it from. Unset: no import wrote it, or it was put since. */
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
