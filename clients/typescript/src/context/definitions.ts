/** Definitions of pages, and the pages that are compiled by them. */

import {
  type CompileProgress,
  type Definition,
  type Facet,
  type TriedDefinition,
  compileProgressOf,
  definitionOf,
  facetOf,
  triedDefinitionOf,
} from "../_gen/definitions.js";
import type { CallOptions } from "../client.js";
import { type DefinitionRules, FACET_KINDS, type FacetKind, definitionRules } from "../definitions.js";
import { Knowledge } from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { choice } from "../messages.js";
import { type NodeName, nameFields } from "../names.js";
import { toTimestamp } from "../times.js";
import { type WriteOptions, requestId } from "../writes.js";
import { WikiCalls } from "./wiki.js";

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
export abstract class DefinitionCalls extends WikiCalls {
  /**
   * Write the next version of a definition, a draft. The rules of the newest one again write none.
   *
   * @throws InvalidArgument A rule does not compile: `rule`, `line` and `column` in the metadata.
   * @throws PermissionDenied The key is bound.
   */
  async putDefinition(name: string, rules: DefinitionRules, options: WriteOptions = {}): Promise<Definition> {
    const request = { name, rules: definitionRules(rules), requestId: requestId(options) };
    return definitionOf((await this.call(method.putDefinition, request, options)).definition!);
  }

  /**
   * Return the page that rules make of a node. Nothing is kept.
   *
   * @throws InvalidArgument A rule does not compile.
   * @throws NodeNotFound There is no such node.
   */
  async testDefinition(rules: DefinitionRules, node: NodeName, options: CallOptions = {}): Promise<TriedDefinition> {
    const request = { rules: definitionRules(rules), ...nameFields("nodeId", node) };
    return triedDefinitionOf(await this.call(method.testDefinition, request, options));
  }

  /**
   * Compile pages of the graph as you see it, and yield how far it is; the last one is done. Left early, what it counted is stored.
   *
   * @param options All pages of `definitionName`, or those of `nodeIds`; else all that changed since the last compile.
   * @throws DefinitionNotFound There is no such definition, or it is not approved.
   * @throws CompileUnderWay Another compile of keys with the same bounds is.
   * @throws PermissionDenied The key lacks the scope compile, or cannot read the graph.
   */
  async *compilePages(
    options: { definitionName?: string; nodeIds?: string[] } & CallOptions = {},
  ): AsyncGenerator<CompileProgress> {
    const { definitionName, nodeIds } = options;
    for await (const response of this.stream(method.compilePages, { definitionName, nodeIds }, options)) {
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
    const answer = await this.call(method.putFacet, { pageId, facet: said, requestId: requestId(options) }, options);
    return answer.facet && facetOf(answer.facet);
  }
}
