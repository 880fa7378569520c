// Made from the protos by `make proto`.

import * as entityGraphPb from "../../gen/contextkeep/entity/v1/entity_graph_pb.js";
import type { CallOptions } from "../../client.js";
import { NodeNoun } from "../../entity/names.js";
import { toJson, toObject } from "../../json.js";
import { enumInput, whole } from "../../messages.js";
import type { NodeName } from "../../names.js";
import { Rows, pages } from "../../rows.js";
import { timeText, toTimestamp } from "../../times.js";
import { type WriteOptions, dataUpdate, requestId } from "../../writes.js";
import {
  type Edge,
  type EdgeTypeCount,
  type FoundEdges,
  type FoundNodes,
  type GraphCount,
  type NamedNode,
  type Node,
  type OwnedNodes,
  type StoredIO,
  type WrittenGraph,
  edgeOf,
  edgeTypeCountOf,
  foundEdgesOf,
  foundNodesOf,
  graphCountOf,
  namedNodeOf,
  nodeOf,
  ownedNodesOf,
  storedIOOf,
  writtenGraphOf,
} from "../entity-graph.js";
import { type EdgeInput, type NodeInput, edgeInput, nodeInput } from "../inputs.js";

/** Options of `graph.createNode`. */
export interface NewNode {
  /** Empty: the server makes one (UUID version 7). */
  id?: string;
  /** Up to 512 bytes. */
  externalId?: string;
  /** Empty: "default". */
  graphName?: string;
  agentBundleId?: string;
  /** Required. */
  generalTypeName: string;
  /** Empty: the general type name. */
  specificTypeName?: string;
  name?: string;
  /** Empty: "Created". */
  status?: string;
  /** A JSON object. Empty: {}. */
  data?: object;
  /** For imports and replays, to the microsecond. Empty: the server's time. It never changes afterwards. */
  createdAt?: Date | string;
  /** Answer the node that has this external id already instead of failing. */
  getExisting?: boolean;
}

/** Options of `graph.write`. */
export interface NewRows {
  nodes?: NodeInput[];
  edges?: EdgeInput[];
  onExisting?: "fail" | "skip";
}

/** Options of `graph.listEdges`. */
export interface GraphListEdgesOptions {
  /** Seen from the node. */
  direction?: "out" | "in" | "both";
  /** Empty: all. */
  edgeTypes?: string[];
  /** 0: 100. More than 1,000 counts as 1,000. */
  pageSize?: number;
  /** The newest first. */
  descending?: boolean;
}

/** The calls of `graph` that are one method each. */
export class GeneratedGraph extends NodeNoun {
  /**
   * Writes one node, and answers it as graph.getNode would.
   *
   * Throws ExternalIdTaken (metadata `nodeId`; with `getExisting` that node is answered instead, unchanged),
   * NodeExists (the id is taken), RequestIdReused, LimitExceeded.
   */
  async createNode(options: NewNode & WriteOptions): Promise<Node> {
    const request = {
      node: {
        id: options.id,
        externalId: options.externalId,
        graphName: options.graphName,
        agentBundleId: options.agentBundleId,
        generalTypeName: options.generalTypeName,
        specificTypeName: options.specificTypeName,
        name: options.name,
        status: options.status,
        dataJson: toObject(options.data, "node.data_json"),
        createdAt: toTimestamp(options.createdAt, "node.created_at"),
      },
      getExisting: options.getExisting,
      requestId: requestId(options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.createNode, request, options);
    return nodeOf(answer.node!);
  }

  /**
   * Writes nodes and edges in one transaction: all of them or none. At most 2,000 rows and 4 MiB a call.
   *
   * Edges may join nodes of the same call. Times that are not given are the server's, one microsecond apart in the
   * order of the request: first the nodes, then the edges; `seq` follows the same order. So a conversation written in
   * one call reads back in that order.
   *
   * With `ON_EXISTING_SKIP`, rows that exist are left as they are and answered as `existed`: a node that has the id, else
   * one that has the external id; an edge that has the id, else one of the same type between the same ends. An edge that
   * names a node of the call by its id joins the node that exists in its place, under whatever id.
   *
   * Throws those of graph.createNode and graph.createEdge.
   */
  async write(options: NewRows & WriteOptions = {}): Promise<WrittenGraph> {
    const request = {
      nodes: options.nodes?.map((item, place) => nodeInput(item, `nodes[${place}]`)),
      edges: options.edges?.map((item, place) => edgeInput(item, `edges[${place}]`)),
      onExisting: enumInput("on_existing", options.onExisting, entityGraphPb.OnExisting),
      requestId: requestId(options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.writeGraph, request, options);
    return writtenGraphOf(answer);
  }

  /** Reads one node. Throws NodeNotFound. */
  async getNode(nodeId: NodeName, options: CallOptions = {}): Promise<Node> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.getNode, request, options);
    return nodeOf(answer.node!);
  }

  /**
   * Reads up to 1,000 nodes, in the order asked for; ids without a node are listed in `missingIds`.
   *
   * Throws AnswerTooLarge (over 4 MiB: ask for fewer).
   *
   * @param nodeIds At most 1,000.
   */
  async getNodes(nodeIds: string[], options: CallOptions = {}): Promise<FoundNodes> {
    const request = {
      nodeIds,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.batchGetNodes, request, options);
    return foundNodesOf(answer);
  }

  /**
   * Reads the node with the caller's own id. Throws NodeNotFound.
   *
   * @param options.graphName Where the id is looked up. Empty: "default".
   */
  async getNodeByExternalId(externalId: string, options: { graphName?: string } & CallOptions = {}): Promise<Node> {
    const request = {
      externalId,
      graphName: options.graphName,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.getNodeByExternalId, request, options);
    return nodeOf(answer.node!);
  }

  /**
   * Reads the newest node of that name that is not archived, and says how many share the name.
   *
   * Throws NodeNotFound.
   */
  async getNodeByName(name: string, options: { graphName?: string } & CallOptions = {}): Promise<NamedNode> {
    const request = {
      name,
      graphName: options.graphName,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.getNodeByName, request, options);
    return namedNodeOf(answer);
  }

  /**
   * Changes a node's data: by JSON merge patch (RFC 7396; the default) or by replacement.
   *
   * Throws NodeNotFound, VersionConflict (stale `expectedVersion`), RequestIdReused, LimitExceeded (the
   * result is over 1 MiB).
   */
  async updateNodeData(
    nodeId: NodeName,
    data: object,
    options: { replace?: boolean; expectedVersion?: number } & WriteOptions = {},
  ): Promise<Node> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
      dataJson: toObject(data, "data_json"),
      update: options.replace === undefined ? undefined : dataUpdate(options.replace, "update"),
      expectedVersion: whole("expected_version", options.expectedVersion),
      requestId: requestId(options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.updateNodeData, request, options);
    return nodeOf(answer.node!);
  }

  /**
   * Changes a node's status and appends a STATUS envelope to its timeline, in one transaction.
   *
   * A node that has the wished status already is answered unchanged, whatever was expected: so a repeat is harmless.
   *
   * Throws NodeNotFound, StatusConflict (the status is not `expectedStatus`), VersionConflict.
   *
   * @param status "Created", "Running", "Completed", "Failed", "Cancelled", or a status of the caller's own.
   * @param options.expectedStatus Change the node only if it has this status.
   * @param options.expectedVersion Change the node only if it has this version.
   * @param options.message Goes into the envelope. Up to 64 KiB.
   */
  async updateNodeStatus(
    nodeId: NodeName,
    status: string,
    options: { expectedStatus?: string; expectedVersion?: number; message?: string } & CallOptions = {},
  ): Promise<Node> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
      status,
      expectedStatus: options.expectedStatus,
      expectedVersion: whole("expected_version", options.expectedVersion),
      message: options.message,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.updateNodeStatus, request, options);
    return nodeOf(answer.node!);
  }

  /**
   * Archives a node, or brings it back with `restore`. Archived nodes stay readable by id. Throws NodeNotFound.
   *
   * @param options.restore Bring the node back.
   * @param options.expectedVersion Change the node only if it has this version.
   */
  async archiveNode(
    nodeId: NodeName,
    options: { restore?: boolean; expectedVersion?: number } & CallOptions = {},
  ): Promise<Node> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
      restore: options.restore,
      expectedVersion: whole("expected_version", options.expectedVersion),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.archiveNode, request, options);
    return nodeOf(answer.node!);
  }

  /**
   * Resets a node so that it can run again: its status is "Created", and its output and timeline are gone. Data, input, edges and
   * embeddings stay. A node that is so already is answered unchanged.
   *
   * Throws NodeNotFound, VersionConflict.
   *
   * @param options.expectedVersion Reset the node only if it has this version.
   */
  async resetNode(nodeId: NodeName, options: { expectedVersion?: number } & CallOptions = {}): Promise<Node> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
      expectedVersion: whole("expected_version", options.expectedVersion),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.resetNode, request, options);
    return nodeOf(answer.node!);
  }

  /**
   * Deletes a node for good, with its edges, input, output, timeline and embeddings. The nodes at the other ends stay. Working memory of
   * the node stays, too: records belong to the Context Service. To hide a node instead, use graph.archiveNode. Needs the scope `admin`.
   *
   * Throws NodeNotFound (a repeat, too: nothing is left), VersionConflict, PermissionDenied.
   *
   * @param options.expectedVersion Delete the node only if it has this version.
   */
  async deleteNode(nodeId: NodeName, options: { expectedVersion?: number } & CallOptions = {}): Promise<number> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
      expectedVersion: whole("expected_version", options.expectedVersion),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.deleteNode, request, options);
    return Number(answer.edgesDeleted);
  }

  /**
   * Begins to erase the nodes that a user owns, and answers how far it is. It erases every node whose `ownerUserId` it is, with all
   * that graph.deleteNode takes with each, the answers of repeated calls for that user, and the user's keys. A pseudonym takes the user's place
   * where other users' nodes and envelopes say who wrote them. Answers at once, and goes on by itself in steps, whichever process is
   * killed. Again with the same id is harmless, and answers how far it is. Of what is gone, changes.list then says no types any more. The
   * Context Service calls it for its Erase, which is the one to call. Needs the scope `admin`, of a key without bounds.
   *
   * Throws InvalidArgument, PermissionDenied.
   *
   * @param erasureId A UUID of the caller's making: it is this erasure's.
   * @param subject The id of the user: up to 512 characters.
   */
  async eraseOwned(erasureId: string, subject: string, options: CallOptions = {}): Promise<OwnedNodes> {
    const request = {
      erasureId,
      subject,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.eraseOwned, request, options);
    return ownedNodesOf(answer.removed!);
  }

  /**
   * Reads how far an erasure is; or, of a user, what there is to erase, which counts all nodes once. Needs the scope `admin`, as graph.eraseOwned.
   *
   * Throws ErasureNotFound, InvalidArgument, PermissionDenied.
   *
   * @param options.erasureId One of these two.
   * @param options.subject The id of the user.
   */
  async getOwned(options: { erasureId?: string; subject?: string } & CallOptions = {}): Promise<OwnedNodes> {
    const request = {
      erasureId: options.erasureId,
      subject: options.subject,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.getOwned, request, options);
    return ownedNodesOf(answer.owned!);
  }

  /**
   * Sets what went into a node, what came out of it, or both: any JSON, up to 1 MiB a side. A side that is given
   * replaces the one before; one that is absent stays as it is. The node's data, version and times stay too.
   *
   * Throws NodeNotFound, InvalidArgument (neither side is given, too), LimitExceeded.
   *
   * @param options.input JSON text; "null" is a value, absent leaves the side alone.
   */
  async setNodeIo(
    nodeId: NodeName,
    options: { input?: unknown; output?: unknown } & CallOptions = {},
  ): Promise<string> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
      inputJson: options.input === undefined ? undefined : toJson(options.input, "input_json"),
      outputJson: options.output === undefined ? undefined : toJson(options.output, "output_json"),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.setNodeIO, request, options);
    return timeText(answer.modifiedAt);
  }

  /** Reads what went into a node and what came out of it. Throws NodeNotFound. */
  async getNodeIo(nodeId: NodeName, options: CallOptions = {}): Promise<StoredIO> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.getNodeIO, request, options);
    return storedIOOf(answer);
  }

  /**
   * Lists the graphs that have nodes, by name, with how many nodes (archived ones, too) and edges are in each. It counts,
   * so it costs more the more there is. Throws InvalidPageToken.
   *
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
   */
  listGraphs(options: { pageSize?: number } & CallOptions = {}): Rows<GraphCount> {
    const request = {
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(entityGraphPb.EntityGraph.method.listGraphs, { ...request, pageToken }, options);
        return [page.graphs.map(graphCountOf), page.nextPageToken];
      }),
    );
  }

  /**
   * Lists the edge types of a graph by name, with how many edges there are of each; it costs as graph.listGraphs does. A graph
   * without edges, or that never was, has none. Throws InvalidPageToken.
   *
   * @param options.graphName Empty: "default".
   * @param options.pageSize 0: 100. More than 1,000 counts as 1,000.
   */
  listEdgeTypes(options: { graphName?: string; pageSize?: number } & CallOptions = {}): Rows<EdgeTypeCount> {
    const request = {
      graphName: options.graphName,
      pageSize: options.pageSize,
    };
    return new Rows(() =>
      pages(async (pageToken) => {
        const page = await this.client.call(entityGraphPb.EntityGraph.method.listEdgeTypes, { ...request, pageToken }, options);
        return [page.edgeTypes.map(edgeTypeCountOf), page.nextPageToken];
      }),
    );
  }

  /** Reads one edge. Throws EdgeNotFound. */
  async getEdge(edgeId: string, options: CallOptions = {}): Promise<Edge> {
    const request = {
      edgeId,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.getEdge, request, options);
    return edgeOf(answer.edge!);
  }

  /**
   * Reads up to 1,000 edges, in the order asked for; ids without an edge are listed in `missingIds`.
   *
   * Throws AnswerTooLarge (over 4 MiB: ask for fewer).
   *
   * @param edgeIds At most 1,000.
   */
  async getEdges(edgeIds: string[], options: CallOptions = {}): Promise<FoundEdges> {
    const request = {
      edgeIds,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.batchGetEdges, request, options);
    return foundEdgesOf(answer);
  }

  /**
   * Changes an edge's data: by JSON merge patch (RFC 7396; the default) or by replacement. Ends and type never change:
   * delete the edge and write another.
   *
   * Throws EdgeNotFound, VersionConflict (stale `expectedVersion`), RequestIdReused, LimitExceeded (the
   * result is over 1 MiB).
   */
  async updateEdgeData(
    edgeId: string,
    data: object,
    options: { replace?: boolean; expectedVersion?: number } & WriteOptions = {},
  ): Promise<Edge> {
    const request = {
      edgeId,
      dataJson: toObject(data, "data_json"),
      update: options.replace === undefined ? undefined : dataUpdate(options.replace, "update"),
      expectedVersion: whole("expected_version", options.expectedVersion),
      requestId: requestId(options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.updateEdgeData, request, options);
    return edgeOf(answer.edge!);
  }

  /**
   * Deletes one edge for good and answers it as it was; the nodes at its ends stay.
   *
   * Throws EdgeNotFound (a repeat, too: nothing is left), VersionConflict, InvalidArgument (both names or neither).
   */
  async deleteEdge(edgeId: string, options: { expectedVersion?: number } & CallOptions = {}): Promise<Edge> {
    const request = {
      edgeId,
      expectedVersion: whole("expected_version", options.expectedVersion),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.deleteEdge, request, options);
    return edgeOf(answer.edge!);
  }

  /**
   * Lists the edges of a node, oldest first (`createdAt`, then `id`). A page looks at all edges of the node in that
   * direction: to read many children in order, use Traverse.
   *
   * Throws NodeNotFound, InvalidPageToken.
   */
  listEdges(nodeId: NodeName, options: GraphListEdgesOptions & CallOptions = {}): Rows<Edge> {
    const request = {
      direction: enumInput("direction", options.direction, entityGraphPb.Direction),
      edgeTypes: options.edgeTypes,
      pageSize: options.pageSize,
      descending: options.descending,
    };
    return this.rowsOf(nodeId, options, async (id, pageToken) => {
      const page = await this.client.call(entityGraphPb.EntityGraph.method.listEdges, { ...request, nodeId: id, pageToken }, options);
      return [page.edges.map(edgeOf), page.nextPageToken];
    });
  }
}
