// Made from the protos by `make proto`.

import * as entityGraphPb from "../../gen/contextkeep/entity/v1/entity_graph_pb.js";
import type { CallOptions } from "../../client.js";
import { NodeNoun } from "../../entity/names.js";
import { whole } from "../../messages.js";
import type { NodeName } from "../../names.js";
import { Rows, pages } from "../../rows.js";
import {
  type Edge,
  type EdgeTypeCount,
  type FoundEdges,
  type FoundNodes,
  type GraphCount,
  type NamedNode,
  type Node,
  type OwnedNodes,
  edgeOf,
  edgeTypeCountOf,
  foundEdgesOf,
  foundNodesOf,
  graphCountOf,
  namedNodeOf,
  nodeOf,
  ownedNodesOf,
} from "../entity-graph.js";

/** The calls of `graph` that are one method each. */
export class GeneratedGraph extends NodeNoun {
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

  /** Reads the node with the caller's own id. Throws NodeNotFound. */
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
   * Changes a node's status and appends a STATUS envelope to its timeline, in one transaction.
   *
   * A node that has the wished status already is answered unchanged, whatever was expected: so a repeat is harmless.
   *
   * Throws NodeNotFound, StatusConflict (the status is not `expectedStatus`), VersionConflict.
   *
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

  /** Archives a node, or brings it back with `restore`. Archived nodes stay readable by id. Throws NodeNotFound. */
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
}
