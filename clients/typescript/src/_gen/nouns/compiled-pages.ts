// Made from the protos by `make proto`.

import * as knowledgePb from "../../gen/contextkeep/context/v1/knowledge_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { type NodeName, nameFields } from "../../names.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import {
  type CompileProgress,
  type CompiledPage,
  type Facet,
  compileProgressOf,
  compiledPageOf,
  facetOf,
} from "../definitions.js";
import { type FacetFields, facetFields } from "../inputs.js";

/** The calls of `compiledPages` that are one method each. */
export class CompiledPages extends Noun<AppClient> {
  /**
   * Compiles pages of the graph by the definitions that are approved, as the caller sees the graph. Each node of their types has a page.
   * Messages say how far it is; what they count is stored. Needs the scope `compile`, and `read` for the graph.
   *
   * Pages belong to the audience that compiled them, which is the bounds of the key: a key with other bounds compiles pages of its own.
   * Who may see a facet is another matter: whoever may see all that was read for it, whoever compiled it.
   *
   * Without a definition or nodes it goes on behind the last one: it reads what changed since, and compiles the pages that depend on
   * that, and no others. All nodes are read of a definition that was not compiled in its approved version yet, and of all definitions
   * where changes are not kept or are forgotten. A page goes when its node is removed, as the list of changes says it, or when it was
   * read and has none any more. One whose node a compile of all nodes does not see stays, and says that it is out of date.
   *
   * One compile of an audience is under way at a time. One that ends early has stored what it counted, and the next goes on: nothing is
   * half written. One whose service died keeps others out for a minute.
   *
   * Throws InvalidArgument, DefinitionNotFound (also: it is not approved), CompileUnderWay (Aborted; also: this one stood still
   * for a minute, and another one began), LimitExceeded, PermissionDenied, Unavailable.
   *
   * @param options.definitionName Of one definition, all pages, changed or not. Not beside `nodeIds`.
   * @param options.nodeIds The pages of these nodes, up to 1,000. Neither of the two: all that changed since the last compile of keys with the same bounds.
   */
  async *compile(options: { definitionName?: string; nodeIds?: string[] } & CallOptions = {}): AsyncGenerator<CompileProgress> {
    const request = {
      definitionName: options.definitionName,
      nodeIds: options.nodeIds,
    };
    for await (const answer of this.client.stream(knowledgePb.Knowledge.method.compilePages, request, options)) {
      yield compileProgressOf(answer);
    }
  }

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
  list(options: { definitionName?: string; nodeId?: NodeName; pageSize?: number } & CallOptions = {}): Rows<CompiledPage> {
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

  /**
   * Puts a facet on a page beside those that are compiled, in place of the one that was put with its slug; it has the walls of the page, stays
   * when that is compiled, and goes with it.
   *
   * Throws InvalidArgument, CompiledPageNotFound, LimitExceeded (also: `facets`, 32 that are put on a page), PermissionDenied,
   * RequestIdReused.
   */
  async putFacet(pageId: string, facet: FacetFields, options: WriteOptions = {}): Promise<Facet | undefined> {
    const request = {
      pageId,
      facet: facetFields(facet, "facet"),
      requestId: requestId(options),
    };
    const answer = await this.client.call(knowledgePb.Knowledge.method.putFacet, request, options);
    return answer.facet && facetOf(answer.facet);
  }
}
