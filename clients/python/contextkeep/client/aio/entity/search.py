"""Nodes by their data, or by similarity."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

from contextkeep.client import _messages as messages
from contextkeep.client.aio.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.inputs import ConnectedTo
from contextkeep.values import Node


class NodeSearch(NamedNodes):
    """Calls that find nodes."""

    async def search(
        self,
        condition: Mapping[str, Any] | None = None,
        *,
        contains: Mapping[str, Any] | None = None,
        json_path: str = "",
        connected_to: ConnectedTo | None = None,
        agent_bundle_id: str = "",
        graph_name: str = "",
        include_archived: bool = False,
        order_by: str = "",
        descending: bool = False,
        page_size: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[Node, None]:
        """Yield the nodes that match all conditions, following the pages.

        Args:
            condition: A tree over the node's fields, `type` (either type name) and paths into its data, such as
                `{"type": "Task", "data.score": {"$gte": 0.5}}`. Operators: $eq $ne $gt $gte $lt $lte $in $nin $like
                $ilike $exists $and $or $not. Times are texts with a zone.
            contains: A JSON document that the node's data must contain.
            json_path: An SQL/JSON path over the data: a predicate that must be true, or a path that must select a
                value.
            connected_to: Only nodes that a walk from this one reaches.
            agent_bundle_id: Empty: any.
            graph_name: Empty: "default"; with `connected_to`, the graph of that node.
            include_archived: Yield archived nodes, too.
            order_by: A field that is a text, a number or a time, or a path such as "data.turn.index". Empty:
                "created_at".
            descending: Reverse the order.
            page_size: Nodes that one call reads. 0 means 100.
            timeout_s: Deadline of one page in seconds. None means the client's.

        Raises:
            InvalidArgument: a condition or a path is malformed: `violations` names the place.
            NodeNotFound: the node of `connected_to` does not exist.
            NodeBudgetExceeded: more than 100,000 nodes are connected to it.
        """
        node_filter = messages.node_filter(
            condition,
            contains=contains,
            json_path=json_path,
            connected_to=await self._connected(connected_to, graph_name),
            agent_bundle_id=agent_bundle_id,
            graph_name=graph_name,
            include_archived=include_archived,
        )
        request = graph_pb.SearchNodesRequest(
            filter=node_filter, order_by=order_by, descending=descending, page_size=page_size
        )
        while True:
            page: graph_pb.SearchNodesResponse = await self._call("SearchNodes", request, timeout_s=timeout_s)
            for node in page.nodes:
                yield Node.from_proto(node)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def count(
        self,
        condition: Mapping[str, Any] | None = None,
        *,
        contains: Mapping[str, Any] | None = None,
        json_path: str = "",
        connected_to: ConnectedTo | None = None,
        agent_bundle_id: str = "",
        graph_name: str = "",
        include_archived: bool = False,
        timeout_s: float | None = None,
    ) -> int:
        """Return how many nodes `search` would yield; arguments and errors are the same."""
        node_filter = messages.node_filter(
            condition,
            contains=contains,
            json_path=json_path,
            connected_to=await self._connected(connected_to, graph_name),
            agent_bundle_id=agent_bundle_id,
            graph_name=graph_name,
            include_archived=include_archived,
        )
        request = graph_pb.CountNodesRequest(filter=node_filter)
        response: graph_pb.CountNodesResponse = await self._call("CountNodes", request, timeout_s=timeout_s)
        return response.count

    async def _connected(self, to: ConnectedTo | None, graph_name: str) -> ConnectedTo | None:
        """Return the same with the node's id."""
        if to is None or not to.external_id:
            return to
        node_id = await self._node_id(to.node_id, external_id=to.external_id, graph_name=graph_name)
        return replace(to, node_id=node_id, external_id="")
