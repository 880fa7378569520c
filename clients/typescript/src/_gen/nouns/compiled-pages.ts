// Made from the protos by `make proto`.

import * as compiledPagesPb from "../../gen/contextkeep/context/v1/compiled_pages_pb.js";
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
} from "../compiled-pages.js";
import { type FacetFields, facetFields } from "../inputs.js";

/** The calls of `compiledPages` that are one method each. */
export class CompiledPages extends Noun<AppClient> {
  /**
   * Compile pages from the graph by the approved definitions. It sees the graph as the caller does. Each node whose
   * type a definition names has a page. The stream reports the progress; everything that it counts is stored. Needs the
   * scope `compile`, and `read` for the graph.
   *
   * Pages belong to an audience: the bounds of the key that compiled them. A key with other bounds compiles its own
   * pages. Access to a facet does not depend on the key that compiled it: a caller sees the facet if it may see
   * everything that was read for it.
   *
   * Without a definition or nodes, the compile continues after the last one: it reads the changes since then, and
   * compiles only the pages that depend on them. It reads all nodes of a definition whose approved version was not
   * compiled yet. It reads all nodes of all definitions if the change log is not kept or has expired. A page is deleted
   * when the change log says that its node was removed, or when the compile reads the node and it has no page any more.
   * If a compile of all nodes does not see the node of a page, the page stays and is marked as out of date.
   *
   * One compile per audience runs at a time. A compile that ends early has stored everything that it counted, and the
   * next one continues there; no page is half written. A compile whose process died blocks others for one minute.
   *
   * Throws InvalidArgument, DefinitionNotFound (there is no such definition, or it is not approved),
   * CompileUnderWay (Aborted: another compile of the audience runs, or this one made no progress for a minute and
   * another one began), LimitExceeded, PermissionDenied, Unavailable.
   *
   * @param options.definitionName Compile all pages of this definition, changed or not. Not together with `nodeIds`.
   * @param options.nodeIds Compile the pages of these nodes, up to 1,000. With neither this nor `definitionName`: the pages of everything that changed since the last compile by keys with the same bounds.
   */
  async *compile(options: { definitionName?: string; nodeIds?: string[] } & CallOptions = {}): AsyncGenerator<CompileProgress> {
    const request = {
      definitionName: options.definitionName,
      nodeIds: options.nodeIds,
    };
    for await (const answer of this.client.stream(compiledPagesPb.CompiledPages.method.compilePages, request, options)) {
      yield compileProgressOf(answer);
    }
  }

  /**
   * Read a compiled page, with the facets that the caller may see.
   *
   * Throws CompiledPageNotFound (there is no such page, it is outside the key's bounds, or its definition is no
   * longer approved).
   *
   * @param pageId The page to read.
   */
  async get(pageId: string, options: CallOptions = {}): Promise<CompiledPage> {
    const request = {
      pageId,
    };
    const answer = await this.client.call(compiledPagesPb.CompiledPages.method.getCompiledPage, request, options);
    return compiledPageOf(answer.page!);
  }

  /**
   * List compiled pages, without their facets. Throws InvalidArgument, InvalidPageToken, NodeNotFound (no node
   * has this `externalId`), Unavailable (the Entity Service does not answer; only with an `externalId`).
   *
   * @param options.definitionName Only pages of this definition. Empty: all.
   * @param options.nodeId Only pages of this node. Empty: all.
   */
  list(options: { definitionName?: string; nodeId?: NodeName; pageSize?: number } & CallOptions = {}): Rows<CompiledPage> {
    const request = {
      definitionName: options.definitionName,
      ...(options.nodeId !== undefined && nameFields("nodeId", options.nodeId)),
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(compiledPagesPb.CompiledPages.method.listCompiledPages, { ...request, pageToken }, options);
        return [page.pages.map(compiledPageOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Add a facet by hand to a compiled page, or replace the added facet with the same slug. The facet has the access
   * rules of the page, stays when the page is compiled again, and is deleted with the page.
   *
   * Throws InvalidArgument, CompiledPageNotFound, LimitExceeded (also the limit `facets`: 32 added facets per
   * page), PermissionDenied, RequestIdReused.
   *
   * @param pageId The page to add the facet to.
   */
  async putFacet(pageId: string, facet: FacetFields, options: WriteOptions = {}): Promise<Facet | undefined> {
    const request = {
      pageId,
      facet: facetFields(facet, "facet"),
      requestId: requestId(options),
    };
    const answer = await this.client.call(compiledPagesPb.CompiledPages.method.putFacet, request, options);
    return answer.facet && facetOf(answer.facet);
  }
}
