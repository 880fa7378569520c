// Made from the protos by `make proto`.

import * as knowledgePb from "../../gen/contextkeep/context/v1/knowledge_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { type NodeName, nameFields } from "../../names.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type CompiledPage, compiledPageOf } from "../definitions.js";

/** The calls of `compiledPages` that are one method each. */
export class GeneratedCompiledPages extends Noun<AppClient> {
  /**
   * Reads a page that was compiled, with the facets that the caller may see. They have RPCs of their own: such a page is its tenant's, made of
   * facets with walls each, and has no Markdown and no versions; a page of a wiki is a user's, and has no facets.
   *
   * Throws CompiledPageNotFound (also: outside of the key's bounds, or its definition is not approved any more).
   */
  async get(pageId: string, options: CallOptions = {}): Promise<CompiledPage> {
    const request = {
      pageId,
    };
    const answer = await this.client.call(knowledgePb.Knowledge.method.getCompiledPage, request, options);
    return compiledPageOf(answer.page!);
  }

  /**
   * Lists pages that were compiled, without their facets. Throws InvalidArgument, InvalidPageToken; of an `externalId` NodeNotFound and
   * Unavailable.
   *
   * @param options.definitionName Empty: of all.
   * @param options.nodeId Only those of this node. Empty: of all.
   */
  list(
    options: { definitionName?: string; nodeId?: NodeName; pageSize?: number } & CallOptions = {},
  ): Rows<CompiledPage> {
    const request = {
      definitionName: options.definitionName,
      ...(options.nodeId !== undefined && nameFields("nodeId", options.nodeId)),
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(knowledgePb.Knowledge.method.listCompiledPages, { ...request, pageToken }, options);
        return [page.pages.map(compiledPageOf), page.nextPageToken];
      }),
    );
  }
}
