// Made from the protos by `make proto`.

import * as contextQueryPb from "../../gen/contextkeep/context/v1/context_query_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { enumInput, given } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { toTimestamp } from "../../times.js";
import { type ComparedTests, type SourceTest, comparedTestsOf, sourceTestOf } from "../context-query.js";
import type { ProviderSelection } from "../inputs.js";

/** Options of `sourceTests.run`. */
export interface SourceTestsRunOptions {
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
  /** What the test is called, up to 200 characters. */
  label?: string;
}

/** The calls of `sourceTests` that are one method each. */
export class SourceTests extends Noun<AppClient> {
  /**
   * Asks a question by the same path as query.ask, and keeps the whole answer with what each provider gave before merging. Nothing else is
   * written; the newest 200 tests of a tenant are kept. What is kept is the user's on whose behalf it was asked, and goes with the user, or with a
   * context that the question names. Needs the scope `admin`, as the calls below do.
   *
   * Throws those of query.ask; InvalidArgument (both `question` and `replayOf`, or neither; `expandRefs`), SourceTestNotFound
   * (`replayOf`), PermissionDenied (the scope; the key is bound).
   *
   * @param query Not blank. Up to 8,000 characters.
   */
  async run(query: string, options: SourceTestsRunOptions & ContextOptions = {}): Promise<SourceTest> {
    const request = {
      question: {
        query,
        mode: enumInput("question.mode", options.mode, contextQueryPb.QueryMode),
        scope: enumInput("question.scope", options.scope, contextQueryPb.QueryScope),
        depth: enumInput("question.depth", options.depth, contextQueryPb.QueryDepth),
        limit: options.limit,
        providers: options.providers,
        providerOptions: given({
          workspace: given({
            nodeIds: options.nodeIds,
          }),
          memory: given({
            queryMode: enumInput(
              "question.provider_options.memory.query_mode",
              options.memoryMode,
              contextQueryPb.MemoryQueryMode,
            ),
          }),
        }),
        contextIds: options.contextIds,
        tokensMax: options.tokensMax,
        timeFrom: toTimestamp(options.timeFrom, "question.time_from"),
        timeTo: toTimestamp(options.timeTo, "question.time_to"),
        explain: options.explain,
        subjectUserId: options.subjectUserId,
        agentId: options.agentId,
        expandRefs: options.expandRefs,
      },
      label: options.label,
    };
    const answer = await this.client.call(contextQueryPb.ContextQuery.method.runSourceTest, request, options);
    return sourceTestOf(answer.test!);
  }

  /**
   * Asks a question by the same path as query.ask, and keeps the whole answer with what each provider gave before merging. Nothing else is
   * written; the newest 200 tests of a tenant are kept. What is kept is the user's on whose behalf it was asked, and goes with the user, or with a
   * context that the question names. Needs the scope `admin`, as the calls below do.
   *
   * Throws those of query.ask; InvalidArgument (both `question` and `replayOf`, or neither; `expandRefs`), SourceTestNotFound
   * (`replayOf`), PermissionDenied (the scope; the key is bound).
   *
   * @param testId Ask the question of this test again, instead.
   * @param options.label What the test is called, up to 200 characters.
   */
  async replay(testId: string, options: { label?: string } & CallOptions = {}): Promise<SourceTest> {
    const request = {
      replayOf: testId,
      label: options.label,
    };
    const answer = await this.client.call(contextQueryPb.ContextQuery.method.runSourceTest, request, options);
    return sourceTestOf(answer.test!);
  }

  /** Lists the tests that are kept, the newest first, without their answers. Throws InvalidArgument, InvalidPageToken. */
  list(options: { pageSize?: number } & CallOptions = {}): Rows<SourceTest> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(contextQueryPb.ContextQuery.method.listSourceTests, { ...request, pageToken }, options);
        return [page.tests.map(sourceTestOf), page.nextPageToken];
      }),
    );
  }

  /** Reads a test with its answer. Throws InvalidArgument, SourceTestNotFound. */
  async get(testId: string, options: CallOptions = {}): Promise<SourceTest> {
    const request = {
      testId,
    };
    const answer = await this.client.call(contextQueryPb.ContextQuery.method.getSourceTest, request, options);
    return sourceTestOf(answer.test!);
  }

  /** Says what two tests differ in: hits by their ranks, and how each provider fared. Throws InvalidArgument, SourceTestNotFound. */
  async compare(testId: string, otherTestId: string, options: CallOptions = {}): Promise<ComparedTests> {
    const request = {
      testId,
      otherTestId,
    };
    const answer = await this.client.call(contextQueryPb.ContextQuery.method.compareSourceTests, request, options);
    return comparedTestsOf(answer);
  }

  /** Removes a test. Throws InvalidArgument, SourceTestNotFound. */
  async delete(testId: string, options: CallOptions = {}): Promise<void> {
    const request = {
      testId,
    };
    await this.client.call(contextQueryPb.ContextQuery.method.deleteSourceTest, request, options);
  }
}
