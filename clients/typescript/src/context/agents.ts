/** Agents that can be asked for, and templates of them. */

import {
  type Agent,
  type AgentCallers,
  type AgentTemplate,
  type ProviderNames,
  agentOf,
  agentTemplateOf,
} from "../_gen/agents.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { Rows, pages } from "../rows.js";
import { type WriteOptions, requestId } from "../writes.js";
import type { ContextOptions } from "./contexts.js";
import { WikiCalls } from "./wiki.js";

const method = pb.Knowledge.method;

/** What is said of a template. */
export interface AgentTemplateFields {
  displayName?: string;
  /** Below which its files are, up to 20. */
  nodeIds?: string[];
  knowledgeBases?: string[];
  /** Whom it may ask; else whom its template and the tenant let it ask. */
  allowed?: Partial<ProviderNames>;
  /** Who is asked where a question selects none; else as the template has it, or the tenant. */
  defaults?: Partial<ProviderNames>;
}

/** What is said of an agent. */
export interface AgentFields extends AgentTemplateFields {
  /** Says what the agent does not say. */
  templateId?: string;
  /** Who may name it; else everybody of the tenant but other agents. */
  callers?: Partial<AgentCallers>;
}

/** An RPC is one method. Who may not name an agent is told what he is told of one that is not there. */
export abstract class AgentCalls extends WikiCalls {
  /**
   * Write an agent as it is said, whether there was one or not, and return it.
   *
   * @throws PermissionDenied The key lacks the scope admin, or is bound.
   */
  async putAgent(agentId: string, options: AgentFields & WriteOptions = {}): Promise<Agent> {
    const { displayName, templateId, nodeIds, knowledgeBases, allowed, defaults, callers } = options;
    const agent = { agentId, displayName, templateId, nodeIds, knowledgeBases, policy: { allowed, defaults }, callers };
    return agentOf((await this.call(method.putAgent, { agent, requestId: requestId(options) }, options)).agent!);
  }

  /** Return an agent. */
  async getAgent(agentId: string, options: ContextOptions = {}): Promise<Agent> {
    const { subjectUserId } = options;
    return agentOf((await this.call(method.getAgent, { agentId, subjectUserId }, options)).agent!);
  }

  /** The agents that you may name, by id. */
  listAgents(options: { templateId?: string; pageSize?: number } & ContextOptions = {}): Rows<Agent> {
    const { templateId, pageSize, subjectUserId } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const request = { templateId, pageSize, subjectUserId, pageToken };
        const page = await this.call(method.listAgents, request, options);
        return [page.agents.map(agentOf), page.nextPageToken];
      }),
    );
  }

  /** Remove an agent; its files stay. */
  async deleteAgent(agentId: string, options: WriteOptions = {}): Promise<void> {
    await this.call(method.deleteAgent, { agentId, requestId: requestId(options) }, options);
  }

  /** Write a template of agents as it is said, and return it. It holds for all that have it. */
  async putAgentTemplate(templateId: string, options: AgentTemplateFields & WriteOptions = {}): Promise<AgentTemplate> {
    const { displayName, nodeIds, knowledgeBases, allowed, defaults } = options;
    const template = { templateId, displayName, nodeIds, knowledgeBases, policy: { allowed, defaults } };
    const request = { template, requestId: requestId(options) };
    return agentTemplateOf((await this.call(method.putAgentTemplate, request, options)).template!);
  }

  /** Return a template. */
  async getAgentTemplate(templateId: string, options: CallOptions = {}): Promise<AgentTemplate> {
    return agentTemplateOf((await this.call(method.getAgentTemplate, { templateId }, options)).template!);
  }

  /** The templates, by id. */
  listAgentTemplates(options: { pageSize?: number } & CallOptions = {}): Rows<AgentTemplate> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listAgentTemplates, { pageSize, pageToken }, options);
        return [page.templates.map(agentTemplateOf), page.nextPageToken];
      }),
    );
  }

  /** Remove a template that no agent has. */
  async deleteAgentTemplate(templateId: string, options: WriteOptions = {}): Promise<void> {
    await this.call(method.deleteAgentTemplate, { templateId, requestId: requestId(options) }, options);
  }
}
