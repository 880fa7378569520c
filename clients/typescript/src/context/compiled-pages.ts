/** Definitions of pages, and the pages that are compiled by them. */

import { Knowledge } from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { type CompileProgress, type Facet, compileProgressOf, facetOf } from "../_gen/definitions.js";
import { GeneratedCompiledPages } from "../_gen/nouns/compiled-pages.js";
import type { CallOptions } from "../client.js";
import { FACET_KINDS, type FacetKind } from "../definitions.js";
import { choice } from "../messages.js";
import { toTimestamp } from "../times.js";
import { type WriteOptions, requestId } from "../writes.js";

const method = Knowledge.method;

/** A facet that somebody puts. */
export interface FacetFields {
  slug: string;
  /** Up to 64 KiB; else the facet goes, and the rest need not be said. */
  text?: string;
  heading?: string;
  kind?: FacetKind;
  /** Else 1. */
  confidence?: number;
  /** Else now. */
  asOf?: Date | string;
  /** Else until it is put again. */
  freshUntil?: Date | string;
  /** What it is from, or `sourceUri`, or both. */
  sourceLabel?: string;
  sourceUri?: string;
}

/** An RPC is one method. What a key may not see is as what is not there. */
export class CompiledPages extends GeneratedCompiledPages {
  /**
   * Compile pages of the graph as you see it, and yield how far it is; the last one is done. Left early, what it counted is stored.
   *
   * @param options All pages of `definitionName`, or those of `nodeIds`; else all that changed since the last compile.
   * @throws DefinitionNotFound There is no such definition, or it is not approved.
   * @throws CompileUnderWay Another compile of keys with the same bounds is.
   * @throws PermissionDenied The key lacks the scope compile, or cannot read the graph.
   */
  async *compile(
    options: { definitionName?: string; nodeIds?: string[] } & CallOptions = {},
  ): AsyncGenerator<CompileProgress> {
    const { definitionName, nodeIds } = options;
    for await (const response of this.client.stream(method.compilePages, { definitionName, nodeIds }, options)) {
      yield compileProgressOf(response);
    }
  }

  /**
   * Put a facet on a page beside those that are compiled, and return it; nothing, if it is gone.
   *
   * @throws CompiledPageNotFound There is none that you may see.
   * @throws InvalidArgument Something is missing, or malformed; the field is named.
   */
  async putFacet(pageId: string, facet: FacetFields, options: WriteOptions = {}): Promise<Facet | undefined> {
    const { slug, text, heading, kind, confidence, sourceLabel, sourceUri } = facet;
    const said = {
      ...{ slug, text, heading, confidence, sourceLabel, sourceUri },
      kind: kind && choice("facet.kind", kind, FACET_KINDS),
      asOf: toTimestamp(facet.asOf, "facet.as_of"),
      freshUntil: toTimestamp(facet.freshUntil, "facet.fresh_until"),
    };
    const answer = await this.client.call(method.putFacet, { pageId, facet: said, requestId: requestId(options) }, options);
    return answer.facet && facetOf(answer.facet);
  }
}
