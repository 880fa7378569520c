// Made from the protos by `make proto`.

import * as agentTemplatesPb from "../../gen/contextkeep/context/v1/agent_templates_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type AgentTemplate, agentTemplateOf } from "../agent-templates.js";
import type { ProviderNames } from "../agents.js";

/** Options of `agentTemplates.put`. */
export interface AgentTemplateFields {
  /** As in AgentInput. */
  displayName?: string;
  /** As in AgentInput. */
  nodeIds?: string[];
  /** As in AgentInput. */
  knowledgeBases?: string[];
  /** The allowed providers. Unset: no restriction by this policy. Given but empty: none is allowed. */
  allowed?: Partial<ProviderNames>;
  /** The allowed providers to query if a question selects none. Unset: those of the template, else those of the tenant. */
  defaults?: Partial<ProviderNames>;
}

/** The calls of `agentTemplates` that are one method each. */
export class AgentTemplates extends Noun<AppClient> {
  /**
   * Create a template of agents, or replace it. The change takes effect at once for all agents that use the template.
   * Needs the scope `admin`.
   *
   * Throws InvalidArgument, LimitExceeded (limit `templates`: 1,000 per tenant), PermissionDenied,
   * RequestIdReused.
   *
   * @param templateId The caller's own id of the template: 1 to 128 characters.
   */
  async put(templateId: string, options: AgentTemplateFields & WriteOptions = {}): Promise<AgentTemplate> {
    const request = {
      template: {
        templateId,
        displayName: options.displayName,
        nodeIds: options.nodeIds,
        knowledgeBases: options.knowledgeBases,
        policy: {
          allowed: options.allowed,
          defaults: options.defaults,
        },
      },
      requestId: requestId(options),
    };
    const answer = await this.client.call(agentTemplatesPb.AgentTemplates.method.putAgentTemplate, request, options);
    return agentTemplateOf(answer.template!);
  }

  /**
   * Read a template. Throws AgentTemplateNotFound.
   *
   * @param templateId The template to read.
   */
  async get(templateId: string, options: CallOptions = {}): Promise<AgentTemplate> {
    const request = {
      templateId,
    };
    const answer = await this.client.call(agentTemplatesPb.AgentTemplates.method.getAgentTemplate, request, options);
    return agentTemplateOf(answer.template!);
  }

  /** List the templates by id. Throws InvalidPageToken. */
  list(options: { pageSize?: number } & CallOptions = {}): Rows<AgentTemplate> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(agentTemplatesPb.AgentTemplates.method.listAgentTemplates, { ...request, pageToken }, options);
        return [page.templates.map(agentTemplateOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Delete a template that no agent uses. Needs the scope `admin`.
   *
   * Throws AgentTemplateNotFound, AgentTemplateInUse (FailedPrecondition), PermissionDenied,
   * RequestIdReused.
   *
   * @param templateId The template to delete.
   */
  async delete(templateId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      templateId,
      requestId: requestId(options),
    };
    await this.client.call(agentTemplatesPb.AgentTemplates.method.deleteAgentTemplate, request, options);
  }
}
