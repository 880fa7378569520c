// Made from the protos by `make proto`.

import * as contextQueryPb from "../../gen/contextkeep/context/v1/context_query_pb.js";
import * as sourceTestsPb from "../../gen/contextkeep/context/v1/source_tests_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient, ContextOptions } from "../../context/app.js";
import { toObject } from "../../json.js";
import { enumInput, given } from "../../messages.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { toTimestamp } from "../../times.js";
import type { ProviderSelection } from "../inputs.js";
import { type ComparedTests, type SourceTest, comparedTestsOf, sourceTestOf } from "../source-tests.js";

/** Options of `sourceTests.run`. */
export interface SourceTestsRunOptions {
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
  /** Name of the test, up to 200 characters. */
  label?: string;
}

/** The calls of `sourceTests` that are one method each. */
export class SourceTests extends Noun<AppClient> {
  /**
   * Ask a question as query.ask does, and store the answer with the hits of each provider before merging. It
   * writes nothing else.
   *
   * Throws those of query.ask; InvalidArgument (both `question` and `replayOf`, or neither; `expandRefs`),
   * SourceTestNotFound (`replayOf`), PermissionDenied (the scope; the key is bound).
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
        scoreMin: options.scoreMin,
        metadataJson: toObject(options.metadata, "question.metadata_json"),
      },
      label: options.label,
    };
    const answer = await this.client.call(sourceTestsPb.SourceTests.method.runSourceTest, request, options);
    return sourceTestOf(answer.test!);
  }

  /**
   * Ask a question as query.ask does, and store the answer with the hits of each provider before merging. It
   * writes nothing else.
   *
   * Throws those of query.ask; InvalidArgument (both `question` and `replayOf`, or neither; `expandRefs`),
   * SourceTestNotFound (`replayOf`), PermissionDenied (the scope; the key is bound).
   *
   * @param testId Instead of `question`: ask the question of this test again.
   * @param options.label Name of the test, up to 200 characters.
   */
  async replay(testId: string, options: { label?: string } & CallOptions = {}): Promise<SourceTest> {
    const request = {
      replayOf: testId,
      label: options.label,
    };
    const answer = await this.client.call(sourceTestsPb.SourceTests.method.runSourceTest, request, options);
    return sourceTestOf(answer.test!);
  }

  /** List the stored tests without their answers, newest first. Throws InvalidArgument, InvalidPageToken. */
  list(options: { pageSize?: number } & CallOptions = {}): Rows<SourceTest> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(sourceTestsPb.SourceTests.method.listSourceTests, { ...request, pageToken }, options);
        return [page.tests.map(sourceTestOf), page.nextPageToken];
      }),
    );
  }

  /** Read a test with its answer. Throws InvalidArgument, SourceTestNotFound. */
  async get(testId: string, options: CallOptions = {}): Promise<SourceTest> {
    const request = {
      testId,
    };
    const answer = await this.client.call(sourceTestsPb.SourceTests.method.getSourceTest, request, options);
    return sourceTestOf(answer.test!);
  }

  /**
   * Compare two tests: the ranks of their hits, and the status of each provider. Throws InvalidArgument,
   * SourceTestNotFound.
   */
  async compare(testId: string, otherTestId: string, options: CallOptions = {}): Promise<ComparedTests> {
    const request = {
      testId,
      otherTestId,
    };
    const answer = await this.client.call(sourceTestsPb.SourceTests.method.compareSourceTests, request, options);
    return comparedTestsOf(answer);
  }

  /** Remove a test. Throws InvalidArgument, SourceTestNotFound. */
  async delete(testId: string, options: CallOptions = {}): Promise<void> {
    const request = {
      testId,
    };
    await this.client.call(sourceTestsPb.SourceTests.method.deleteSourceTest, request, options);
  }
}
