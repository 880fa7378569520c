"""The async clients. The sync ones are generated from this file: see `tools/make_sync.py`.

An RPC is one method. Each makes its request (`_messages`), calls, and returns values; `call` and `stream` underneath
are there for callers who want the generated messages themselves.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any, Self, TypeVar

from contextgraph.client import _aio_io as io
from contextgraph.client import _base as base
from contextgraph.client import _messages as messages
from contextgraph.client._messages import Direction, Id
from contextgraph.client._retry import Attempts, RetryBudget
from contextgraph.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextgraph.context.v1.working_memory_pb2_grpc import WorkingMemoryStub
from contextgraph.entity.v1 import entity_graph_pb2 as graph_pb
from contextgraph.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from contextgraph.errors import Unavailable
from contextgraph.values import Node, TraversedNode

_T = TypeVar("_T")


class _AsyncClient:
    """What the clients share: one channel, who calls, how long, how often."""

    def __init__(self, connection: io.Connection, options: base.CallOptions) -> None:
        self._connection = connection
        self._options = options
        self._metadata = options.metadata
        self._budget = RetryBudget()

    def with_credential(self, credential: str) -> Self:
        """Return a view of this client that calls with another key or token.

        For services that act for their callers. The view shares the channel, so it costs next to nothing and closing
        either closes both. An empty credential sends none.
        """
        view = copy.copy(self)
        view._options = dataclasses.replace(self._options, credential=credential)
        view._metadata = view._options.metadata
        return view

    async def call(self, rpc: str, request: Any, *, timeout_s: float | None = None, may_repeat: bool = True) -> Any:
        """Return the answer of a unary RPC: generated messages in and out.

        Args:
            rpc: Its name in the proto, e.g. "GetNode".
            request: Its request message.
            timeout_s: Deadline of the call with its retries; None: the client's.
            may_repeat: It is safe to send the request twice: a read, or a write with a request id.

        Raises:
            ContextGraphError: the class of the status.
        """
        attempts = self._attempts(self._options.timeout_s if timeout_s is None else timeout_s, may_repeat=may_repeat)

        async def attempt() -> Any:
            return await self._connection.unary(rpc, request, timeout_s=attempts.remaining_s(), metadata=self._metadata)

        return await self._repeated(attempts, attempt)

    async def stream(self, rpc: str, request: Any, *, timeout_s: float | None = None) -> AsyncGenerator[Any, None]:
        """Yield the answers of a server-streaming RPC: generated messages in and out.

        It is tried again only until the first answer is there.

        Args:
            rpc: Its name in the proto, e.g. "Traverse".
            request: Its request message.
            timeout_s: Deadline of the whole stream; None: none, but it may not be silent for `idle_timeout_s`.

        Raises:
            ContextGraphError: the class of the status.
        """
        attempts = self._attempts(timeout_s)
        while True:
            begun = False
            answers = self._connection.stream(
                rpc,
                request,
                timeout_s=attempts.remaining_s(),
                idle_timeout_s=self._options.idle_timeout_s,
                metadata=self._metadata,
            )
            try:
                async with aclosing(answers):
                    async for answer in answers:
                        begun = True
                        yield answer
            except Unavailable as error:
                delay_s = attempts.delay_s(error)
                if begun or delay_s is None:
                    raise
            else:
                attempts.succeeded()
                return
            await io.sleep(delay_s)

    async def close(self) -> None:
        """Close the channel. Calls under way end with `Cancelled`."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._connection.address)!r})"  # never the key

    def _attempts(self, timeout_s: float | None, *, may_repeat: bool = True) -> Attempts:
        return Attempts(self._budget, retries=self._options.retries if may_repeat else 0, timeout_s=timeout_s)

    async def _repeated(self, attempts: Attempts, attempt: Callable[[], Awaitable[_T]]) -> _T:
        """Return what `attempt` returns, trying again as long as `attempts` has some."""
        while True:
            try:
                result = await attempt()
            except Unavailable as error:
                delay_s = attempts.delay_s(error)
                if delay_s is None:
                    raise
            else:
                attempts.succeeded()
                return result
            await io.sleep(delay_s)


class AsyncEntityClient(_AsyncClient):
    """The entity graph: nodes and typed edges.

    The channel is opened by the first call and closed by `close` or the `with` block. An async client belongs to one
    event loop; a sync client may be shared by threads. Neither survives a fork: make clients in the child.

    Args:
        address: `host:port`, `http://host:port` or `https://host[:port]`. None: `ENTITY_SERVICE_ADDRESS`, else
            127.0.0.1:50052.
        api_key: None: `CONTEXT_SERVICE_API_KEY`. Empty: none is sent.
        timeout_s: Deadline of a unary call, its retries included.
        idle_timeout_s: How long nothing may move on a stream.
        retries: Attempts after the first, for calls that failed with `Unavailable` and may be repeated. 0: none.
        root_certificates: PEM of the authorities to trust for `https://`. None: grpc's own list.

    Raises:
        InvalidArgument: the address, the key or a number is malformed.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = base.TIMEOUT_S,
        idle_timeout_s: float = base.IDLE_TIMEOUT_S,
        retries: int = base.RETRIES,
        root_certificates: bytes | None = None,
    ) -> None:
        connection = io.Connection(
            base.address_of(address, variable=base.ENTITY_ADDRESS_VARIABLE, default=base.ENTITY_ADDRESS_DEFAULT),
            service="entity-service",
            stubs=[EntityGraphStub],
            root_certificates=root_certificates,
        )
        options = base.options_of(
            api_key=api_key, app_id=None, timeout_s=timeout_s, idle_timeout_s=idle_timeout_s, retries=retries
        )
        super().__init__(connection, options)

    async def get_node(self, node_id: Id, *, timeout_s: float | None = None) -> Node:
        """Return one node.

        Raises:
            NodeNotFound: there is none, or it is another tenant's.
        """
        request = graph_pb.GetNodeRequest(node_id=messages.to_id(node_id))
        response: graph_pb.GetNodeResponse = await self.call("GetNode", request, timeout_s=timeout_s)
        return Node.from_proto(response.node)

    async def traverse(
        self,
        start: Id | Iterable[Id],
        *,
        edge_types: Iterable[str] = (),
        direction: Direction = "out",
        depth_max: int = 0,
        node_types: Iterable[str] = (),
        include_archived: bool = False,
        include_start: bool = False,
        order_path: str = "",
        descending: bool = False,
        limit: int = 0,
        node_budget: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[TraversedNode, None]:
        """Walk the graph from `start` and yield what is reached: each node once, in a total and stable order.

        Args:
            start: One node id, or up to 1,000 of one graph.
            edge_types: Empty: all.
            direction: Which way edges are followed.
            depth_max: 1 to 100; 0: 3.
            node_types: Nodes of other types are passed through, not yielded. Empty: all.
            include_archived: Yield archived nodes too, which else are passed through.
            include_start: Yield the start nodes too, with depth 0.
            order_path: A path into the node's data, such as "turn.index". Empty: `created_at`.
            descending: The other way round.
            limit: Nodes to yield at most; 0: all.
            node_budget: Nodes to visit at most; 0: 100,000.
            timeout_s: Deadline of the whole walk; None: none.

        Raises:
            NodeNotFound: a start node is not there.
            NodeBudgetExceeded: the walk is too large.
        """
        pages = self.traverse_pages(
            start,
            edge_types=edge_types,
            direction=direction,
            depth_max=depth_max,
            node_types=node_types,
            include_archived=include_archived,
            include_start=include_start,
            order_path=order_path,
            descending=descending,
            limit=limit,
            node_budget=node_budget,
            timeout_s=timeout_s,
        )
        async with aclosing(pages):
            async for page in pages:
                for reached in page.nodes:
                    yield TraversedNode.from_proto(reached)

    async def traverse_pages(
        self,
        start: Id | Iterable[Id],
        *,
        edge_types: Iterable[str] = (),
        direction: Direction = "out",
        depth_max: int = 0,
        node_types: Iterable[str] = (),
        include_archived: bool = False,
        include_start: bool = False,
        order_path: str = "",
        descending: bool = False,
        limit: int = 0,
        page_token: str = "",
        node_budget: int = 0,
        timeout_s: float | None = None,
    ) -> AsyncGenerator[graph_pb.TraverseResponse, None]:
        """Walk as `traverse` does and yield the generated messages: up to 1,000 nodes each, no object per node.

        A walk that `limit` cut goes on with `page_token`: the `next_page_token` of its last message.

        Raises:
            InvalidPageToken: the token is malformed or of another walk; and as `traverse`.
        """
        request = messages.traverse_request(
            start,
            edge_types=edge_types,
            direction=direction,
            depth_max=depth_max,
            node_types=node_types,
            include_archived=include_archived,
            include_start=include_start,
            order_path=order_path,
            descending=descending,
            limit=limit,
            page_token=page_token,
            node_budget=node_budget,
        )
        pages = self.stream("Traverse", request, timeout_s=timeout_s)
        async with aclosing(pages):
            async for page in pages:
                yield page


class AsyncContextClient(_AsyncClient):
    """Working memory and chat history.

    The channel is opened by the first call and closed by `close` or the `with` block. An async client belongs to one
    event loop; a sync client may be shared by threads. Neither survives a fork: make clients in the child.

    Args:
        address: `host:port`, `http://host:port` or `https://host[:port]`. None: `CONTEXT_SERVICE_ADDRESS`, else
            127.0.0.1:50051.
        api_key: None: `CONTEXT_SERVICE_API_KEY`. Empty: none is sent.
        app_id: The app that records are written for and mappings looked up in. None: `CONTEXT_SERVICE_APP_ID`.
        timeout_s: Deadline of a unary call, its retries included.
        idle_timeout_s: How long nothing may move on a stream.
        retries: Attempts after the first, for calls that failed with `Unavailable` and may be repeated. 0: none.
        root_certificates: PEM of the authorities to trust for `https://`. None: grpc's own list.

    Raises:
        InvalidArgument: the address, the key or a number is malformed.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        api_key: str | None = None,
        app_id: str | None = None,
        timeout_s: float = base.TIMEOUT_S,
        idle_timeout_s: float = base.IDLE_TIMEOUT_S,
        retries: int = base.RETRIES,
        root_certificates: bytes | None = None,
    ) -> None:
        connection = io.Connection(
            base.address_of(address, variable=base.CONTEXT_ADDRESS_VARIABLE, default=base.CONTEXT_ADDRESS_DEFAULT),
            service="context-service",
            stubs=[WorkingMemoryStub, ChatHistoryStub],
            root_certificates=root_certificates,
        )
        options = base.options_of(
            api_key=api_key, app_id=app_id, timeout_s=timeout_s, idle_timeout_s=idle_timeout_s, retries=retries
        )
        super().__init__(connection, options)
