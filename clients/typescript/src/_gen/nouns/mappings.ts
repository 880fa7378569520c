// Made from the protos by `make proto`.

import * as chatHistoryPb from "../../gen/contextkeep/context/v1/chat_history_pb.js";
import type { CallOptions } from "../../client.js";
import type { AppClient } from "../../context/app.js";
import { type MappingRules, mappingRules } from "../../history.js";
import { whole } from "../../messages.js";
import { type NodeName, nameFields } from "../../names.js";
import { Noun } from "../../noun.js";
import { Rows, pages } from "../../rows.js";
import { type Mapping, type NodeTrial, mappingOf, nodeTrialOf } from "../chat-history.js";
import { type SampleNode, sampleNode } from "../inputs.js";

/** The calls of `mappings` that are one method each. */
export class Mappings extends Noun<AppClient> {
  /**
   * Register rules under a name. The rules are compiled and checked at once. An error names the field, the line and
   * the column.
   *
   * Registering the same rules again succeeds and costs nothing, so an app can register at every start. Different rules
   * need `replace` or a higher `rulesVersion`. A lower `rulesVersion` succeeds and changes nothing, so that a rolling
   * deployment never replaces a mapping with an older one. Every replica uses the change within one second.
   *
   * The service compiles one call of a key at a time. The expressions of a mapping may have up to 10,000 symbols
   * together: names, values, operators and brackets.
   *
   * Throws InvalidArgument (metadata `rule`, `line`, `column`), LimitExceeded (of expressions with the same
   * metadata; `limit` is "symbols" if there are too many), MappingExists (other rules have the name, or it is built
   * in).
   *
   * @param mappingName Required.
   * @param rules docs/mappings.md explains the rules by example.
   * @param options.appId The app for which the mapping is registered. Empty means the app of the key if it has exactly one, otherwise the shared scope of the tenant.
   * @param options.rulesVersion A number that the author increases with each change of the rules. 0 means none.
   * @param options.replace Replace other rules with this name.
   */
  async register(
    mappingName: string,
    rules: MappingRules,
    options: { appId?: string; rulesVersion?: number; replace?: boolean } & CallOptions = {},
  ): Promise<Mapping> {
    const request = {
      appId: options.appId ?? this.client.appId,
      mappingName,
      rules: mappingRules(rules, "rules"),
      rulesVersion: whole("rules_version", options.rulesVersion),
      replace: options.replace,
    };
    const answer = await this.client.call(chatHistoryPb.ChatHistory.method.registerMapping, request, options);
    return mappingOf(answer.mapping!);
  }

  /** Read the mapping that history.get would use. Throws MappingNotFound. */
  async get(mappingName: string, options: { appId?: string } & CallOptions = {}): Promise<Mapping> {
    const request = {
      appId: options.appId ?? this.client.appId,
      mappingName,
    };
    const answer = await this.client.call(chatHistoryPb.ChatHistory.method.getMapping, request, options);
    return mappingOf(answer.mapping!);
  }

  /**
   * List the mappings that the caller sees, by app and name. Mappings from files of the service and built-in mappings
   * come last. Throws InvalidPageToken.
   *
   * @param options.appId Empty means all apps that the caller sees, and the shared scope.
   * @param options.pageSize 0 means 100. More than 1,000 counts as 1,000.
   */
  list(options: { appId?: string; pageSize?: number } & CallOptions = {}): Rows<Mapping> {
    const request = {
      appId: options.appId,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(chatHistoryPb.ChatHistory.method.listMappings, { ...request, pageToken }, options);
        return [page.mappings.map(mappingOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Test rules that are not registered, on the nodes below a node or on nodes of the request. Nodes of the request
   * need not exist. For each node, the answer has its messages and the rule that decided, with the value, the error and
   * the time of every expression that ran.
   *
   * Nothing is stored. The nodes below a node are sorted by `createdAt`, even if the rules have another order; the
   * values of that order are among the evaluations.
   *
   * The rules are compiled as in mappings.register, with the same limits. Cancelling the call stops the compilation.
   *
   * Throws InvalidArgument (the rules: metadata `rule`, `line`, `column`; a node), LimitExceeded, NodeNotFound,
   * InvalidPageToken, CostExceeded, NodeBudgetExceeded, AnswerTooLarge (the messages of one node).
   *
   * @param rules Required. The rules need not be registered.
   * @param options.nodeId Test the rules on the nodes that they reach from this node. Set either this or `nodes`.
   * @param options.nodes Up to 1,000 nodes, treated as if the walk reached them. Of the rules of the walk, only `entityTypes` applies.
   * @param options.root The value of `root` in expressions. Only with `nodes`; with a `nodeId`, `root` is that node.
   * @param options.pageSize Number of nodes. 0 means 100. More than 1,000 counts as 1,000.
   */
  test(
    rules: MappingRules,
    options: { nodeId?: NodeName; nodes?: SampleNode[]; root?: SampleNode; pageSize?: number } & CallOptions = {},
  ): Rows<NodeTrial> {
    const request = {
      rules: mappingRules(rules, "rules"),
      ...(options.nodeId !== undefined && nameFields("nodeId", options.nodeId)),
      nodes: options.nodes?.map((item, place) => sampleNode(item, `nodes[${place}]`)),
      root: options.root === undefined ? undefined : sampleNode(options.root, "root"),
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(chatHistoryPb.ChatHistory.method.testMapping, { ...request, pageToken }, options);
        return [page.nodes.map(nodeTrialOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Remove a mapping from the scope in which it is registered, and return it. Every replica forgets it within one
   * second. After that, its name means the mapping of the next scope, if there is one. An app that registers the
   * mapping at its start creates it again.
   *
   * Throws MappingNotFound (metadata `apps`: visible apps that have the name; also if an earlier attempt removed it
   * and its answer was lost), MappingBuiltIn, PermissionDenied (the key is bound to other apps).
   *
   * @param mappingName Required.
   * @param options.appId The scope of the mapping. Empty means the app of the key if it has exactly one, otherwise the shared scope of the tenant. The call looks in no other scope.
   */
  async delete(mappingName: string, options: { appId?: string } & CallOptions = {}): Promise<Mapping> {
    const request = {
      appId: options.appId ?? this.client.appId,
      mappingName,
    };
    const answer = await this.client.call(chatHistoryPb.ChatHistory.method.deleteMapping, request, options);
    return mappingOf(answer.mapping!);
  }
}
