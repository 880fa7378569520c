// Made from contextkeep/context/v1/definitions.proto by `make proto`.

import * as pb from "../gen/contextkeep/context/v1/definitions_pb.js";
import { type DefinitionRules, rulesOf } from "../definitions.js";
import { enumText } from "../messages.js";
import { timeText } from "../times.js";
import { type CompiledPage, type RuleProblem, compiledPageOf, ruleProblemOf } from "./compiled-pages.js";
import { type Imported, importedOf } from "./message.js";
import { create } from "@bufbuild/protobuf";

/** A version of a definition. */
export interface Definition {
  name: string;
  /** From 1. */
  version: number;
  state: "draft" | "approved" | "retired" | "unknown";
  rules: DefinitionRules;
  createdBy: string;
  createdAt: string;
  /** The subject of the credential that last approved it. Empty: it was never approved. */
  approvedBy: string;
  approvedAt: string;
  /** Absent unless the version is retired. */
  retiredAt: string;
  /** Where an import took it from. Unset: no import wrote it. */
  imported?: Imported;
}

export function definitionOf(message: pb.Definition): Definition {
  const value: Definition = {
    name: message.name,
    version: message.version,
    state: enumText(pb.DefinitionState, message.state),
    rules: rulesOf(message.rules ?? create(pb.DefinitionRulesSchema)),
    createdBy: message.createdBy,
    createdAt: timeText(message.createdAt),
    approvedBy: message.approvedBy,
    approvedAt: timeText(message.approvedAt),
    retiredAt: timeText(message.retiredAt),
  };
  if (message.imported !== undefined) value.imported = importedOf(message.imported);
  return value;
}

/** The page that the rules make of a node. */
export interface TriedDefinition {
  /**
   * Absent: the node has no page by these rules, because of its type, its graph, `when` or its title, or because it is
   * archived.
   */
  page?: CompiledPage;
  /** The first 20 problems. */
  problems: RuleProblem[];
  /** Number of further problems. */
  problemsLeftOut: number;
}

export function triedDefinitionOf(message: pb.TestDefinitionResponse): TriedDefinition {
  const value: TriedDefinition = {
    problems: message.problems.map(ruleProblemOf),
    problemsLeftOut: message.problemsLeftOut,
  };
  if (message.page !== undefined) value.page = compiledPageOf(message.page);
  return value;
}
