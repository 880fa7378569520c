/** Specialists: providers of context query that search one folder of the workspace in several steps. */

import { type Specialist, specialistOf } from "../_gen/specialists.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { Rows, pages } from "../rows.js";
import { type WriteOptions, requestId } from "../writes.js";
import { McpServerCalls } from "./mcp-servers.js";

const method = pb.Knowledge.method;

/** What is said of a specialist. */
export interface SpecialistFields {
  /** Its folder: it searches records of these nodes and of those below them, up to 20. Else it is not wired, which its status says. */
  nodeIds?: string[];
  /** What a model is told of the folder, up to 8,000 characters. */
  instructions?: string;
  /** Up to 200 characters; else the id. */
  displayName?: string;
  /** How many searches and readings a question may cost, up to 10; else 4. */
  stepsMax?: number;
  /** Asked where a question selects nobody. */
  isDefault?: boolean;
}

/** An RPC is one method. All of them need the scope admin; a bound key cannot write. */
export abstract class SpecialistCalls extends McpServerCalls {
  /**
   * Write a specialist as it is said, whether there was one or not, and return it.
   *
   * @param specialistId Your own id: 1 to 50 small letters, digits and hyphens.
   * @throws LimitExceeded There are 50.
   */
  async putSpecialist(specialistId: string, options: SpecialistFields & WriteOptions = {}): Promise<Specialist> {
    const { nodeIds, instructions, displayName, stepsMax, isDefault } = options;
    const specialist = { specialistId, nodeIds, instructions, displayName, stepsMax, isDefault };
    return specialistOf((await this.call(method.putSpecialist, { specialist, requestId: requestId(options) }, options)).specialist!);
  }

  /** The specialists, by id. */
  listSpecialists(options: { pageSize?: number } & CallOptions = {}): Rows<Specialist> {
    const { pageSize } = options;
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listSpecialists, { pageSize, pageToken }, options);
        return [page.specialists.map(specialistOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Remove a specialist; what is in its folder stays.
   *
   * @throws SpecialistNotFound There is none.
   */
  async deleteSpecialist(specialistId: string, options: WriteOptions = {}): Promise<void> {
    await this.call(method.deleteSpecialist, { specialistId, requestId: requestId(options) }, options);
  }
}
