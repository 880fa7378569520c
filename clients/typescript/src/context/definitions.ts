/** Definitions of pages, and the pages that are compiled by them. */

import { type Definition, type TriedDefinition, definitionOf, triedDefinitionOf } from "../_gen/definitions.js";
import { GeneratedDefinitions } from "../_gen/nouns/definitions.js";
import type { CallOptions } from "../client.js";
import { type DefinitionRules, definitionRules } from "../definitions.js";
import { Knowledge } from "../gen/contextkeep/context/v1/knowledge_pb.js";
import { type NodeName, nameFields } from "../names.js";
import { type WriteOptions, requestId } from "../writes.js";

const method = Knowledge.method;

/** An RPC is one method. What a key may not see is as what is not there. */
export class Definitions extends GeneratedDefinitions {
  /**
   * Write the next version of a definition, a draft. The rules of the newest one again write none.
   *
   * @throws InvalidArgument A rule does not compile: `rule`, `line` and `column` in the metadata.
   * @throws PermissionDenied The key is bound.
   */
  async put(name: string, rules: DefinitionRules, options: WriteOptions = {}): Promise<Definition> {
    const request = { name, rules: definitionRules(rules), requestId: requestId(options) };
    return definitionOf((await this.client.call(method.putDefinition, request, options)).definition!);
  }

  /**
   * Return the page that rules make of a node. Nothing is kept.
   *
   * @throws InvalidArgument A rule does not compile.
   * @throws NodeNotFound There is no such node.
   */
  async test(rules: DefinitionRules, node: NodeName, options: CallOptions = {}): Promise<TriedDefinition> {
    const request = { rules: definitionRules(rules), ...nameFields("nodeId", node) };
    return triedDefinitionOf(await this.client.call(method.testDefinition, request, options));
  }
}
