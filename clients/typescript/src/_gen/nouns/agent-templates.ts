// Made from the protos by `make proto`.

import * as knowledgePb from "../../gen/contextkeep/context/v1/knowledge_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type AgentTemplate, type ProviderNames, agentTemplateOf } from "../agents.js";

/** Options of `agentTemplates.put`. */
export interface AgentTemplateFields {
  /** As of AgentInput, as the next three. */
  displayName?: string;
  nodeIds?: string[];
  knowledgeBases?: string[];
  /** Unset: whom the others let it ask. Given and empty: nobody. */
  allowed?: Partial<ProviderNames>;
  /** Who of them is asked where a question selects none. Unset: as the template has it, else the tenant. */
  defaults?: Partial<ProviderNames>;
}

/** The calls of `agentTemplates` that are one method each. */
export class AgentTemplates extends Noun<AppClient> {
  /**
   * Creates a template of agents, or replaces it. The change takes effect at once for all agents that use the template.
   * Needs the scope `admin`.
   *
   * Throws InvalidArgument, LimitExceeded (`templates`: 1,000 per tenant), PermissionDenied, RequestIdReused.
   *
   * @param templateId The caller's own: 1 to 128 characters.
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
    const answer = await this.client.call(knowledgePb.Knowledge.method.putAgentTemplate, request, options);
    return agentTemplateOf(answer.template!);
  }

  /** Reads a template. Throws AgentTemplateNotFound. */
  async get(templateId: string, options: CallOptions = {}): Promise<AgentTemplate> {
    const request = {
      templateId,
    };
    const answer = await this.client.call(knowledgePb.Knowledge.method.getAgentTemplate, request, options);
    return agentTemplateOf(answer.template!);
  }

  /** Lists the templates by id. Throws InvalidPageToken. */
  list(options: { pageSize?: number } & CallOptions = {}): Rows<AgentTemplate> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(knowledgePb.Knowledge.method.listAgentTemplates, { ...request, pageToken }, options);
        return [page.templates.map(agentTemplateOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Deletes a template that no agent uses. Needs the scope `admin`.
   *
   * Throws AgentTemplateNotFound, AgentTemplateInUse (FailedPrecondition), PermissionDenied,
   * RequestIdReused.
   */
  async delete(templateId: string, options: WriteOptions = {}): Promise<void> {
    const request = {
      templateId,
      requestId: requestId(options),
    };
    await this.client.call(knowledgePb.Knowledge.method.deleteAgentTemplate, request, options);
  }
}
