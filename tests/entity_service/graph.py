"""The generated stub with a key, and the few graphs that tests write again and again."""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub


def new_id() -> str:
    return str(uuid.uuid4())


def node(general_type_name: str = "Message", *, data: Any = None, **fields: Any) -> pb.NodeInput:
    if data is not None:
        fields["data_json"] = json.dumps(data)
    return pb.NodeInput(general_type_name=general_type_name, **fields)


def edge(from_id: str, to_id: str, edge_type: str = "Contains", **fields: Any) -> pb.EdgeInput:
    return pb.EdgeInput(from_node_id=from_id, to_node_id=to_id, edge_type=edge_type, **fields)


class Graph:
    """A tenant's view of the service. Every RPC of the stub is a method that takes the request."""

    def __init__(self, stub: EntityGraphStub, key: str, tenant_id: uuid.UUID) -> None:
        self.tenant_id = tenant_id
        self._stub = stub
        self._metadata = [("authorization", f"Bearer {key}")]

    def __getattr__(self, rpc: str) -> Callable[[Any], Any]:
        method = getattr(self._stub, rpc)
        return lambda request, **options: method(request, metadata=self._metadata, timeout=30, **options)

    def called_with(self, key: str) -> Graph:
        """Return the same tenant's view with another key."""
        return Graph(self._stub, key, self.tenant_id)

    def write(self, *rows: pb.NodeInput | pb.EdgeInput, **fields: Any) -> Awaitable[pb.WriteGraphResponse]:
        nodes = [row for row in rows if isinstance(row, pb.NodeInput)]
        edges = [row for row in rows if isinstance(row, pb.EdgeInput)]
        return self.WriteGraph(pb.WriteGraphRequest(nodes=nodes, edges=edges, **fields))

    async def get(self, node_id: str) -> pb.Node:
        return (await self.GetNode(pb.GetNodeRequest(node_id=node_id))).node

    async def walk(self, *start_ids: str, **fields: Any) -> list[pb.TraverseResponse]:
        request = pb.TraverseRequest(start_node_ids=start_ids, **fields)
        return [message async for message in self.Traverse(request)]

    async def reached(self, *start_ids: str, **fields: Any) -> list[pb.TraversedNode]:
        return [row for message in await self.walk(*start_ids, **fields) for row in message.nodes]
