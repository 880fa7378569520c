"""The proto service `EntityGraph`: parse, one call, render."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from contextgraph.entity.v1 import entity_graph_pb2 as pb
from contextgraph.entity.v1 import entity_graph_pb2_grpc
from entity_service import wire
from entity_service.model import Limits
from entity_service.store import GraphStore
from entity_service.traversal import Traversal
from entity_service.writes import GraphWrites
from service_runtime.calls import principal
from service_runtime.requests import request_of

Context = Any  # grpc.aio.ServicerContext


class EntityGraphServicer(entity_graph_pb2_grpc.EntityGraphServicer):
    """Answers the RPCs of `EntityGraph`."""

    def __init__(self, *, writes: GraphWrites, store: GraphStore, traversal: Traversal, limits: Limits) -> None:
        self._writes = writes
        self._store = store
        self._traversal = traversal
        self._limits = limits

    async def WriteGraph(self, request: pb.WriteGraphRequest, context: Context) -> pb.WriteGraphResponse:
        """Write nodes and edges together."""
        write = wire.graph_write(request, self._limits)
        return wire.written(await self._writes.write(principal(), write, request_of("WriteGraph", request)))

    async def GetNode(self, request: pb.GetNodeRequest, context: Context) -> pb.GetNodeResponse:
        """Read a node."""
        node = await self._store.node(principal(), wire.id_of("node_id", request.node_id))
        return pb.GetNodeResponse(node=wire.node(node))

    async def Traverse(self, request: pb.TraverseRequest, context: Context) -> AsyncIterator[pb.TraverseResponse]:
        """Walk the graph."""
        walk = wire.walk(request, self._limits)
        first = True
        async with aclosing(self._traversal.walk(principal(), walk)) as pages:
            async for page in pages:
                for message in wire.walk_messages(page, first=first, indexed=walk.indexed):
                    yield message
                first = False
