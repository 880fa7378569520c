// Made from the protos by `make proto`.

import * as definitionsPb from "../../gen/contextkeep/context/v1/definitions_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { type DefinitionRules, definitionRules } from "../../definitions.js";
import { enumInput } from "../../messages.js";
import { type NodeName, nameFields } from "../../names.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type WriteOptions, requestId } from "../../writes.js";
import { type Definition, type TriedDefinition, definitionOf, triedDefinitionOf } from "../definitions.js";

/** The calls of `definitions` that are one method each. */
export class Definitions extends Noun<AppClient> {
  /**
   * Write the next version of a definition as a draft. A draft changes no page until it is approved. If the rules
   * equal those of the newest version, the call writes no new version, unless that version is retired. The service
   * keeps the newest 50 versions and the approved one.
   *
   * The service compiles the rules as it compiles those of a mapping, within the same limits. Definitions belong to the
   * tenant: a bound key cannot write them; it sees those without an app and those of its apps.
   *
   * Throws InvalidArgument (the violation names the field; for an expression, the metadata have `rule`, `line` and
   * `column`), LimitExceeded (limit `definitions`: 200 per tenant), PermissionDenied (the key is bound),
   * RequestIdReused.
   *
   * @param name 1 to 128 characters.
   * @param rules The rules. docs/knowledge.md explains them by example.
   */
  async put(name: string, rules: DefinitionRules, options: WriteOptions = {}): Promise<Definition> {
    const request = {
      name,
      rules: definitionRules(rules, "rules"),
      requestId: requestId(options),
    };
    const answer = await this.client.call(definitionsPb.Definitions.method.putDefinition, request, options);
    return definitionOf(answer.definition!);
  }

  /**
   * Approve a version of a definition: from the next compile on, pages use it. The version that was approved before is
   * retired. Its pages stay, and are marked as out of date, until they are compiled again. Needs the scope `admin`, in
   * the Entity Service too: the first approval starts the change log of the tenant's graphs there (changes.start).
   *
   * Throws DefinitionNotFound, InvalidArgument, PermissionDenied (the scope is missing; the key is bound),
   * RequestIdReused, Unavailable.
   *
   * @param name The definition.
   * @param version The version to approve. Required.
   */
  async approve(name: string, version: number, options: WriteOptions = {}): Promise<Definition> {
    const request = {
      name,
      version,
      requestId: requestId(options),
    };
    const answer = await this.client.call(definitionsPb.Definitions.method.approveDefinition, request, options);
    return definitionOf(answer.definition!);
  }

  /**
   * Retire a version of a definition. If the version was approved, no search finds the pages of the definition any
   * more. Needs the scope `admin`.
   *
   * Throws DefinitionNotFound (there is no such version, or the call names no version and none is approved),
   * PermissionDenied, RequestIdReused.
   *
   * @param name The definition.
   * @param options.version The version to retire. 0: the approved one.
   */
  async retire(name: string, options: { version?: number } & WriteOptions = {}): Promise<Definition> {
    const request = {
      name,
      version: options.version,
      requestId: requestId(options),
    };
    const answer = await this.client.call(definitionsPb.Definitions.method.retireDefinition, request, options);
    return definitionOf(answer.definition!);
  }

  /**
   * Read a version of a definition. Throws DefinitionNotFound.
   *
   * @param name The definition.
   * @param options.version The version to read. 0: the approved one, else the newest.
   */
  async get(name: string, options: { version?: number } & CallOptions = {}): Promise<Definition> {
    const request = {
      name,
      version: options.version,
    };
    const answer = await this.client.call(definitionsPb.Definitions.method.getDefinition, request, options);
    return definitionOf(answer.definition!);
  }

  /**
   * List the versions of definitions. Throws InvalidArgument, InvalidPageToken.
   *
   * @param options.states Only versions in one of these states. Empty: all.
   */
  list(options: { states?: ("draft" | "approved" | "retired")[]; pageSize?: number } & CallOptions = {}): Rows<Definition> {
    const request = {
      states: options.states?.map((item, place) => enumInput(`states[${place}]`, item, definitionsPb.DefinitionState)),
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(definitionsPb.Definitions.method.listDefinitions, { ...request, pageToken }, options);
        return [page.definitions.map(definitionOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Compile and answer the page of one node by rules that need not be stored. It sees the graph as the caller does.
   * It stores nothing.
   *
   * Throws InvalidArgument (the violation names the field; for an expression, the metadata have `rule`, `line` and
   * `column`), LimitExceeded, NodeNotFound, AnswerTooLarge, Unavailable.
   *
   * @param rules The rules, as in definitions.put.
   * @param nodeId The node whose page to compile.
   */
  async test(rules: DefinitionRules, nodeId: NodeName, options: CallOptions = {}): Promise<TriedDefinition> {
    const request = {
      rules: definitionRules(rules, "rules"),
      ...nameFields("nodeId", nodeId),
    };
    const answer = await this.client.call(definitionsPb.Definitions.method.testDefinition, request, options);
    return triedDefinitionOf(answer);
  }
}
