"""Calls of the async client against small real servers: answers, errors, retries, deadlines."""

from __future__ import annotations

import pytest

from contextgraph.client.aio import AsyncEntityClient
from contextgraph.entity.v1 import entity_graph_pb2 as pb
from contextgraph.entity.v1.entity_graph_pb2_grpc import EntityGraphServicer
from contextgraph.errors import NodeNotFound, Unavailable
from tests.clients.serving import serving

NODE_ID = "01890a5d-ac96-774b-bcce-b302099a8057"


class Graph(EntityGraphServicer):
    def __init__(self, *, failures: int = 0) -> None:
        self.failures = failures
        self.calls = 0

    async def GetNode(self, request, context):
        self.calls += 1
        if self.calls <= self.failures:
            raise Unavailable("not yet", dependency="postgres")
        if request.node_id != NODE_ID:
            raise NodeNotFound("there is no such node", node_id=request.node_id)
        return pb.GetNodeResponse(node=pb.Node(id=NODE_ID, general_type_name="Turn", data_json='{"n": 1}'))

    async def Traverse(self, request, context):
        self.calls += 1
        if self.calls <= self.failures:
            raise Unavailable("not yet", dependency="postgres")
        for page in range(2):
            yield pb.TraverseResponse(
                nodes=[pb.TraversedNode(node=pb.Node(id=f"{page}{row}"), depth=1) for row in range(2)]
            )


async def test_a_node_arrives_as_a_value():
    async with serving(Graph()) as address, AsyncEntityClient(address) as client:
        node = await client.get_node(NODE_ID)

    assert (node.id, node.general_type_name, node.data) == (NODE_ID, "Turn", {"n": 1})


async def test_an_error_arrives_as_its_class():
    async with serving(Graph()) as address, AsyncEntityClient(address) as client:
        with pytest.raises(NodeNotFound) as raised:
            await client.get_node("elsewhere")

    assert raised.value.metadata == {"node_id": "elsewhere"}


async def test_a_walk_yields_every_page():
    async with serving(Graph(failures=2)) as address, AsyncEntityClient(address) as client:
        pages = [page async for page in client.traverse_pages(NODE_ID)]
        nodes = [reached.node.id async for reached in client.traverse(NODE_ID)]

    assert [len(page.nodes) for page in pages] == [2, 2]
    assert nodes == ["00", "01", "10", "11"]


async def test_unavailable_is_tried_again():
    async with serving(graph := Graph(failures=2)) as address, AsyncEntityClient(address) as client:
        await client.get_node(NODE_ID)

    assert graph.calls == 3


async def test_no_retries_means_none():
    async with serving(graph := Graph(failures=1)) as address, AsyncEntityClient(address, retries=0) as client:
        with pytest.raises(Unavailable, match="not yet"):
            await client.get_node(NODE_ID)

    assert graph.calls == 1
