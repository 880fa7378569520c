"""Walks along edges."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from contextkeep.client import _messages as messages
from contextkeep.client._messages import Id
from contextkeep.client.aio.entity.names import NamedNodes
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values import Direction, Node, TraversedNode


class Traversal(NamedNodes):
    """Calls that walk the graph."""

    async def traverse(
        self,
        start: Id | Iterable[Id] | None = None,
        *,
        external_id: str = "",
        graph_name: str = "",
        edge_types: Iterable[str] = (),
        direction: Direction = "out",
        depth_max: int = 0,
        node_types: Iterable[str] = (),
        include_archived: bool = False,
        include_start: bool = False,
        include_io: bool = False,
        order_path: str = "",
        descending: bool = False,
        limit: int = 0,
        after: Node | None = None,
        node_budget: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[TraversedNode, None]:
        """Walk the graph from `start` and yield each node that is reached once, in a total and stable order.

        Args:
            start: One node id, or up to 1,000 ids of nodes of one graph; or name one node by `external_id`.
            external_id: Your own id of the node; a separate call looks it up.
            graph_name: The graph of the external id. Empty: "default".
            edge_types: Empty: all.
            direction: The direction to follow edges.
            depth_max: Maximum number of edges to follow, up to 100. 0 means 3.
            node_types: Nodes of other types are passed through, not yielded. Empty: all.
            include_archived: Also yield archived nodes; otherwise the walk only passes through them.
            include_start: Also yield the start nodes, with depth 0.
            include_io: Also read the input and output of the nodes, as `io`.
            order_path: A path into the node's data, such as "turn.index". Empty: `created_at`.
            descending: Reverse the order.
            limit: Maximum number of nodes to yield. 0 means all.
            after: Begin after this node in the order of `created_at`; with `descending`, yield older nodes.
            node_budget: Maximum number of nodes to visit. 0 means 100,000.
            timeout_s: Deadline of the whole walk; default: none.

        Raises:
            NodeNotFound: a start node does not exist.
            NodeBudgetExceeded: the walk would visit more than `node_budget` nodes.
            AnswerTooLarge: with `include_io`, a node with its input and output has more than 4 MiB.
        """
        pages = self.traverse_pages(
            start,
            external_id=external_id,
            graph_name=graph_name,
            edge_types=edge_types,
            direction=direction,
            depth_max=depth_max,
            node_types=node_types,
            include_archived=include_archived,
            include_start=include_start,
            include_io=include_io,
            order_path=order_path,
            descending=descending,
            limit=limit,
            after=None if after is None else messages.position(after),
            node_budget=node_budget,
            timeout_s=timeout_s,
        )
        async with aclosing(pages):
            async for page in pages:
                for reached in page.nodes:
                    yield TraversedNode.from_proto(reached)

    async def traverse_pages(
        self,
        start: Id | Iterable[Id] | None = None,
        *,
        external_id: str = "",
        graph_name: str = "",
        edge_types: Iterable[str] = (),
        direction: Direction = "out",
        depth_max: int = 0,
        node_types: Iterable[str] = (),
        include_archived: bool = False,
        include_start: bool = False,
        include_io: bool = False,
        order_path: str = "",
        descending: bool = False,
        limit: int = 0,
        after: graph_pb.TraversePosition | None = None,
        page_token: str = "",
        node_budget: int = 0,
        columns: Iterable[graph_pb.TraverseColumn] = (),
        timeout_s: float | None = None,
    ) -> AsyncGenerator[graph_pb.TraverseResponse, None]:
        """Walk like `traverse`, and yield the generated messages, with up to 1,000 nodes each.

        To continue a walk that `limit` has cut, give the `next_page_token` of its last message as `page_token`. With
        `columns` the messages have `rows_json` instead of nodes, which costs both sides less.

        Raises:
            InvalidPageToken: the token is malformed, or belongs to another walk.
            ContextKeepError: the same errors as `traverse`.
        """
        if external_id or start is None:
            messages.given_node_id(start, external_id)
            start = await self._node_id(None, external_id=external_id, graph_name=graph_name)
        request = messages.traverse_request(
            start,
            edge_types=edge_types,
            direction=direction,
            depth_max=depth_max,
            node_types=node_types,
            include_archived=include_archived,
            include_start=include_start,
            include_io=include_io,
            order_path=order_path,
            descending=descending,
            limit=limit,
            after=after,
            page_token=page_token,
            node_budget=node_budget,
            columns=columns,
        )
        pages = self._stream("Traverse", request, timeout_s=timeout_s)
        async with aclosing(pages):
            async for page in pages:
                yield page
