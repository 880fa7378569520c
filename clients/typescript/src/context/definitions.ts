/** Definitions of pages, and the pages that are compiled by them. */

import {
  type CompileProgress,
  type CompiledPage,
  type Definition,
  type Facet,
  type TriedDefinition,
  compileProgressOf,
  compiledPageOf,
  definitionOf,
  facetOf,
  triedDefinitionOf,
} from "../_gen/definitions.js";
import type { CallOptions } from "../client.js";
import { type DefinitionRules, FACET_KINDS, type FacetKind, definitionRules } from "../definitions.js";
import * as pb from "../gen/contextkeep/context/v1/definitions_pb.js";
import { Knowledge } from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { choice } from "../messages.js";
import { type NodeName, nameFields } from "../names.js";
import { Rows, pages } from "../rows.js";
import { toTimestamp } from "../times.js";
import { type WriteOptions, requestId } from "../writes.js";
import { AgentCalls } from "./agents.js";

const method = Knowledge.method;

const STATES = { draft: pb.DefinitionState.DRAFT, approved: pb.DefinitionState.APPROVED, retired: pb.DefinitionState.RETIRED };

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
export abstract class DefinitionCalls extends AgentCalls {
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
   * Have pages compiled by a version from the next compile on; the one before is retired.
   *
   * @throws DefinitionNotFound There is no such version.
   * @throws PermissionDenied The key lacks the scope admin, or is bound.
   */
  async approveDefinition(name: string, version: number, options: WriteOptions = {}): Promise<Definition> {
    const request = { name, version, requestId: requestId(options) };
    return definitionOf((await this.call(method.approveDefinition, request, options)).definition!);
  }

  /**
   * End a version; of the one that is approved, no page is found any more.
   *
   * @param options `version`: else the one that is approved.
   * @throws DefinitionNotFound There is no such version, or none is approved.
   * @throws PermissionDenied The key lacks the scope admin, or is bound.
   */
  async retireDefinition(name: string, options: { version?: number } & WriteOptions = {}): Promise<Definition> {
    const request = { name, version: options.version, requestId: requestId(options) };
    return definitionOf((await this.call(method.retireDefinition, request, options)).definition!);
  }

  /**
   * Return a version.
   *
   * @param options `version`: else the one that is approved, else the newest.
   * @throws DefinitionNotFound There is none that you may see.
   */
  async getDefinition(name: string, options: { version?: number } & CallOptions = {}): Promise<Definition> {
    return definitionOf((await this.call(method.getDefinition, { name, version: options.version }, options)).definition!);
  }

  /** The versions of definitions by name, the newest of each first: all, or those in some states. */
  listDefinitions(options: { states?: (keyof typeof STATES)[]; pageSize?: number } & CallOptions = {}): Rows<Definition> {
    const states = (options.states ?? []).map((state) => choice("states", state, STATES));
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listDefinitions, { states, pageSize: options.pageSize, pageToken }, options);
        return [page.definitions.map(definitionOf), page.nextPageToken];
      }),
    );
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
   * Return a page with the facets that you may see.
   *
   * @throws CompiledPageNotFound There is none that you may see.
   */
  async getCompiledPage(pageId: string, options: CallOptions = {}): Promise<CompiledPage> {
    return compiledPageOf((await this.call(method.getCompiledPage, { pageId }, options)).page!);
  }

  /** Pages that you may see, without their facets, by the name of their definition. */
  listCompiledPages(
    options: { definitionName?: string; nodeId?: NodeName; pageSize?: number } & CallOptions = {},
  ): Rows<CompiledPage> {
    const { definitionName, nodeId, pageSize } = options;
    const asked = { definitionName, pageSize, ...(nodeId !== undefined && nameFields("nodeId", nodeId)) };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.call(method.listCompiledPages, { ...asked, pageToken }, options);
        return [page.pages.map(compiledPageOf), page.nextPageToken];
      }),
    );
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
