/** Nodes: written, read, changed, archived, deleted. */

import { type Node, type OwnedNodes, nodeOf, ownedNodesOf } from "../_gen/entity-graph.js";
import type { CallOptions } from "../client.js";
import * as pb from "../gen/contextkeep/entity/v1/entity_graph_pb.js";
import { parseJson, toJson, toObject } from "../json.js";
import type { NodeName } from "../names.js";
import { timeText, toTimestamp } from "../times.js";
import { type VersionOptions, type WriteOptions, expectedVersion, requestId } from "../writes.js";
import { NamedNodes } from "./names.js";

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

/** What went into a node and what came out of it; undefined: never set. */
export interface NodeIO {
  input: unknown;
  output: unknown;
}

/** An RPC is one method. */
export abstract class NodeCalls extends NamedNodes {
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

  /** @throws NodeNotFound There is none, or it is another tenant's. */
  async getNode(node: NodeName, options: CallOptions = {}): Promise<Node> {
    return nodeOf((await this.call(graph.getNode, { nodeId: await this.nodeId(node, options) }, options)).node!);
  }

  /** Return up to 1,000 nodes, in the order asked for, and the ids that have none. */
  async batchGetNodes(
    nodeIds: string[],
    options: CallOptions = {},
  ): Promise<{ nodes: Node[]; missingIds: string[] }> {
    const batch = await this.call(graph.batchGetNodes, { nodeIds }, options);
    return { nodes: batch.nodes.map(nodeOf), missingIds: batch.missingIds };
  }

  /** @throws NodeNotFound No node of the graph has this external id. */
  async getNodeByExternalId(externalId: string, options: { graphName?: string } & CallOptions = {}): Promise<Node> {
    const request = { externalId, graphName: options.graphName };
    return nodeOf((await this.call(graph.getNodeByExternalId, request, options)).node!);
  }

  /** Return the newest node of that name that is not archived, and how many share the name. */
  async getNodeByName(
    name: string,
    options: { graphName?: string } & CallOptions = {},
  ): Promise<{ node: Node; matches: number }> {
    const found = await this.call(graph.getNodeByName, { name, graphName: options.graphName }, options);
    return { node: nodeOf(found.node!), matches: Number(found.matches) };
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
   * Change a node's status, which its timeline tells, and return the node. One that has the status already is returned unchanged.
   *
   * @throws StatusConflict The status is not `expectedStatus`: `status` in the metadata.
   */
  async updateNodeStatus(
    node: NodeName,
    status: string,
    options: { expectedStatus?: string; message?: string } & VersionOptions = {},
  ): Promise<Node> {
    const { expectedStatus, message } = options;
    const nodeId = await this.nodeId(node, options);
    const request = { nodeId, status, expectedStatus, message, expectedVersion: expectedVersion(options) };
    return nodeOf((await this.call(graph.updateNodeStatus, request, options)).node!);
  }

  /** Archive a node, or bring it back with `restore`. */
  async archiveNode(node: NodeName, options: { restore?: boolean } & VersionOptions = {}): Promise<Node> {
    const nodeId = await this.nodeId(node, options);
    const request = { nodeId, restore: options.restore, expectedVersion: expectedVersion(options) };
    return nodeOf((await this.call(graph.archiveNode, request, options)).node!);
  }

  /** Put a node back to before its run: its status is "Created", its output is gone, its timeline is empty. */
  async resetNode(node: NodeName, options: VersionOptions = {}): Promise<Node> {
    const nodeId = await this.nodeId(node, options);
    const request = { nodeId, expectedVersion: expectedVersion(options) };
    return nodeOf((await this.call(graph.resetNode, request, options)).node!);
  }

  /**
   * Delete a node for good, with all that hangs on it but its working memory, and return how many edges went with it. Needs the
   * scope `admin`. A repeat finds nothing: `NodeNotFound`, also when the first attempt of this call did it and its answer was lost.
   */
  async deleteNode(node: NodeName, options: VersionOptions = {}): Promise<number> {
    const nodeId = await this.nodeId(node, options);
    const request = { nodeId, expectedVersion: expectedVersion(options) };
    return Number((await this.call(graph.deleteNode, request, options)).edgesDeleted);
  }

  /**
   * Begin to erase what of the graph a user owns, and return how far it is. `ContextClient.erase` calls it: use that one. Needs the
   * scope `admin`, of a key without bounds.
   *
   * @param erasureId A UUID of yours: with the same it is the same erasure.
   */
  async eraseOwned(erasureId: string, subject: string, options: CallOptions = {}): Promise<OwnedNodes> {
    return ownedNodesOf((await this.call(graph.eraseOwned, { erasureId, subject }, options)).removed!);
  }

  /**
   * What of the graph a user owns, or what an erasure has removed of it: name one of them.
   *
   * @throws ErasureNotFound There is none.
   */
  async getOwned(of: { subject?: string; erasureId?: string } & CallOptions): Promise<OwnedNodes> {
    const { subject, erasureId } = of;
    return ownedNodesOf((await this.call(graph.getOwned, { subject, erasureId }, of)).owned!);
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
    return ioOf(await this.call(graph.getNodeIO, { nodeId: await this.nodeId(node, options) }, options));
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

export function ioOf(io: { inputJson: string; outputJson: string }): NodeIO {
  return {
    input: io.inputJson ? parseJson(io.inputJson) : undefined,
    output: io.outputJson ? parseJson(io.outputJson) : undefined,
  };
}
