// Made from the protos by `make proto`.

import * as knowledgePb from "../../gen/contextkeep/context/v1/knowledge_pb.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type Agent, type AgentCallers, type ProviderNames, agentOf } from "../agents.js";

/** Options of `agents.put`. */
export interface AgentFields {
  /** Up to 200 characters. */
  displayName?: string;
  /** Empty: it has none. What the agent does not say, its template says. */
  templateId?: string;
  /**
   * Nodes of the graph, up to 20: its files are the records of these and of all nodes below them. Empty: as the template has it, else the
   * tenant's setting of the provider `workspace`. They need not be there yet.
   */
  nodeIds?: string[];
  /** Names of knowledge bases, up to 100 of up to 200 characters each. */
  knowledgeBases?: string[];
  /** Unset: whom the others let it ask. Given and empty: nobody. */
  allowed?: Partial<ProviderNames>;
  /** Who of them is asked where a question selects none. Unset: as the template has it, else the tenant. */
  defaults?: Partial<ProviderNames>;
  /**
   * Who may name the agent in `agentId`, besides administrators and the agent's own credential. Unset: everybody of the tenant but other
   * agents. Given and empty: nobody else. What is read as the agent is what the caller may read, whoever names it.
   */
  callers?: Partial<AgentCallers>;
}

/** The calls of `agents` that are one method each. */
export class Agents extends Noun<AppClient> {
  /**
   * Creates an agent, or replaces it. Needs the scope `admin`, because an agent must not decide which providers it may
   * query.
   *
   * Throws InvalidArgument, AgentTemplateNotFound, LimitExceeded (`agents`: 10,000 per tenant),
   * PermissionDenied (the scope is missing; the key is bound), RequestIdReused.
   *
   * @param agentId The caller's own: 1 to 128 characters.
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
    const answer = await this.client.call(knowledgePb.Knowledge.method.putAgent, request, options);
    return agentOf(answer.agent!);
  }

  /** Reads an agent that the caller may name. Any other agent is AgentNotFound, like an agent that does not exist. */
  async get(agentId: string, options: ContextOptions = {}): Promise<Agent> {
    const request = {
      agentId,
      subjectUserId: options.subjectUserId,
    };
    const answer = await this.client.call(knowledgePb.Knowledge.method.getAgent, request, options);
    return agentOf(answer.agent!);
  }

  /**
   * Lists the agents that the caller may name, by id. Throws InvalidPageToken.
   *
   * @param options.templateId Only those of this template. Empty: all.
   */
  list(options: { templateId?: string; pageSize?: number } & ContextOptions = {}): Rows<Agent> {
    const request = {
      templateId: options.templateId,
      pageSize: options.pageSize,
      subjectUserId: options.subjectUserId,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(knowledgePb.Knowledge.method.listAgents, { ...request, pageToken }, options);
        return [page.agents.map(agentOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Deletes an agent. Its files stay. Needs the scope `admin`. Throws AgentNotFound, PermissionDenied,
   * RequestIdReused.
   */
  async delete(agentId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      agentId,
      requestId: requestId(options),
    };
    await this.client.call(knowledgePb.Knowledge.method.deleteAgent, request, options);
  }
}
