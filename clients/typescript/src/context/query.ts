/** One question to every source. */

import * as pb from "../gen/contextkeep/context/v1/context_query_pb.js";
import type { CallOptions } from "../client.js";
import { choice } from "../messages.js";
import { type ContextProvider, type QueriedContext, providerOf, queriedOf } from "../query.js";
import { toTimestamp } from "../times.js";
import type { ContextOptions } from "./contexts.js";
import { WindowCalls } from "./windows.js";

const method = pb.ContextQuery.method;

const MODES = { results: pb.QueryMode.RESULTS, answer: pb.QueryMode.ANSWER };
const SCOPES = { auto: pb.QueryScope.AUTO, personal: pb.QueryScope.PERSONAL, team: pb.QueryScope.TEAM };
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
}

/** An RPC is one method. */
export abstract class QueryCalls extends WindowCalls {
  /**
   * Ask every source a question, and return cited hits, and how each source fared.
   *
   * A source that fails says so in its status; the others answer as ever.
   *
   * @throws InvalidArgument The question is blank, or something in it is unknown; the field is named.
   */
  async queryContext(query: string, options: QueryOptions = {}): Promise<QueriedContext> {
    const { mode, scope, depth, limit, providers, nodeIds, contextIds, tokensMax, explain, subjectUserId } = options;
    const request = {
      query,
      mode: mode && choice("mode", mode, MODES),
      scope: scope && choice("scope", scope, SCOPES),
      depth: depth && choice("depth", depth, DEPTHS),
      limit,
      providers,
      providerOptions: nodeIds && { workspace: { nodeIds } },
      contextIds,
      tokensMax,
      timeFrom: toTimestamp(options.timeFrom, "time_from"),
      timeTo: toTimestamp(options.timeTo, "time_to"),
      explain,
      subjectUserId,
    };
    return queriedOf(await this.call(method.queryContext, request, options));
  }

  /** Return the sources that can be asked, by id. */
  async listContextProviders(options: CallOptions = {}): Promise<ContextProvider[]> {
    return (await this.call(method.listContextProviders, {}, options)).providers.map(providerOf);
  }
}
