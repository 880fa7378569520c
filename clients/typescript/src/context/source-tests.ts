/** One question to every source. */

import * as pb from "../gen/contextkeep/context/v1/context_query_pb.js";
import { type QueryOptions, requestOf } from "./query.js";
import { type SourceTest, sourceTestOf } from "../_gen/context-query.js";
import { GeneratedSourceTests } from "../_gen/nouns/source-tests.js";
import type { CallOptions } from "../client.js";

const method = pb.ContextQuery.method;

/** An RPC is one method. */
export class SourceTests extends GeneratedSourceTests {
  /**
   * Ask a question as `query.ask` does, keep all that comes back, and return it.
   *
   * @throws PermissionDenied The key lacks the scope admin, or is bound.
   */
  async run(query: string, options: { label?: string } & QueryOptions = {}): Promise<SourceTest> {
    const request = { question: requestOf(query, options), label: options.label };
    return sourceTestOf((await this.client.call(method.runSourceTest, request, options)).test!);
  }

  /**
   * Ask the question of a test again, keep all that comes back, and return it.
   *
   * @throws SourceTestNotFound There is no such test.
   */
  async replay(testId: string, options: { label?: string } & CallOptions = {}): Promise<SourceTest> {
    return sourceTestOf((await this.client.call(method.runSourceTest, { replayOf: testId, label: options.label }, options)).test!);
  }
}
