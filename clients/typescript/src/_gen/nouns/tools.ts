// Made from the protos by `make proto`.

import * as toolsPb from "../../gen/contextkeep/context/v1/tools_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { type NodeName, nameFields } from "../../names.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type Resource, type Tool, resourceOf, toolOf } from "../tools.js";

/** The calls of `tools` that are one method each. */
export class GeneratedTools extends Noun<AppClient> {
  /**
   * Lists the tools that the caller's key may call, by name.
   *
   * @param options.readOnly Leave out those that write.
   */
  async list(options: { readOnly?: boolean } & CallOptions = {}): Promise<Tool[]> {
    const request = {
      readOnly: options.readOnly,
    };
    const answer = await this.client.call(toolsPb.Tools.method.listTools, request, options);
    return answer.tools.map(toolOf);
  }

  /**
   * Lists the working memory records of an entity as resources, newest first. Their text is read by the tool `wm_read`.
   *
   * Throws InvalidPageToken; of an `externalId` NodeNotFound and Unavailable.
   *
   * @param entityNodeId Required, or `externalId`.
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
   */
  listResources(entityNodeId: NodeName, options: { pageSize?: number } & CallOptions = {}): Rows<Resource> {
    const request = {
      ...nameFields("entityNodeId", entityNodeId),
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(toolsPb.Tools.method.listResources, { ...request, pageToken }, options);
        return [page.resources.map(resourceOf), page.nextPageToken];
      }),
    );
  }
}
