# Generated from aio/_gen/graph.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The calls of graph that are one RPC each, made by `make proto`."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from datetime import datetime
from typing import Any, Unpack

from contextkeep.client import _messages as messages
from contextkeep.client._messages import NOT_GIVEN, ByExternalId, Id, NotGiven
from contextkeep.client.sync.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as entity_graph_pb
from contextkeep.values import Direction, Edge, FacetAnswer, FacetList, Node, NodeIO, OwnedNodes
from contextkeep.values.base import time_of
from contextkeep.values.edges import EdgeBatch
from contextkeep.values.graphs import EdgeTypeCount, GraphCount
from contextkeep.values.nodes import NamedNode, NodeBatch


class Graph(NamedNodes):
    """The calls of `client.graph` that are one RPC each."""

    def get_node(
        self, node_id: Id | None = None, *, timeout_s: float | None = None, **named: Unpack[ByExternalId]
    ) -> Node:
        """Read one node.

        Args:
            node_id: The node to read.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
        """
        request = entity_graph_pb.GetNodeRequest(node_id=self._node_id(node_id, **named))
        answer: entity_graph_pb.GetNodeResponse = self._call("GetNode", request, timeout_s=timeout_s)
        return Node.from_proto(answer.node)

    def get_nodes(self, node_ids: Iterable[Id], *, timeout_s: float | None = None) -> NodeBatch:
        """Read up to 1,000 nodes, in the order of the request; `missing_ids` lists the ids without a node.

        Args:
            node_ids: The nodes to read, at most 1,000.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            AnswerTooLarge: over 4 MiB: request fewer nodes.
        """
        request = entity_graph_pb.BatchGetNodesRequest(node_ids=messages.ids("node_ids", node_ids))
        answer: entity_graph_pb.BatchGetNodesResponse = self._call("BatchGetNodes", request, timeout_s=timeout_s)
        return NodeBatch.from_proto(answer)

    def get_node_by_external_id(
        self, external_id: str, *, graph_name: str = "", timeout_s: float | None = None
    ) -> Node:
        """Read the node with the caller's own id.

        Args:
            external_id: The caller's own id of the node.
            graph_name: The graph to look up the id in. Empty: "default".
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
        """
        request = entity_graph_pb.GetNodeByExternalIdRequest(external_id=external_id, graph_name=graph_name)
        answer: entity_graph_pb.GetNodeByExternalIdResponse = self._call(
            "GetNodeByExternalId", request, timeout_s=timeout_s
        )
        return Node.from_proto(answer.node)

    def get_node_by_name(self, name: str, *, graph_name: str = "", timeout_s: float | None = None) -> NamedNode:
        """Read the newest node with a name that is not archived, and count the nodes with this name.

        Args:
            name: The name of the node.
            graph_name: The graph to look up the name in. Empty: "default".
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
        """
        request = entity_graph_pb.GetNodeByNameRequest(name=name, graph_name=graph_name)
        answer: entity_graph_pb.GetNodeByNameResponse = self._call("GetNodeByName", request, timeout_s=timeout_s)
        return NamedNode.from_proto(answer)

    def update_node_data(
        self,
        node_id: Id | None = None,
        data: Mapping[str, Any] | None = None,
        *,
        replace: bool = False,
        expected_version: int | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Node:
        """Change a node's data: by JSON merge patch (RFC 7396; the default) or by replacement.

        Args:
            node_id: The node to change.
            data: The patch, or the new data: a JSON object.
            replace: Replace the data. Otherwise `data` is a JSON merge patch (RFC 7396): None removes a key.
            expected_version: Change the node only if it has this version.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            VersionConflict: stale `expected_version`.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            LimitExceeded: the result is over 1 MiB.
        """
        request = entity_graph_pb.UpdateNodeDataRequest(
            node_id=self._node_id(node_id, **named),
            data_json=messages.to_object("data_json", messages.given("data_json", data)),
            update=messages.data_update(replace),
            expected_version=expected_version,
            request_id=messages.new_request_id(request_id),
        )
        answer: entity_graph_pb.UpdateNodeDataResponse = self._call("UpdateNodeData", request, timeout_s=timeout_s)
        return Node.from_proto(answer.node)

    def update_node_status(
        self,
        node_id: Id | None = None,
        status: str = "",
        *,
        expected_status: str | None = None,
        expected_version: int | None = None,
        message: str = "",
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Node:
        """Change a node's status and append a STATUS envelope to its timeline, in one transaction.

        If the node already has the new status, the call answers it unchanged, whatever the request expects. So a repeat
        is harmless.

        Args:
            node_id: The node to change.
            status: "Created", "Running", "Completed", "Failed", "Cancelled", or a status of the app.
            expected_status: Change the node only if it has this status.
            expected_version: Change the node only if it has this version.
            message: The message of the envelope. Up to 64 KiB.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            StatusConflict: the status is not `expected_status`.
            VersionConflict: The stored version is not `expected_version`. Nothing was written.
        """
        request = entity_graph_pb.UpdateNodeStatusRequest(
            node_id=self._node_id(node_id, **named),
            status=status,
            expected_status=expected_status,
            expected_version=expected_version,
            message=message,
        )
        answer: entity_graph_pb.UpdateNodeStatusResponse = self._call("UpdateNodeStatus", request, timeout_s=timeout_s)
        return Node.from_proto(answer.node)

    def archive_node(
        self,
        node_id: Id | None = None,
        *,
        restore: bool = False,
        expected_version: int | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Node:
        """Archive a node, or restore it with `restore`.

        Archived nodes stay readable by id.

        Args:
            node_id: The node to archive or restore.
            restore: Restore the node.
            expected_version: Change the node only if it has this version.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
        """
        request = entity_graph_pb.ArchiveNodeRequest(
            node_id=self._node_id(node_id, **named), restore=restore, expected_version=expected_version
        )
        answer: entity_graph_pb.ArchiveNodeResponse = self._call(
            "ArchiveNode", request, timeout_s=timeout_s, may_repeat=expected_version is None
        )
        return Node.from_proto(answer.node)

    def reset_node(
        self,
        node_id: Id | None = None,
        *,
        expected_version: int | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Node:
        """Reset a node so that it can run again: set its status to "Created", and delete its output and timeline.

        Data, input, edges and embeddings stay. A node that is already reset is answered unchanged.

        Args:
            node_id: The node to reset.
            expected_version: Reset the node only if it has this version.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            VersionConflict: The stored version is not `expected_version`. Nothing was written.
        """
        request = entity_graph_pb.ResetNodeRequest(
            node_id=self._node_id(node_id, **named), expected_version=expected_version
        )
        answer: entity_graph_pb.ResetNodeResponse = self._call("ResetNode", request, timeout_s=timeout_s)
        return Node.from_proto(answer.node)

    def delete_node(
        self,
        node_id: Id | None = None,
        *,
        expected_version: int | None = None,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> int:
        """Delete a node for good, with its edges, input, output, timeline and embeddings.

        The nodes at the other ends stay. The node's records of working memory stay too, because they belong to the
        Context Service. To hide a node instead, use `graph.archive_node`. Needs the scope `admin`.

        Args:
            node_id: The node to delete.
            expected_version: Delete the node only if it has this version.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: there is no such node; also for a repeat.
            VersionConflict: The stored version is not `expected_version`. Nothing was written.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = entity_graph_pb.DeleteNodeRequest(
            node_id=self._node_id(node_id, **named), expected_version=expected_version
        )
        answer: entity_graph_pb.DeleteNodeResponse = self._call("DeleteNode", request, timeout_s=timeout_s)
        return answer.edges_deleted

    def erase_owned(self, erasure_id: Id, subject: str, *, timeout_s: float | None = None) -> OwnedNodes:
        """Start to erase the nodes that a user owns, and answer the progress.

        The Context Service calls it for its own Erase; call Erase instead. It deletes every node with this
        `owner_user_id`, with everything that `graph.delete_node` deletes with a node; it also deletes the stored
        answers of repeated calls of that user, and the user's keys. If nodes and envelopes of other users name the user
        as the author, a pseudonym replaces the name. The call answers at once; the service continues by itself in
        steps, also if a process is killed. A repeat with the same id is harmless, and answers the progress. For the
        deleted rows, `changes.list` no longer shows types. Needs the scope `admin`, and a key without bounds.

        Args:
            erasure_id: The id of this erasure: a UUID that the caller makes.
            subject: The id of the user, up to 512 characters.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = entity_graph_pb.EraseOwnedRequest(erasure_id=messages.to_id(erasure_id), subject=subject)
        answer: entity_graph_pb.EraseOwnedResponse = self._call("EraseOwned", request, timeout_s=timeout_s)
        return OwnedNodes.from_proto(answer.removed)

    def get_owned(
        self, subject: str = "", *, erasure_id: Id | None = None, timeout_s: float | None = None
    ) -> OwnedNodes:
        """Read the progress of an erasure, or count the data of a user that an erasure would delete.

        The count reads all nodes once. Needs the scope `admin`, and a key without bounds.

        Args:
            subject: The id of the user whose data to count. Give either this or `erasure_id`.
            erasure_id: The erasure to read. Give either this or `subject`.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            ErasureNotFound: No erasure that the caller may see has this id. The receipt of a context is kept for a
                year.
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            PermissionDenied: The key lacks the scope, is bound to other apps, graphs or contexts, or belongs to another
                user.
        """
        request = entity_graph_pb.GetOwnedRequest(erasure_id=messages.to_id(erasure_id), subject=subject)
        answer: entity_graph_pb.GetOwnedResponse = self._call("GetOwned", request, timeout_s=timeout_s)
        return OwnedNodes.from_proto(answer.owned)

    def set_node_io(
        self,
        node_id: Id | None = None,
        *,
        input: Any | NotGiven = NOT_GIVEN,
        output: Any | NotGiven = NOT_GIVEN,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> datetime:
        """Set the input of a node, its output, or both: any JSON, up to 1 MiB each.

        A given side replaces the old value; an absent side stays as it is. The node's data, version and times stay too.

        Args:
            node_id: The node to change.
            input: The input as JSON text. "null" is a value; if absent, the input stays.
            output: The output as JSON text. "null" is a value; if absent, the output stays.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            InvalidArgument: also if neither side is given.
            LimitExceeded: A value exceeds a limit.
        """
        request = entity_graph_pb.SetNodeIORequest(
            node_id=self._node_id(node_id, **named),
            input_json=None if input is NOT_GIVEN else messages.to_json("input_json", input),
            output_json=None if output is NOT_GIVEN else messages.to_json("output_json", output),
        )
        answer: entity_graph_pb.SetNodeIOResponse = self._call("SetNodeIO", request, timeout_s=timeout_s)
        return time_of(answer.modified_at)

    def get_node_io(
        self, node_id: Id | None = None, *, timeout_s: float | None = None, **named: Unpack[ByExternalId]
    ) -> NodeIO:
        """Read the input and the output of a node.

        Args:
            node_id: The node to read.
            timeout_s: Deadline in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
        """
        request = entity_graph_pb.GetNodeIORequest(node_id=self._node_id(node_id, **named))
        answer: entity_graph_pb.GetNodeIOResponse = self._call("GetNodeIO", request, timeout_s=timeout_s)
        return NodeIO.from_proto(answer)

    def list_facets(self, *, graph_name: str = "", type_name: str = "", timeout_s: float | None = None) -> FacetList:
        """List the fields that the data of nodes have, by type of node.

        Call it before `graph.query_facets`, which takes these fields. Of each type it reads up to 100 of the newest
        nodes whose data have at most 16 KiB, and their fields down to the second level. Archived nodes are left out.

        Args:
            graph_name: The graph. Empty: "default".
            type_name: Only nodes of this general type. Empty: the 50 types that have the most nodes.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: A field of the request is missing or malformed; `violations` name the fields.
            LimitExceeded: A value exceeds a limit.
        """
        request = entity_graph_pb.ListFacetsRequest(graph_name=graph_name, type_name=type_name)
        answer: entity_graph_pb.ListFacetsResponse = self._call("ListFacets", request, timeout_s=timeout_s)
        return FacetList.from_proto(answer)

    def query_facets(
        self,
        *,
        graph_name: str = "",
        condition: Mapping[str, Any] | None = None,
        include_archived: bool = False,
        with_edges: Iterable[str] = (),
        without_edges: Iterable[str] = (),
        group_by: str = "",
        measures: Iterable[str] = (),
        order_by: str = "",
        descending: bool = False,
        limit: int = 0,
        timeout_s: float | None = None,
    ) -> FacetAnswer:
        """Answer a structured question about nodes: the first ones by a field, or counts and sums by group.

        Groups have sums, averages, minima and maxima, too. It reads each node that matches, so its answers are exact.
        It says how many values a measure could not use.

        Args:
            graph_name: The graph. Empty: "default".
            condition: A condition tree, as in NodeFilter: `{"type": "Invoice", "data.due": {"$lt": "2027-01-01"}}`.
                Empty: all nodes.
            include_archived: Include archived nodes.
            with_edges: Only nodes that have an edge of each of these types: "out:Placed" is an edge that leads from the
                node, "in:Placed" is one that leads to it.
            without_edges: Only nodes that have no edge of any of these types.
            group_by: Group the nodes by a field ("data.country", "status"), or by the node at the other end of an edge
                ("in:Placed").
            measures: What to compute of each group, or of all nodes if `group_by` is empty: "sum(data.amount)". The
                functions are count, sum, avg, min and max. `sum` and `avg` use numbers. `min` and `max` use numbers, or
                texts if no value is a number. `count` counts the nodes that have the field.
            order_by: Without `group_by` and `measures`: the field that nodes are sorted by, as in `graph.search`. With
                them: one of the measures, "nodes" or "group"; empty sorts the groups with the most nodes first.
            descending: Largest first. Values that are missing come last.
            limit: Nodes or groups, from 1 to 200. 0: 20.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            InvalidArgument: the violation names the place in a condition, a measure or an edge.
            LimitExceeded: A value exceeds a limit.
        """
        request = entity_graph_pb.QueryFacetsRequest(
            graph_name=graph_name,
            condition_json=messages.to_object("condition_json", condition),
            include_archived=include_archived,
            with_edges=messages.texts("with_edges", with_edges),
            without_edges=messages.texts("without_edges", without_edges),
            group_by=group_by,
            measures=messages.texts("measures", measures),
            order_by=order_by,
            descending=descending,
            limit=limit,
        )
        answer: entity_graph_pb.QueryFacetsResponse = self._call("QueryFacets", request, timeout_s=timeout_s)
        return FacetAnswer.from_proto(answer)

    def list_graphs(self, *, page_size: int = 0, timeout_s: float | None = None) -> Generator[GraphCount, None, None]:
        """List the graphs that have nodes, by name, with their numbers of nodes (archived ones included) and edges.

        It counts rows, so its cost grows with the graphs.

        Args:
            page_size: Graphs per page. 0: 100. Values above 1,000 count as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = entity_graph_pb.ListGraphsRequest(page_size=page_size)
        while True:
            page: entity_graph_pb.ListGraphsResponse = self._call("ListGraphs", request, timeout_s=timeout_s)
            for item in page.graphs:
                yield GraphCount.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def list_edge_types(
        self, graph_name: str = "", *, page_size: int = 0, timeout_s: float | None = None
    ) -> Generator[EdgeTypeCount, None, None]:
        """List the edge types of a graph by name, with the number of edges of each.

        It counts rows, so its cost grows with the graph. A graph without edges, or that does not exist, has none.

        Args:
            graph_name: The graph. Empty: "default".
            page_size: Edge types per page. 0: 100. Values above 1,000 count as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = entity_graph_pb.ListEdgeTypesRequest(graph_name=graph_name, page_size=page_size)
        while True:
            page: entity_graph_pb.ListEdgeTypesResponse = self._call("ListEdgeTypes", request, timeout_s=timeout_s)
            for item in page.edge_types:
                yield EdgeTypeCount.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def get_edge(self, edge_id: Id, *, timeout_s: float | None = None) -> Edge:
        """Read one edge.

        Args:
            edge_id: The edge to read.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            EdgeNotFound: No edge that the caller may see has this id, or this type and these ends.
        """
        request = entity_graph_pb.GetEdgeRequest(edge_id=messages.to_id(edge_id))
        answer: entity_graph_pb.GetEdgeResponse = self._call("GetEdge", request, timeout_s=timeout_s)
        return Edge.from_proto(answer.edge)

    def get_edges(self, edge_ids: Iterable[Id], *, timeout_s: float | None = None) -> EdgeBatch:
        """Read up to 1,000 edges, in the order of the request; `missing_ids` lists the ids without an edge.

        Args:
            edge_ids: The edges to read, at most 1,000.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            AnswerTooLarge: over 4 MiB: request fewer edges.
        """
        request = entity_graph_pb.BatchGetEdgesRequest(edge_ids=messages.ids("edge_ids", edge_ids))
        answer: entity_graph_pb.BatchGetEdgesResponse = self._call("BatchGetEdges", request, timeout_s=timeout_s)
        return EdgeBatch.from_proto(answer)

    def update_edge_data(
        self,
        edge_id: Id,
        data: Mapping[str, Any],
        *,
        replace: bool = False,
        expected_version: int | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Edge:
        """Change an edge's data: by JSON merge patch (RFC 7396; the default) or by replacement.

        Ends and type never change: to change them, delete the edge and write another one.

        Args:
            edge_id: The edge to change.
            data: The patch, or the new data: a JSON object.
            replace: Replace the data. Otherwise `data` is a JSON merge patch (RFC 7396): None removes a key.
            expected_version: Change the edge only if it has this version.
            request_id: A UUID. The same one again answers as the first time and changes nothing. Default: a new one.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            EdgeNotFound: No edge that the caller may see has this id, or this type and these ends.
            VersionConflict: stale `expected_version`.
            RequestIdReused: The request id was used before, with other content or for another RPC. Nothing was done.
            LimitExceeded: the result is over 1 MiB.
        """
        request = entity_graph_pb.UpdateEdgeDataRequest(
            edge_id=messages.to_id(edge_id),
            data_json=messages.to_object("data_json", data),
            update=messages.data_update(replace),
            expected_version=expected_version,
            request_id=messages.new_request_id(request_id),
        )
        answer: entity_graph_pb.UpdateEdgeDataResponse = self._call("UpdateEdgeData", request, timeout_s=timeout_s)
        return Edge.from_proto(answer.edge)

    def list_edges(
        self,
        node_id: Id | None = None,
        *,
        direction: Direction = "out",
        edge_types: Iterable[str] = (),
        descending: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
        **named: Unpack[ByExternalId],
    ) -> Generator[Edge, None, None]:
        """List the edges of a node, oldest first (`created_at`, then `id`).

        Each page reads all edges of the node in that direction: to read many children in order, use Traverse.

        Args:
            node_id: The node whose edges to list.
            direction: The direction of the edges, seen from the node. None: out.
            edge_types: Only edges of these types. Empty: all.
            descending: Newest first.
            page_size: Edges per page. 0: 100. Values above 1,000 count as 1,000.
            timeout_s: Deadline of one page in seconds. None means the client's.
            **named: The node's `external_id` instead: `ByExternalId`.

        Raises:
            NodeNotFound: No node that the caller may see has this id, external id or name.
            InvalidPageToken: The page token is malformed, or belongs to another list or other filters.
        """
        request = entity_graph_pb.ListEdgesRequest(
            node_id=self._node_id(node_id, **named),
            direction=messages.choice_of("direction", direction, entity_graph_pb.Direction),
            edge_types=messages.texts("edge_types", edge_types),
            page_size=page_size,
            descending=descending,
        )
        while True:
            page: entity_graph_pb.ListEdgesResponse = self._call("ListEdges", request, timeout_s=timeout_s)
            for item in page.edges:
                yield Edge.from_proto(item)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token
