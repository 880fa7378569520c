// Made from the protos by `make proto`.

import * as contextQueryPb from "../../gen/contextkeep/context/v1/context_query_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { toObject } from "../../json.js";
import { enumInput, given } from "../../messages.js";
import { Noun } from "../../noun.js";
import { type ProviderSetting, settingOf } from "../../query.js";
import { toTimestamp } from "../../times.js";
import { type WriteOptions, requestId } from "../../writes.js";
import {
  type ContextProvider,
  type QueriedContext,
  type QueryEvent,
  type QueryPolicy,
  contextProviderOf,
  queriedContextOf,
  queryEventOf,
  queryPolicyOf,
} from "../context-query.js";
import type { ProviderSelection } from "../inputs.js";

/** Options of `query.ask`. */
export interface QueryOptions {
  mode?: "results" | "answer";
  scope?: "auto" | "personal" | "team";
  depth?: "quick" | "deep";
  /** Maximum number of hits, 1 to 50. Unset means 20. */
  limit?: number;
  /**
   * The providers to ask. Unset means the default providers, and `context` if `contextIds` is not empty. For a user's
   * own key that is bound to no context, `context` is a default provider.
   */
  providers?: ProviderSelection;
  /**
   * Search all contents of the records of these nodes, up to 20 nodes. For an agent, only nodes of its target count.
   * Empty means the records below the nodes of the agent, otherwise of its template, otherwise of the tenant's setting.
   * If none of these is set, it means all records that the caller sees, by the words in the search index (the first
   * 50,000 characters of each record). If an agent has none of those nodes, the provider is SKIPPED.
   */
  nodeIds?: string[];
  memoryMode?: "recall" | "reflect";
  /**
   * For the provider `context`: the contexts to search, up to 16. An unknown context and a context of another user or
   * tenant have the same status.
   */
  contextIds?: string[];
  /** Also return `promptText` with at most this many tokens, up to 100,000. 0 means no `promptText`. */
  tokensMax?: number;
  /** Only hits from `timeFrom` on and before `timeTo`. If either is set, hits without a time are left out. */
  timeFrom?: Date | string;
  timeTo?: Date | string;
  /** Also return the hits of each provider, and what became of each hit. */
  explain?: boolean;
  /**
   * The agent for which to ask: its policy applies, and its files are searched. Empty means the agent of the
   * credential, if it was registered. AgentNotFound if the agent does not exist or the caller may not name it.
   */
  agentId?: string;
  /**
   * Also return `expanded`: the whole text of these hits of earlier answers, up to 20. Only providers that are asked
   * return texts. If `providers` is unset, the providers of these refs return their texts too, and are not searched
   * because of that.
   */
  expandRefs?: string[];
  /** Return only hits with this score or a higher one, 0 to 1. Unset means 0.25 in mode ANSWER, otherwise any score. */
  scoreMin?: number;
  /**
   * Return only hits whose metadata have these values: a JSON object with up to 20 texts, numbers and booleans. Names have
   * no dots. For records, memories and contexts these are the metadata that their writers gave; for other hits
   * `metadataJson` of the hit.
   */
  metadata?: object;
}

/** Options of `query.updateProvider`. */
export interface SettingOptions {
  /** False means that the provider is not asked. It is SKIPPED if a question names it. */
  enabled?: boolean;
  /** Whether it is asked if a question selects no providers. */
  isDefault?: boolean;
  /** Its deadline in milliseconds at both depths, 1 to 60,000. The deadline of the call applies too. */
  deadlineMs?: number;
  /**
   * Search all contents of the records of these nodes, up to 20 nodes. For an agent, only nodes of its target count.
   * Empty means the records below the nodes of the agent, otherwise of its template, otherwise of the tenant's setting.
   * If none of these is set, it means all records that the caller sees, by the words in the search index (the first
   * 50,000 characters of each record). If an agent has none of those nodes, the provider is SKIPPED.
   */
  nodeIds?: string[];
  memoryMode?: "recall" | "reflect";
  /** Fields to reset to the value of the provider: `enabled`, `isDefault`, `deadlineMs`, `workspace`, `memory`. */
  reset?: ("enabled" | "is_default" | "deadline_ms" | "workspace" | "memory")[];
}

/** The calls of `query` that are one method each. */
export class Query extends Noun<AppClient> {
  /**
   * Ask several providers a question in parallel, and merge their hits. The hits come as one list, best first, with
   * the status of each provider.
   *
   * A provider that fails or is late has this in its status, and does not affect the others. The call succeeds even if
   * all providers fail. A late provider is cancelled, and the answer does not wait for its end. The call returns before
   * its deadline with the hits that have arrived.
   *
   * If two sources have the same fact (equal stems, numbers, dates and negations), it is one hit with both sources. If
   * two facts contradict each other, both stay. The order is deterministic: the same question to the same sources has
   * the same order of hits.
   *
   * Throws InvalidArgument (the violation names the field: a blank query; an unknown mode, scope, depth, provider or
   * family; a selection that is set and empty, or that lacks the provider of `contextIds` or of an option; a limit
   * outside of 1 to 50; a malformed id or time), LimitExceeded, AgentNotFound, ProviderNotAllowed
   * (PermissionDenied; the policy of the agent or of its template does not allow the provider that the violation
   * names), PermissionDenied (`subjectUserId`).
   *
   * @param query Not blank. Up to 8,000 characters.
   */
  async ask(query: string, options: QueryOptions & ContextOptions = {}): Promise<QueriedContext> {
    const request = {
      query,
      mode: enumInput("mode", options.mode, contextQueryPb.QueryMode),
      scope: enumInput("scope", options.scope, contextQueryPb.QueryScope),
      depth: enumInput("depth", options.depth, contextQueryPb.QueryDepth),
      limit: options.limit,
      providers: options.providers,
      providerOptions: given({
        workspace: given({
          nodeIds: options.nodeIds,
        }),
        memory: given({
          queryMode: enumInput(
            "provider_options.memory.query_mode",
            options.memoryMode,
            contextQueryPb.MemoryQueryMode,
          ),
        }),
      }),
      contextIds: options.contextIds,
      tokensMax: options.tokensMax,
      timeFrom: toTimestamp(options.timeFrom, "time_from"),
      timeTo: toTimestamp(options.timeTo, "time_to"),
      explain: options.explain,
      subjectUserId: options.subjectUserId,
      agentId: options.agentId,
      expandRefs: options.expandRefs,
      scoreMin: options.scoreMin,
      metadataJson: toObject(options.metadata, "metadata_json"),
    };
    const answer = await this.client.call(contextQueryPb.ContextQuery.method.queryContext, request, options);
    return queriedContextOf(answer);
  }

  /**
   * Ask as query.ask does, and stream the answer of each provider when it arrives. The last message is the answer
   * of query.ask.
   *
   * Providers come in the order in which they end. Providers that are not asked come first; a late provider comes when
   * it is cancelled. A slow reader does not delay other calls or the providers. If the caller cancels the stream, all
   * its providers are cancelled. The stream ends within the deadline of the call with the hits that have arrived;
   * without a deadline it ends within 60 seconds.
   *
   * Throws those of query.ask, all before the first message; StreamIdle (the client did not read for too long).
   *
   * @param query Not blank. Up to 8,000 characters.
   */
  async *stream(query: string, options: QueryOptions & ContextOptions = {}): AsyncGenerator<QueryEvent> {
    const request = {
      query,
      mode: enumInput("mode", options.mode, contextQueryPb.QueryMode),
      scope: enumInput("scope", options.scope, contextQueryPb.QueryScope),
      depth: enumInput("depth", options.depth, contextQueryPb.QueryDepth),
      limit: options.limit,
      providers: options.providers,
      providerOptions: given({
        workspace: given({
          nodeIds: options.nodeIds,
        }),
        memory: given({
          queryMode: enumInput(
            "provider_options.memory.query_mode",
            options.memoryMode,
            contextQueryPb.MemoryQueryMode,
          ),
        }),
      }),
      contextIds: options.contextIds,
      tokensMax: options.tokensMax,
      timeFrom: toTimestamp(options.timeFrom, "time_from"),
      timeTo: toTimestamp(options.timeTo, "time_to"),
      explain: options.explain,
      subjectUserId: options.subjectUserId,
      agentId: options.agentId,
      expandRefs: options.expandRefs,
      scoreMin: options.scoreMin,
      metadataJson: toObject(options.metadata, "metadata_json"),
    };
    const timeoutMs = options.timeoutMs ?? this.client.options.timeoutMs;
    for await (const answer of this.client.stream(contextQueryPb.ContextQuery.method.streamQueryContext, request, { ...options, timeoutMs })) {
      yield queryEventOf(answer);
    }
  }

  /**
   * List all providers by id, with the settings of the tenant and of the agent, if there is one. It asks no provider.
   * Throws AgentNotFound.
   *
   * @param options.agentId As in query.ask.
   */
  async listProviders(options: { agentId?: string } & CallOptions = {}): Promise<ContextProvider[]> {
    const request = {
      agentId: options.agentId,
    };
    const answer = await this.client.call(contextQueryPb.ContextQuery.method.listContextProviders, request, options);
    return answer.providers.map(contextProviderOf);
  }

  /**
   * Read which providers a question may ask now, and where the workspace is searched. For each provider, the answer
   * says whether it may be asked, whether it is asked by default, and its deadline. query.ask applies the same
   * policy to every caller. Throws AgentNotFound, PermissionDenied (`subjectUserId`).
   *
   * @param options.agentId As in query.ask.
   */
  async getPolicy(options: { agentId?: string } & ContextOptions = {}): Promise<QueryPolicy> {
    const request = {
      subjectUserId: options.subjectUserId,
      agentId: options.agentId,
    };
    const answer = await this.client.call(contextQueryPb.ContextQuery.method.getQueryPolicy, request, options);
    return queryPolicyOf(answer);
  }

  /**
   * Set for the whole tenant whether a provider may be asked, is asked by default, and its deadline. The setting
   * applies to later questions at every replica, until it is changed. Needs the scope `admin`.
   *
   * Throws InvalidArgument (an unknown provider; a field that this provider does not have), LimitExceeded,
   * PermissionDenied (the scope; the key is bound), RequestIdReused.
   */
  async updateProvider(providerId: string, options: SettingOptions & WriteOptions = {}): Promise<ProviderSetting> {
    const request = {
      setting: {
        providerId,
        enabled: options.enabled,
        isDefault: options.isDefault,
        deadlineMs: options.deadlineMs,
        workspace: given({
          nodeIds: options.nodeIds,
        }),
        memory: given({
          queryMode: enumInput("setting.memory.query_mode", options.memoryMode, contextQueryPb.MemoryQueryMode),
        }),
      },
      reset: options.reset,
      requestId: requestId(options),
    };
    const answer = await this.client.call(contextQueryPb.ContextQuery.method.updateProviderSetting, request, options);
    return settingOf(answer.setting!);
  }
}
