// Made from the protos by `make proto`.

import * as contextQueryPb from "../../gen/contextkeep/context/v1/context_query_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type ComparedTests, type SourceTest, comparedTestsOf, sourceTestOf } from "../context-query.js";

/** The calls of `sourceTests` that are one method each. */
export class GeneratedSourceTests extends Noun<AppClient> {
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
