/** Mappings: registered, read, tried out. */

import { type Mapping, type NodeTrial, mappingOf, nodeTrialOf } from "../_gen/chat-history.js";
import { GeneratedMappings } from "../_gen/nouns/mappings.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/context/v1/chat_history_pb.js";
import * as history from "../history.js";
import { whole } from "../messages.js";
import { type NodeName, nameFields } from "../names.js";
import { Rows, pages } from "../rows.js";

const chat = pb.ChatHistory.method;

/** An RPC is one method. */
export class Mappings extends GeneratedMappings {
  /**
   * Register rules under a name and return the mapping that the name has now. The same rules again are free.
   *
   * @throws InvalidArgument A rule does not compile: `rule`, `line` and `column` in the metadata.
   * @throws MappingExists Other rules have the name, or it is built in.
   */
  async register(mapping: history.MappingInput & CallOptions): Promise<Mapping> {
    const request = {
      appId: mapping.appId ?? this.client.appId,
      mappingName: mapping.mappingName,
      rules: history.mappingRules(mapping.rules),
      rulesVersion: whole("rules_version", mapping.rulesVersion),
      replace: mapping.replace,
    };
    return mappingOf((await this.client.call(chat.registerMapping, request, mapping)).mapping!);
  }

  /** Return the mapping that `history.get` would use. */
  async get(mappingName: string, options: { appId?: string } & CallOptions = {}): Promise<Mapping> {
    const request = { mappingName, appId: options.appId ?? this.client.appId };
    return mappingOf((await this.client.call(chat.getMapping, request, options)).mapping!);
  }

  /** Remove a mapping from the app that it was registered in, and return it as it was. */
  async delete(mappingName: string, options: { appId?: string } & CallOptions = {}): Promise<Mapping> {
    const request = { mappingName, appId: options.appId ?? this.client.appId };
    return mappingOf((await this.client.call(chat.deleteMapping, request, options)).mapping!);
  }

  /** Try rules out that are not registered: on what they reach from a node, or on nodes that need not exist. */
  test(
    rules: history.MappingRules,
    options: {
      nodeId?: NodeName;
      nodes?: history.SampleNode[];
      root?: history.SampleNode;
      pageSize?: number;
    } & CallOptions,
  ): Rows<NodeTrial> {
    const { nodeId, pageSize } = options;
    const asked = {
      rules: history.mappingRules(rules),
      ...(nodeId !== undefined && nameFields("nodeId", nodeId)),
      nodes: options.nodes?.map((node, index) => history.sampleNode(node, `nodes[${index}]`)),
      root: options.root && history.sampleNode(options.root, "root"),
      pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(chat.testMapping, { ...asked, pageToken }, options);
        return [page.nodes.map(nodeTrialOf), page.nextPageToken];
      }),
    );
  }
}
