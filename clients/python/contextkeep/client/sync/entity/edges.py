# Generated from aio/entity/edges.py by tools/make_sync.py: change that file and run `make sync-client`.
"""Edges: single ones, and those of a node."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.sync.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.inputs import EdgeInput
from contextkeep.values import Edge


class Edges(NamedNodes):
    """Calls of edges."""

    def create_edge(
        self,
        from_node_id: Id | None = None,
        to_node_id: Id | None = None,
        edge_type: str = "",
        *,
        from_external_id: str = "",
        to_external_id: str = "",
        data: Mapping[str, Any] | None = None,
        graph_name: str = "",
        id: Id | None = None,
        created_at: datetime | None = None,
        request_id: Id | None = None,
        timeout_s: float | None = None,
    ) -> Edge:
        """Write one edge between two nodes of its graph and return it.

        Args:
            from_node_id: The start node of the edge, unless `from_external_id` names it.
            to_node_id: The end node of the edge, unless `to_external_id` names it.
            edge_type: Required, such as "Contains", "Calls" or "InResponseTo"; any name is allowed.
            from_external_id: Your own id of the start node; a separate call looks it up.
            to_external_id: Your own id of the end node; a separate call looks it up.
            data: The data of the edge, a JSON object.
            graph_name: The graph of both nodes. Empty: "default".
            id: A UUID. By default the server creates one.
            created_at: Aware; for imports and replays. Default: the server's time.
            request_id: As in `create_node`.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            NodeNotFound: one of the two nodes does not exist.
            EdgeExists: the two nodes already have an edge of this type: `edge_id` in the metadata.
        """
        edge = EdgeInput(
            self._node_id(from_node_id, external_id=from_external_id, graph_name=graph_name),
            self._node_id(to_node_id, external_id=to_external_id, graph_name=graph_name),
            edge_type,
            id=messages.to_id(id),
            graph_name=graph_name,
            data=data,
            created_at=created_at,
        )
        request = graph_pb.CreateEdgeRequest(request_id=messages.new_request_id(request_id))
        messages.fill_edge(request.edge, edge)
        response: graph_pb.CreateEdgeResponse = self._call("CreateEdge", request, timeout_s=timeout_s)
        return Edge.from_proto(response.edge)

    def delete_edge(
        self,
        edge_id: Id | None = None,
        *,
        from_node_id: Id | None = None,
        to_node_id: Id | None = None,
        edge_type: str = "",
        from_external_id: str = "",
        to_external_id: str = "",
        graph_name: str = "",
        expected_version: int | None = None,
        timeout_s: float | None = None,
    ) -> Edge:
        """Delete one edge for good and return it as it was. Its nodes stay.

        Args:
            edge_id: The edge; or name it by its two nodes and its type.
            from_node_id: The start node of the edge.
            to_node_id: The end node of the edge.
            edge_type: The type of the edge.
            from_external_id: Your own id of the start node; a separate call looks it up.
            to_external_id: Your own id of the end node; a separate call looks it up.
            graph_name: The graph of external ids. Empty: "default".
            expected_version: Delete only this version.
            timeout_s: Deadline in seconds. None means the client's.

        Raises:
            EdgeNotFound: the edge does not exist, or the answer of an earlier attempt that deleted it was lost.
            VersionConflict: the edge has another version: `version` in the metadata.
            InvalidArgument: the edge is named in two ways, or not at all.
        """
        from_id, to_id = messages.to_id(from_node_id), messages.to_id(to_node_id)
        if from_external_id:
            from_id = self._node_id(from_node_id, external_id=from_external_id, graph_name=graph_name)
        if to_external_id:
            to_id = self._node_id(to_node_id, external_id=to_external_id, graph_name=graph_name)
        request = graph_pb.DeleteEdgeRequest(
            edge_id=messages.to_id(edge_id),
            from_node_id=from_id,
            to_node_id=to_id,
            edge_type=edge_type,
            expected_version=expected_version,
        )
        response: graph_pb.DeleteEdgeResponse = self._call("DeleteEdge", request, timeout_s=timeout_s)
        return Edge.from_proto(response.edge)
