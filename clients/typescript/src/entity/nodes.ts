/** Nodes: written, read, changed, archived, deleted. */

import { create } from "@bufbuild/protobuf";

import { GeneratedEntityCalls } from "../_gen/entity-calls.js";
import { type Node, type NodeIO, nodeIOOf, nodeOf } from "../_gen/entity-graph.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { toJson, toObject } from "../json.js";
import type { NodeName } from "../names.js";
import { timeText, toTimestamp } from "../times.js";
import { type VersionOptions, type WriteOptions, expectedVersion, requestId } from "../writes.js";

const graph = pb.EntityGraph.method;

/** What a caller says of a new node. */
export interface NodeInput {
  /** What it is, e.g. "Session" or "Turn". */
  generalTypeName: string;
  /** Else the general type name. */
  specificTypeName?: string;
  /** A UUID, such as `newId()`, so that edges can name it; else the server makes one. */
  id?: string;
  /** Your own id of it, unique in the graph; up to 512 bytes. */
  externalId?: string;
  /** Else "default". */
  graphName?: string;
  agentBundleId?: string;
  name?: string;
  /** Else "Created". */
  status?: string;
  /** Its JSON object, up to 1 MiB. */
  data?: object;
  /** For imports and replays; else the server's time. */
  createdAt?: Date | string;
}

/** An RPC is one method. */
export abstract class NodeCalls extends GeneratedEntityCalls {
  /**
   * Write one node and return it.
   *
   * @throws ExternalIdTaken Another node has the external id: `node_id` in the metadata. With `getExisting` that node is
   *   returned instead, unchanged.
   * @throws NodeExists The id is taken.
   */
  async createNode(node: NodeInput & { getExisting?: boolean } & WriteOptions): Promise<Node> {
    const request = { node: nodeInput(node, "node"), getExisting: node.getExisting, requestId: requestId(node) };
    return nodeOf((await this.call(graph.createNode, request, node)).node!);
  }

  /**
   * Change a node's data by a JSON merge patch (RFC 7396), or replace them, and return the node.
   *
   * @throws VersionConflict `expectedVersion` is stale: `version` in the metadata.
   */
  async updateNodeData(
    node: NodeName,
    data: object,
    options: { replace?: boolean } & WriteOptions & VersionOptions = {},
  ): Promise<Node> {
    const request = {
      nodeId: await this.nodeId(node, options),
      dataJson: toObject(data, "data_json"),
      update: options.replace ? pb.DataUpdate.REPLACE : pb.DataUpdate.MERGE_PATCH,
      expectedVersion: expectedVersion(options),
      requestId: requestId(options),
    };
    return nodeOf((await this.call(graph.updateNodeData, request, options)).node!);
  }

  /**
   * Set what went into a node, what came out of it, or both: any JSON. A side that is not given stays as it is.
   *
   * @returns The time.
   */
  async setNodeIO(node: NodeName, io: { input?: unknown; output?: unknown } & CallOptions): Promise<string> {
    const request = {
      nodeId: await this.nodeId(node, io),
      inputJson: io.input === undefined ? undefined : toJson(io.input, "input_json"),
      outputJson: io.output === undefined ? undefined : toJson(io.output, "output_json"),
    };
    return timeText((await this.call(graph.setNodeIO, request, io)).modifiedAt);
  }

  async getNodeIO(node: NodeName, options: CallOptions = {}): Promise<NodeIO> {
    const { inputJson, outputJson } = await this.call(graph.getNodeIO, { nodeId: await this.nodeId(node, options) }, options);
    return nodeIOOf(create(pb.NodeIOSchema, { inputJson, outputJson }));
  }
}

export function nodeInput(node: NodeInput, field: string) {
  return {
    id: node.id,
    externalId: node.externalId,
    graphName: node.graphName,
    agentBundleId: node.agentBundleId,
    generalTypeName: node.generalTypeName,
    specificTypeName: node.specificTypeName,
    name: node.name,
    status: node.status,
    dataJson: toObject(node.data, `${field}.data_json`),
    createdAt: toTimestamp(node.createdAt, `${field}.created_at`),
  };
}
