"""Nodes by what is said of them, or by likeness."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import replace
from typing import Any

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.inputs import ConnectedTo
from contextkeep.values import Node, SimilarNode


class SearchCalls(NamedNodes):
    """The RPCs that find nodes."""

    async def search_nodes(
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
        """Yield the nodes that are meant, following the pages. All that is said must hold of a node.

        Args:
            condition: A tree over the node's fields, `type` (either type name) and paths into its data, such as
                `{"type": "Task", "data.score": {"$gte": 0.5}}`. Operators: $eq $ne $gt $gte $lt $lte $in $nin $like
                $ilike $exists $and $or $not. Times are texts with a zone.
            contains: What the node's data contain.
            json_path: An SQL/JSON path over the data: a predicate must be true, a path must select something.
            connected_to: Only nodes that a walk from this one reaches.
            agent_bundle_id: Empty: any.
            graph_name: Empty: "default"; with `connected_to`, the graph of that node.
            include_archived: Yield archived nodes, too.
            order_by: A field that is a text, a number or a time, or a path such as "data.turn.index". Empty:
                "created_at".
            descending: The other way round.
            page_size: Rows of one call; 0: 100.
            timeout_s: Deadline of one page; None: the client's.

        Raises:
            InvalidArgument: a condition or a path is malformed: `violations` name the place.
            NodeNotFound: there is no node to be connected to.
            NodeBudgetExceeded: it is connected to more than 100,000.
        """
        wanted = messages.node_filter(
            condition,
            contains=contains,
            json_path=json_path,
            connected_to=await self._connected(connected_to, graph_name),
            agent_bundle_id=agent_bundle_id,
            graph_name=graph_name,
            include_archived=include_archived,
        )
        request = graph_pb.SearchNodesRequest(
            filter=wanted, order_by=order_by, descending=descending, page_size=page_size
        )
        while True:
            page: graph_pb.SearchNodesResponse = await self.call("SearchNodes", request, timeout_s=timeout_s)
            for node in page.nodes:
                yield Node.from_proto(node)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def count_nodes(
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
        """Return how many nodes `search_nodes` would yield; arguments and errors are the same."""
        wanted = messages.node_filter(
            condition,
            contains=contains,
            json_path=json_path,
            connected_to=await self._connected(connected_to, graph_name),
            agent_bundle_id=agent_bundle_id,
            graph_name=graph_name,
            include_archived=include_archived,
        )
        request = graph_pb.CountNodesRequest(filter=wanted)
        response: graph_pb.CountNodesResponse = await self.call("CountNodes", request, timeout_s=timeout_s)
        return response.count

    async def search_similar(
        self,
        vector: Iterable[float] = (),
        *,
        node_id: Id | None = None,
        external_id: str = "",
        name: str = "",
        graph_name: str = "",
        similarity_min: float | None = None,
        metadata_contains: Mapping[str, Any] | None = None,
        node_types: Iterable[str] = (),
        include_archived: bool = False,
        limit: int = 0,
        timeout_s: float | None = None,
    ) -> list[SimilarNode]:
        """Return the nodes whose vectors are most like one, the most similar first. No similar node is missed.

        Args:
            vector: To compare with; or name a node.
            node_id: The node whose vector to compare with. It is left out itself.
            external_id: Your own id of that node instead, looked up in a call of its own.
            name: Of the vectors. Empty: "default".
            graph_name: Of a search by vector, or of the external id. Empty: "default". A search by a node looks in the
                node's graph.
            similarity_min: The least cosine, -1 to 1. None: any.
            metadata_contains: Compare only with vectors whose metadata contain this.
            node_types: Either type name. Empty: all.
            include_archived: Return archived nodes, too.
            limit: Nodes to return; 0: 10. At most 1,000.
            timeout_s: Deadline; None: the client's.

        Raises:
            NodeNotFound: there is no such node.
            EmbeddingNotFound: the node has no vector of the name.
            InvalidArgument: the vector has another dimension than the stored ones.
            LimitExceeded: there are more than 100,000 vectors to compare with.
            AnswerTooLarge: the nodes are over 4 MiB together; ask for fewer.
        """
        if external_id:
            node_id = await self._node_id(node_id, external_id=external_id, graph_name=graph_name)
            graph_name = ""
        request = graph_pb.SearchSimilarRequest(
            vector=messages.vector("vector", vector),
            node_id=messages.to_id(node_id),
            graph_name=graph_name,
            name=name,
            similarity_min=similarity_min,
            metadata_contains_json=messages.to_object("metadata_contains_json", metadata_contains),
            node_types=messages.texts("node_types", node_types),
            include_archived=include_archived,
            limit=limit,
        )
        response: graph_pb.SearchSimilarResponse = await self.call("SearchSimilar", request, timeout_s=timeout_s)
        return [SimilarNode.from_proto(similar) for similar in response.nodes]

    async def _connected(self, to: ConnectedTo | None, graph_name: str) -> ConnectedTo | None:
        """Return the same with the node's id."""
        if to is None or not to.external_id:
            return to
        node_id = await self._node_id(to.node_id, external_id=to.external_id, graph_name=graph_name)
        return replace(to, node_id=node_id, external_id="")
