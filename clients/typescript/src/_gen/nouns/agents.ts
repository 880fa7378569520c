// Made from the protos by `make proto`.

import * as agentsPb from "../../gen/contextkeep/context/v1/agents_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type Agent, type AgentCallers, type ProviderNames, agentOf } from "../agents.js";

/** Options of `agents.put`. */
export interface AgentFields {
  /** A name for people; up to 200 characters. */
  displayName?: string;
  /** The agent's template. It supplies the fields that the agent leaves empty. Empty: none. */
  templateId?: string;
  /**
   * Nodes of the graph, up to 20. The agent's files are the records of these nodes and of all nodes below them. The
   * nodes need not exist yet. Empty: those of the template, else those of the tenant's settings of the provider
   * `workspace`.
   */
  nodeIds?: string[];
  /** Names of knowledge bases, up to 100 of up to 200 characters each. */
  knowledgeBases?: string[];
  /** The allowed providers. Unset: no restriction by this policy. Given but empty: none is allowed. */
  allowed?: Partial<ProviderNames>;
  /** The allowed providers to query if a question selects none. Unset: those of the template, else those of the tenant. */
  defaults?: Partial<ProviderNames>;
  /**
   * Who may pass the agent in `agentId`, in addition to administrators and the agent's own credential. Unset: all
   * callers of the tenant except other agents. Given but empty: no other caller. This widens no access: a call in the
   * name of the agent reads only what its caller may read.
   */
  callers?: Partial<AgentCallers>;
}

/** The calls of `agents` that are one method each. */
export class Agents extends Noun<AppClient> {
  /**
   * Create an agent, or replace it. Needs the scope `admin`, because an agent must not decide which providers it may
   * query.
   *
   * Throws InvalidArgument, AgentTemplateNotFound, LimitExceeded (limit `agents`: 10,000 per tenant),
   * PermissionDenied (the scope is missing; the key is bound), RequestIdReused.
   *
   * @param agentId The caller's own id of the agent: 1 to 128 characters.
   */
  async put(agentId: string, options: AgentFields & WriteOptions = {}): Promise<Agent> {
    const request = {
      agent: {
        agentId,
        displayName: options.displayName,
        templateId: options.templateId,
        nodeIds: options.nodeIds,
        knowledgeBases: options.knowledgeBases,
        policy: {
          allowed: options.allowed,
          defaults: options.defaults,
        },
        callers: options.callers,
      },
      requestId: requestId(options),
    };
    const answer = await this.client.call(agentsPb.Agents.method.putAgent, request, options);
    return agentOf(answer.agent!);
  }

  /**
   * Read an agent that the caller may name.
   *
   * Throws AgentNotFound (no such agent, or the caller may not name it).
   *
   * @param agentId The agent to read.
   */
  async get(agentId: string, options: ContextOptions = {}): Promise<Agent> {
    const request = {
      agentId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(agentsPb.Agents.method.getAgent, request, options);
    return agentOf(answer.agent!);
  }

  /**
   * List the agents that the caller may name, by id. Throws InvalidPageToken.
   *
   * @param options.templateId Only agents of this template. Empty: all.
   */
  list(options: { templateId?: string; pageSize?: number } & ContextOptions = {}): Rows<Agent> {
    const request = {
      templateId: options.templateId,
      pageSize: options.pageSize,
      subjectUserId: options.subjectUserId,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(agentsPb.Agents.method.listAgents, { ...request, pageToken }, options);
        return [page.agents.map(agentOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Delete an agent. Its files stay. Needs the scope `admin`. Throws AgentNotFound, PermissionDenied,
   * RequestIdReused.
   *
   * @param agentId The agent to delete.
   */
  async delete(agentId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      agentId,
      requestId: requestId(options),
    };
    await this.client.call(agentsPb.Agents.method.deleteAgent, request, options);
  }
}
