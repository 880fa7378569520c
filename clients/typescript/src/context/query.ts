/** One question to every source. */

import type { ContextOptions } from "./app.js";
import { type QueriedContext, type QueryEvent, queriedContextOf, queryEventOf } from "../_gen/context-query.js";
import { GeneratedQuery } from "../_gen/nouns/query.js";
import * as pb from "../gen/contextkeep/context/v1/context_query_pb.js";
import { choice } from "../messages.js";
import { type ProviderSetting, settingOf } from "../query.js";
import { toTimestamp } from "../times.js";
import { type WriteOptions, requestId } from "../writes.js";

const method = pb.ContextQuery.method;

const MODES = { results: pb.QueryMode.RESULTS, answer: pb.QueryMode.ANSWER };
const SCOPES = { auto: pb.QueryScope.AUTO, personal: pb.QueryScope.PERSONAL, team: pb.QueryScope.TEAM };
const MEMORY_MODES = { recall: pb.MemoryQueryMode.RECALL, reflect: pb.MemoryQueryMode.REFLECT };
const DEPTHS = { quick: pb.QueryDepth.QUICK, deep: pb.QueryDepth.DEEP };

/** Of a question. */
export interface QueryOptions extends ContextOptions {
  /** "answer": also quotations of the best hits. */
  mode?: keyof typeof MODES;
  /** "personal": the user's own; "team": what belongs to nobody in particular; else both. */
  scope?: keyof typeof SCOPES;
  /** "deep": more time, more hits, and a second pass. */
  depth?: keyof typeof DEPTHS;
  /** Hits, 1 to 50; else 20. */
  limit?: number;
  /** Whom to ask: those of either list; else those that are asked by default. */
  providers?: { ids?: string[]; families?: string[] };
  /** For the provider workspace: whose files are searched, up to 20; else all. */
  nodeIds?: string[];
  /** For the provider memory: "recall": a hit for each; "reflect": one statement; else its default. */
  memoryMode?: keyof typeof MEMORY_MODES;
  /** For the provider context: which ones are searched, up to 16. */
  contextIds?: string[];
  /** Also a `promptText` of so many tokens at most. */
  tokensMax?: number;
  /** Only hits from this time on. */
  timeFrom?: Date | string;
  /** Only hits before this time. */
  timeTo?: Date | string;
  /** Also what each provider gave. */
  explain?: boolean;
  /** Also the whole text of these hits of earlier answers, up to 20. */
  expandRefs?: string[];
  /** For which agent: its policy holds, and its files are searched; else the key's, if there is one. */
  agentId?: string;
}

/** What is said of a provider: what is left out stays as it is. */
export interface SettingOptions extends WriteOptions {
  /** It may be asked. */
  enabled?: boolean;
  /** It is asked where a question selects none. */
  isDefault?: boolean;
  /** How long it has: 1 to 60,000. */
  deadlineMs?: number;
  /** Of the workspace: below which nodes is searched if a question names none. Empty: all. */
  nodeIds?: string[];
  /** Of memories: what is made of them where a question does not say it. */
  memoryMode?: keyof typeof MEMORY_MODES;
  /** What is as the provider has it again. */
  reset?: ("enabled" | "is_default" | "deadline_ms" | "workspace" | "memory")[];
}

/** An RPC is one method. */
export class Query extends GeneratedQuery {
  /**
   * Ask every source a question, and return cited hits, and how each source fared.
   *
   * A source that fails says so in its status; the others answer as ever.
   *
   * @throws InvalidArgument The question is blank, or something in it is unknown; the field is named.
   */
  async ask(query: string, options: QueryOptions = {}): Promise<QueriedContext> {
    return queriedContextOf(await this.client.call(method.queryContext, requestOf(query, options), options));
  }

  /**
   * Ask as `query.ask`, and yield what each source answered when it has; last comes what that returns.
   *
   * Leave it early, and the sources that have not answered are cancelled.
   *
   * @throws InvalidArgument The question is blank, or something in it is unknown; the field is named.
   */
  async *stream(query: string, options: QueryOptions = {}): AsyncGenerator<QueryEvent> {
    const within = { ...options, timeoutMs: options.timeoutMs ?? this.client.options.timeoutMs };
    for await (const response of this.client.stream(method.streamQueryContext, requestOf(query, options), within)) {
      yield queryEventOf(response);
    }
  }

  /**
   * Say something of a provider for the whole tenant, and return all that is said of it then.
   *
   * @throws PermissionDenied The key lacks the scope admin, or is bound.
   */
  async updateProvider(providerId: string, options: SettingOptions = {}): Promise<ProviderSetting> {
    const { enabled, isDefault, deadlineMs, nodeIds, memoryMode, reset } = options;
    const memory = memoryMode && { queryMode: choice("memory_mode", memoryMode, MEMORY_MODES) };
    const setting = { providerId, enabled, isDefault, deadlineMs, workspace: nodeIds && { nodeIds }, memory };
    const request = { setting, reset, requestId: requestId(options) };
    return settingOf((await this.client.call(method.updateProviderSetting, request, options)).setting!);
  }
}

export function requestOf(query: string, options: QueryOptions) {
  const { mode, scope, depth, limit, providers, nodeIds, memoryMode, contextIds, tokensMax, explain, expandRefs, subjectUserId } =
    options;
  return {
    query,
    mode: mode && choice("mode", mode, MODES),
    scope: scope && choice("scope", scope, SCOPES),
    depth: depth && choice("depth", depth, DEPTHS),
    limit,
    providers,
    providerOptions: (nodeIds || memoryMode) && {
      workspace: nodeIds && { nodeIds },
      memory: memoryMode && { queryMode: choice("memory_mode", memoryMode, MEMORY_MODES) },
    },
    contextIds,
    tokensMax,
    timeFrom: toTimestamp(options.timeFrom, "time_from"),
    timeTo: toTimestamp(options.timeTo, "time_to"),
    explain,
    expandRefs,
    agentId: options.agentId,
    subjectUserId,
  };
}
