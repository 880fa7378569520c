// Made from the protos by `make proto`.

import * as contextQueryPb from "../../gen/contextkeep/context/v1/context_query_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
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
  /** Hits to answer: 1 to 50. Unset: 20. */
  limit?: number;
  /** Which to ask. Unset: those that are asked by default, and `context` if `contextIds` has any. */
  providers?: ProviderSelection;
  /**
   * Whose records are searched, with all that they say, up to 20; for an agent only those of its target. Empty: those below the nodes of the
   * agent, else of its template, else that the tenant has set; else all records that the caller sees, by the words that search knows of them
   * (the first 50,000 characters of each). For an agent without any of those nodes it is SKIPPED.
   */
  nodeIds?: string[];
  memoryMode?: "recall" | "reflect";
  /** For the provider `context`: which contexts to search, up to 16. One that is not there, is another user's or another tenant's: all alike. */
  contextIds?: string[];
  /** Also answer `promptText` of so many tokens at most, up to 100,000. 0: none. */
  tokensMax?: number;
  /** Only hits from this time on, and only those before that one; hits that have no time are left out then. */
  timeFrom?: Date | string;
  timeTo?: Date | string;
  /** Also answer what each provider gave, and what became of it. */
  explain?: boolean;
  /**
   * For which agent: its policy holds, and its files are searched. Empty: the credential's, if it has one that was put. One that is not there,
   * or that the caller may not name, is AgentNotFound, both alike.
   */
  agentId?: string;
  /**
   * Also answer `expanded`: the whole text of these hits of earlier answers, up to 20. Only providers that are asked give theirs; where
   * `providers` is unset, those that these refs are of do so, too, and are not searched for that.
   */
  expandRefs?: string[];
}

/** Options of `query.updateProvider`. */
export interface SettingOptions {
  /** False: it is not asked; where it is named it is SKIPPED. */
  enabled?: boolean;
  /** Whether it is asked where a question selects none. */
  isDefault?: boolean;
  /** How long it has, at either depth, within the time of the call: 1 to 60,000. */
  deadlineMs?: number;
  /**
   * Whose records are searched, with all that they say, up to 20; for an agent only those of its target. Empty: those below the nodes of the
   * agent, else of its template, else that the tenant has set; else all records that the caller sees, by the words that search knows of them
   * (the first 50,000 characters of each). For an agent without any of those nodes it is SKIPPED.
   */
  nodeIds?: string[];
  memoryMode?: "recall" | "reflect";
  /** The fields that are as the provider has them again: `enabled`, `isDefault`, `deadlineMs`, `workspace`, `memory`. */
  reset?: ("enabled" | "is_default" | "deadline_ms" | "workspace" | "memory")[];
}

/** The calls of `query` that are one method each. */
export class Query extends Noun<AppClient> {
  /**
   * Asks providers a question, all at once, and answers their hits as one list, the best first, with the status of each provider.
   *
   * A provider that fails, or is late, says so in its status and takes nothing from the others: all of them may fail, and the call is OK. A late
   * one is cancelled, and the answer does not wait for its end; it comes before the deadline of the call, with what there is.
   *
   * The same fact from two sources (equal stems, numbers, dates and negations) is one hit with both; of two that contradict both stay.
   * The order is total: the same question to the same sources is answered in the same order.
   *
   * Throws InvalidArgument (the violation names the field: a blank query; an unknown mode, scope, depth, provider or family; a selection that
   * is given and empty, or lacks a provider that `contextIds` or an option is for; a limit outside of 1 to 50; a malformed id or time),
   * LimitExceeded, AgentNotFound, ProviderNotAllowed (PermissionDenied; the policy of the agent, or of its template, has not what the
   * violation names), PermissionDenied (`subjectUserId`).
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
    };
    const answer = await this.client.call(contextQueryPb.ContextQuery.method.queryContext, request, options);
    return queriedContextOf(answer);
  }

  /**
   * Asks as query.ask, and tells what each provider answered as soon as it has; the last message is what query.ask answers.
   *
   * A provider comes in the order in which it ended: those that are not asked first of all, one that is late when it is cancelled. A slow reader
   * holds up nobody, and the providers neither. If the caller cancels the stream, all providers that were asked are cancelled. It ends within the
   * deadline of the call with what there is; without one within 60 seconds.
   *
   * What can be refused is refused before the first message, with the reasons of query.ask. StreamIdle: nobody read for too long.
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
    };
    const timeoutMs = options.timeoutMs ?? this.client.options.timeoutMs;
    for await (const answer of this.client.stream(contextQueryPb.ContextQuery.method.streamQueryContext, request, { ...options, timeoutMs })) {
      yield queryEventOf(answer);
    }
  }

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

  /**
   * Says of a provider, for the whole tenant, whether it may be asked, is asked by default, and how long it has. It holds for questions that
   * are asked from then on, at any replica, and stays until it is changed. Needs the scope `admin`.
   *
   * Throws InvalidArgument (an unknown provider; a field that is none of this provider), LimitExceeded, PermissionDenied (the scope; the
   * key is bound), RequestIdReused.
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
