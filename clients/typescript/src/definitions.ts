/** Definitions of pages, and the pages that are compiled by them. */

import { type JsonValue, fromJson, toJson as messageToJson } from "@bufbuild/protobuf";

import * as pagesPb from "./gen/contextkeep/context/v1/compiled_pages_pb.js";
import * as pb from "./gen/contextkeep/context/v1/definitions_pb.js";
import { InvalidArgument } from "./gen/errors.js";
import { choice, enumText } from "./messages.js";

/** What a facet is, and so how far it is trusted. */
export type FacetKind = "operational" | "relationship" | "compiled" | "activity" | "kb" | "external";

export const FACET_KINDS: Readonly<Record<FacetKind, pagesPb.FacetKind>> = {
  operational: pagesPb.FacetKind.OPERATIONAL,
  relationship: pagesPb.FacetKind.RELATIONSHIP,
  compiled: pagesPb.FacetKind.COMPILED,
  activity: pagesPb.FacetKind.ACTIVITY,
  kb: pagesPb.FacetKind.KB,
  external: pagesPb.FacetKind.EXTERNAL,
};

/** Which nodes a facet reads. */
export interface FacetWalk {
  edgeTypes?: string[];
  direction?: "out" | "in" | "both";
  depthMax?: number;
  entityTypes?: string[];
  includeStart?: boolean;
  includeArchived?: boolean;
}

/** A part of a page, as its author writes it: `when` and the other expressions are CEL. */
export interface FacetRules {
  slug: string;
  heading: string;
  kind: FacetKind;
  /** Else the page's own node. */
  walk?: FacetWalk;
  declassify?: boolean;
  when?: string;
  text: string;
  confidence?: string;
  asOf?: string;
  timeToLive?: string;
}

/** What a definition says of the nodes of a type; docs/knowledge.md has it by example. */
export interface DefinitionRules {
  nodeType: string;
  /** Else "default". */
  graphName?: string;
  appId?: string;
  when?: string;
  title: string;
  aliases?: string;
  facets: FacetRules[];
}

/**
 * Return the message of a definition's rules.
 *
 * @throws InvalidArgument It has no such field, or a value of another type.
 */
export function definitionRules(rules: DefinitionRules, path: string): pb.DefinitionRules {
  const facets = (rules.facets ?? []).map((facet, place) => ({
    ...facet,
    kind: choice(`${path}.facets[${place}].kind`, facet.kind, FACET_KINDS),
  }));
  try {
    return fromJson(pb.DefinitionRulesSchema, { ...rules, facets } as unknown as JsonValue);
  } catch (error) {
    throw new InvalidArgument(`${path} cannot be read: ${(error as Error).message}`, { field: path, cause: error });
  }
}

/** Return the rules of a message. */
export function rulesOf(message: pb.DefinitionRules): DefinitionRules {
  const rules = messageToJson(pb.DefinitionRulesSchema, message) as unknown as DefinitionRules;
  const kinds = message.facets.map((facet) => enumText(pagesPb.FacetKind, facet.kind) as FacetKind);
  return { ...rules, facets: (rules.facets ?? []).map((facet, place) => ({ ...facet, kind: kinds[place]! })) };
}
