// Made from the protos by `make proto`.

import * as contextQueryPb from "../../gen/contextkeep/context/v1/context_query_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { type ContextProvider, type QueryPolicy, contextProviderOf, queryPolicyOf } from "../context-query.js";

/** The calls of `query` that are one method each. */
export class GeneratedQuery extends Noun<AppClient> {
  /**
   * Lists the providers that there are, by id, as the tenant has them, and the agent, if there is one. It asks none of them.
   * Throws AgentNotFound.
   *
   * @param options.agentId As of query.ask.
   */
  async listProviders(options: { agentId?: string } & CallOptions = {}): Promise<ContextProvider[]> {
    const request = {
      agentId: options.agentId,
    };
    const answer = await this.client.call(contextQueryPb.ContextQuery.method.listContextProviders, request, options);
    return answer.providers.map(contextProviderOf);
  }

  /**
   * Says which providers a question may ask now, and where the workspace is searched. Of each provider it says whether it may be asked,
   * whether it is asked by default, and how long it has. query.ask holds to the same, whoever asks. Throws AgentNotFound,
   * PermissionDenied (`subjectUserId`).
   *
   * @param options.agentId As of query.ask.
   */
  async getPolicy(options: { agentId?: string } & ContextOptions = {}): Promise<QueryPolicy> {
    const request = {
      subjectUserId: options.subjectUserId,
      agentId: options.agentId,
    };
    const answer = await this.client.call(contextQueryPb.ContextQuery.method.getQueryPolicy, request, options);
    return queryPolicyOf(answer);
  }
}
