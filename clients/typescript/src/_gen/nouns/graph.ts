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
  type FacetAnswer,
  type FacetList,
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
  facetAnswerOf,
  facetListOf,
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
  /** A UUID. Empty: the server makes one (UUID version 7). */
  id?: string;
  /** The caller's own id, unique within tenant and graph. Up to 512 bytes. */
  externalId?: string;
  /** The graph to write to. Empty: the graph that the key is bound to if it is only one, else "default". */
  graphName?: string;
  /** The agent bundle that the node belongs to. Empty: none. */
  agentBundleId?: string;
  /** The general type, such as "Task". Required. */
  generalTypeName: string;
  /** The specific type. Empty: the general type name. */
  specificTypeName?: string;
  /** A name for people, which need not be unique. */
  name?: string;
  /** The status. Empty: "Created". */
  status?: string;
  /** A JSON object. Empty: {}. */
  data?: object;
  /**
   * When the node was created, to the microsecond; for imports and replays. It never changes later. Empty: the server's
   * time.
   */
  createdAt?: Date | string;
  /** If a node has this external id already, answer it instead of failing. */
  getExisting?: boolean;
}

/** Options of `graph.write`. */
export interface NewRows {
  nodes?: NodeInput[];
  edges?: EdgeInput[];
  /** What to do with rows that exist. Unset: fail. */
  onExisting?: "fail" | "skip";
}

/** Options of `graph.queryFacets`. */
export interface GraphQueryFacetsOptions {
  /** The graph. Empty: "default". */
  graphName?: string;
  /** A condition tree, as in NodeFilter: `{"type": "Invoice", "data.due": {"$lt": "2027-01-01"}}`. Empty: all nodes. */
  condition?: object;
  /** Include archived nodes. */
  includeArchived?: boolean;
  /**
   * Only nodes that have an edge of each of these types: "out:Placed" is an edge that leads from the node, "in:Placed"
   * is one that leads to it.
   */
  withEdges?: string[];
  /** Only nodes that have no edge of any of these types. */
  withoutEdges?: string[];
  /** Group the nodes by a field ("data.country", "status"), or by the node at the other end of an edge ("in:Placed"). */
  groupBy?: string;
  /**
   * What to compute of each group, or of all nodes if `groupBy` is empty: "sum(data.amount)". The functions are count,
   * sum, avg, min and max. `sum` and `avg` use numbers. `min` and `max` use numbers, or texts if no value is a number.
   * `count` counts the nodes that have the field.
   */
  measures?: string[];
  /**
   * Without `groupBy` and `measures`: the field that nodes are sorted by, as in graph.search. With them: one of the
   * measures, "nodes" or "group"; empty sorts the groups with the most nodes first.
   */
  orderBy?: string;
  /** Largest first. Values that are missing come last. */
  descending?: boolean;
  /** Nodes or groups, from 1 to 200. 0: 20. */
  limit?: number;
}

/** Options of `graph.listEdges`. */
export interface GraphListEdgesOptions {
  /** The direction of the edges, seen from the node. Unset: out. */
  direction?: "out" | "in" | "both";
  /** Only edges of these types. Empty: all. */
  edgeTypes?: string[];
  /** Edges per page. 0: 100. Values above 1,000 count as 1,000. */
  pageSize?: number;
  /** Newest first. */
  descending?: boolean;
}

/** The calls of `graph` that are one method each. */
export class GeneratedGraph extends NodeNoun {
  /**
   * Write one node, and answer it as graph.getNode would.
   *
   * Throws ExternalIdTaken (metadata `nodeId`; with `getExisting` the call answers that node instead, unchanged),
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
   * Write nodes and edges in one transaction: all of them or none. A call has at most 2,000 rows and 4 MiB.
   *
   * Edges may join nodes of the same call. Rows without a time get the server's time, one microsecond apart, in the
   * order of the request: first the nodes, then the edges. `seq` follows the same order. So a conversation that one
   * call writes reads back in that order.
   *
   * With `ON_EXISTING_SKIP`, the call leaves existing rows unchanged and answers them as `existed`. A node exists if
   * there is one with its id, or else with its external id. An edge exists if there is one with its id, or else with
   * the same type between the same ends. If an edge names a node of the call that exists under another id, the edge
   * joins the existing node.
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

  /**
   * Read one node. Throws NodeNotFound.
   *
   * @param nodeId The node to read.
   */
  async getNode(nodeId: NodeName, options: CallOptions = {}): Promise<Node> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.getNode, request, options);
    return nodeOf(answer.node!);
  }

  /**
   * Read up to 1,000 nodes, in the order of the request; `missingIds` lists the ids without a node.
   *
   * Throws AnswerTooLarge (over 4 MiB: request fewer nodes).
   *
   * @param nodeIds The nodes to read, at most 1,000.
   */
  async getNodes(nodeIds: string[], options: CallOptions = {}): Promise<FoundNodes> {
    const request = {
      nodeIds,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.batchGetNodes, request, options);
    return foundNodesOf(answer);
  }

  /**
   * Read the node with the caller's own id. Throws NodeNotFound.
   *
   * @param externalId The caller's own id of the node.
   * @param options.graphName The graph to look up the id in. Empty: "default".
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
   * Read the newest node with a name that is not archived, and count the nodes with this name.
   *
   * Throws NodeNotFound.
   *
   * @param name The name of the node.
   * @param options.graphName The graph to look up the name in. Empty: "default".
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
   * Change a node's data: by JSON merge patch (RFC 7396; the default) or by replacement.
   *
   * Throws NodeNotFound, VersionConflict (stale `expectedVersion`), RequestIdReused, LimitExceeded (the result
   * is over 1 MiB).
   *
   * @param nodeId The node to change.
   * @param data The patch, or the new data: a JSON object.
   * @param options.replace How to change the data. Unset: by merge patch.
   * @param options.expectedVersion Change the node only if it has this version.
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
   * Change a node's status and append a STATUS envelope to its timeline, in one transaction.
   *
   * If the node already has the new status, the call answers it unchanged, whatever the request expects. So a repeat is
   * harmless.
   *
   * Throws NodeNotFound, StatusConflict (the status is not `expectedStatus`), VersionConflict.
   *
   * @param nodeId The node to change.
   * @param status "Created", "Running", "Completed", "Failed", "Cancelled", or a status of the app.
   * @param options.expectedStatus Change the node only if it has this status.
   * @param options.expectedVersion Change the node only if it has this version.
   * @param options.message The message of the envelope. Up to 64 KiB.
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
   * Archive a node, or restore it with `restore`. Archived nodes stay readable by id. Throws NodeNotFound.
   *
   * @param nodeId The node to archive or restore.
   * @param options.restore Restore the node.
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
   * Reset a node so that it can run again: set its status to "Created", and delete its output and timeline. Data,
   * input, edges and embeddings stay. A node that is already reset is answered unchanged.
   *
   * Throws NodeNotFound, VersionConflict.
   *
   * @param nodeId The node to reset.
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
   * Delete a node for good, with its edges, input, output, timeline and embeddings. The nodes at the other ends stay.
   * The node's records of working memory stay too, because they belong to the Context Service. To hide a node instead,
   * use graph.archiveNode. Needs the scope `admin`.
   *
   * Throws NodeNotFound (there is no such node; also for a repeat), VersionConflict, PermissionDenied.
   *
   * @param nodeId The node to delete.
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
   * Start to erase the nodes that a user owns, and answer the progress. The Context Service calls it for its own
   * Erase; call Erase instead. It deletes every node with this `ownerUserId`, with everything that graph.deleteNode deletes
   * with a node; it also deletes the stored answers of repeated calls of that user, and the user's keys. If nodes and
   * envelopes of other users name the user as the author, a pseudonym replaces the name. The call answers at once; the
   * service continues by itself in steps, also if a process is killed. A repeat with the same id is harmless, and
   * answers the progress. For the deleted rows, changes.list no longer shows types. Needs the scope `admin`, and a key
   * without bounds.
   *
   * Throws InvalidArgument, PermissionDenied.
   *
   * @param erasureId The id of this erasure: a UUID that the caller makes.
   * @param subject The id of the user, up to 512 characters.
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
   * Read the progress of an erasure, or count the data of a user that an erasure would delete. The count reads all
   * nodes once. Needs the scope `admin`, and a key without bounds.
   *
   * Throws ErasureNotFound, InvalidArgument, PermissionDenied.
   *
   * @param options.erasureId The erasure to read. Give either this or `subject`.
   * @param options.subject The id of the user whose data to count. Give either this or `erasureId`.
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
   * Set the input of a node, its output, or both: any JSON, up to 1 MiB each. A given side replaces the old value; an
   * absent side stays as it is. The node's data, version and times stay too.
   *
   * Throws NodeNotFound, InvalidArgument (also if neither side is given), LimitExceeded.
   *
   * @param nodeId The node to change.
   * @param options.input The input as JSON text. "null" is a value; if absent, the input stays.
   * @param options.output The output as JSON text. "null" is a value; if absent, the output stays.
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

  /**
   * Read the input and the output of a node. Throws NodeNotFound.
   *
   * @param nodeId The node to read.
   */
  async getNodeIo(nodeId: NodeName, options: CallOptions = {}): Promise<StoredIO> {
    const request = {
      nodeId: await this.nodeId(nodeId, options),
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.getNodeIO, request, options);
    return storedIOOf(answer);
  }

  /**
   * List the fields that the data of nodes have, by type of node. Call it before graph.queryFacets, which takes these fields.
   * Of each type it reads up to 100 of the newest nodes whose data have at most 16 KiB, and their fields down to the
   * second level. Archived nodes are left out. Throws InvalidArgument, LimitExceeded.
   *
   * @param options.graphName The graph. Empty: "default".
   * @param options.typeName Only nodes of this general type. Empty: the 50 types that have the most nodes.
   */
  async listFacets(options: { graphName?: string; typeName?: string } & CallOptions = {}): Promise<FacetList> {
    const request = {
      graphName: options.graphName,
      typeName: options.typeName,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.listFacets, request, options);
    return facetListOf(answer);
  }

  /**
   * Answer a structured question about nodes: the first ones by a field, or counts and sums by group. Groups have sums,
   * averages, minima and maxima, too. It reads each node that matches, so its answers are exact. It says how many values
   * a measure could not use.
   *
   * Throws InvalidArgument (the violation names the place in a condition, a measure or an edge), LimitExceeded.
   */
  async queryFacets(options: GraphQueryFacetsOptions & CallOptions = {}): Promise<FacetAnswer> {
    const request = {
      graphName: options.graphName,
      conditionJson: toObject(options.condition, "condition_json"),
      includeArchived: options.includeArchived,
      withEdges: options.withEdges,
      withoutEdges: options.withoutEdges,
      groupBy: options.groupBy,
      measures: options.measures,
      orderBy: options.orderBy,
      descending: options.descending,
      limit: options.limit,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.queryFacets, request, options);
    return facetAnswerOf(answer);
  }

  /**
   * List the graphs that have nodes, by name, with their numbers of nodes (archived ones included) and edges. It
   * counts rows, so its cost grows with the graphs. Throws InvalidPageToken.
   *
   * @param options.pageSize Graphs per page. 0: 100. Values above 1,000 count as 1,000.
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
   * List the edge types of a graph by name, with the number of edges of each. It counts rows, so its cost grows with
   * the graph. A graph without edges, or that does not exist, has none. Throws InvalidPageToken.
   *
   * @param options.graphName The graph. Empty: "default".
   * @param options.pageSize Edge types per page. 0: 100. Values above 1,000 count as 1,000.
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

  /**
   * Read one edge. Throws EdgeNotFound.
   *
   * @param edgeId The edge to read.
   */
  async getEdge(edgeId: string, options: CallOptions = {}): Promise<Edge> {
    const request = {
      edgeId,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.getEdge, request, options);
    return edgeOf(answer.edge!);
  }

  /**
   * Read up to 1,000 edges, in the order of the request; `missingIds` lists the ids without an edge.
   *
   * Throws AnswerTooLarge (over 4 MiB: request fewer edges).
   *
   * @param edgeIds The edges to read, at most 1,000.
   */
  async getEdges(edgeIds: string[], options: CallOptions = {}): Promise<FoundEdges> {
    const request = {
      edgeIds,
    };
    const answer = await this.client.call(entityGraphPb.EntityGraph.method.batchGetEdges, request, options);
    return foundEdgesOf(answer);
  }

  /**
   * Change an edge's data: by JSON merge patch (RFC 7396; the default) or by replacement. Ends and type never change:
   * to change them, delete the edge and write another one.
   *
   * Throws EdgeNotFound, VersionConflict (stale `expectedVersion`), RequestIdReused, LimitExceeded (the result
   * is over 1 MiB).
   *
   * @param edgeId The edge to change.
   * @param data The patch, or the new data: a JSON object.
   * @param options.replace How to change the data. Unset: by merge patch.
   * @param options.expectedVersion Change the edge only if it has this version.
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
   * Delete one edge for good and answer its last state. The nodes at its ends stay.
   *
   * Throws EdgeNotFound (there is no such edge; also for a repeat), VersionConflict, InvalidArgument (the request
   * names the edge in both ways, or in neither).
   *
   * @param edgeId The edge to delete. Give either this or the next three.
   * @param options.expectedVersion Delete the edge only if it has this version.
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
   * List the edges of a node, oldest first (`createdAt`, then `id`). Each page reads all edges of the node in that
   * direction: to read many children in order, use Traverse.
   *
   * Throws NodeNotFound, InvalidPageToken.
   *
   * @param nodeId The node whose edges to list.
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
