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
   * Registers rules under a name. They are compiled and checked now: an error names the field, the line and the column.
   *
   * The same rules again are OK and free, so an app registers at every start. Different rules need `replace` or a higher
   * `rulesVersion`; a lower one is OK and changes nothing, so that a rolling deployment never flips a mapping back. Every
   * replica sees the change within a second.
   *
   * Of the calls of one key, one compiles at a time. All expressions of a mapping have 10,000 symbols at most: names, values,
   * operators and brackets.
   *
   * Throws InvalidArgument (metadata `rule`, `line`, `column`), LimitExceeded (of expressions with these, too; `limit` is
   * "symbols" where there are too many), MappingExists (other rules have the name, or it is built in).
   *
   * @param mappingName Required.
   * @param rules docs/mappings.md explains them by example.
   * @param options.appId Empty: the key's app if it has exactly one, else the tenant's shared scope.
   * @param options.rulesVersion A number that grows with the rules. 0: none.
   * @param options.replace Replace other rules of that name.
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

  /** Reads the mapping that history.get would use. Throws MappingNotFound. */
  async get(mappingName: string, options: { appId?: string } & CallOptions = {}): Promise<Mapping> {
    const request = {
      appId: options.appId ?? this.client.appId,
      mappingName,
    };
    const answer = await this.client.call(chatHistoryPb.ChatHistory.method.getMapping, request, options);
    return mappingOf(answer.mapping!);
  }

  /**
   * Lists the mappings that the caller sees, by app and name. Those of the service's files and the built-in ones come last. Reasons:
   * InvalidPageToken.
   *
   * @param options.appId Empty: every app that the caller sees, and the shared scope.
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
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
   * Tries rules that are not registered, on the nodes below a node or on nodes of the request. Nodes of the request need not exist.
   * Answers for each node what it gives and which rule decided, with the value, the error and the time of every expression that ran.
   *
   * Nothing is stored. What is below a node comes in the order of `createdAt`, whatever the rules' order is: where they have another,
   * its value is among the evaluations.
   *
   * The rules are compiled as by mappings.register, within its limits; a call that is cancelled stops it.
   *
   * Throws InvalidArgument (the rules: metadata `rule`, `line`, `column`; a node), LimitExceeded, NodeNotFound, InvalidPageToken,
   * CostExceeded, NodeBudgetExceeded, AnswerTooLarge (what one node gives).
   *
   * @param rules Required. They need not be registered.
   * @param options.nodeId Try them on what the rules reach from this node; or on `nodes`.
   * @param options.nodes Up to 1,000, taken as reached by the walk: of its rules only `entityTypes` is looked at.
   * @param options.root What rules see as `root`, beside `nodes`. Of a `nodeId` it is that node.
   * @param options.pageSize Nodes. 0: 100. More than 1,000 counts as 1,000.
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
   * Removes a mapping from the one scope that it is registered in, and answers it as it was. Every replica forgets it within
   * a second; from then on its name means what it would have meant without it. An app that registers it at its start brings
   * it back.
   *
   * Throws MappingNotFound (metadata `apps`: visible apps that have the name; also when an attempt whose answer was lost
   * has removed it), MappingBuiltIn, PermissionDenied (the key is bound to other apps).
   *
   * @param mappingName Required.
   * @param options.appId Empty: the key's app if it has exactly one, else the tenant's shared scope. No other scope is looked in.
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
