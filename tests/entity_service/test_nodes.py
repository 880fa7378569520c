"""Single nodes: written, read in four ways, changed."""

from __future__ import annotations

import asyncio
import json

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import AnswerTooLarge
from tests.entity_service.graph import Graph, node
from tests.errors import refused


async def create(graph: Graph, row: pb.NodeInput, **fields: object) -> pb.CreateNodeResponse:
    return await graph.CreateNode(pb.CreateNodeRequest(node=row, **fields))


async def update(graph: Graph, node_id: str, data_json: str, **fields: object) -> pb.Node:
    request = pb.UpdateNodeDataRequest(node_id=node_id, data_json=data_json, **fields)
    return (await graph.UpdateNodeData(request)).node


async def test_a_batch_that_fits_no_message_is_refused(graph: Graph):
    rows = [(await graph.write(node(data={"a": "xyz" * 300_000}))).nodes[0].id for _ in range(5)]

    async with refused(AnswerTooLarge):
        await graph.BatchGetNodes(pb.BatchGetNodesRequest(node_ids=rows))
    assert len((await graph.BatchGetNodes(pb.BatchGetNodesRequest(node_ids=rows[:4]))).nodes) == 4


async def test_concurrent_merges_lose_nothing(graph: Graph):
    there = (await create(graph, node())).node

    await asyncio.gather(*[update(graph, there.id, json.dumps({str(n): n})) for n in range(20)])

    got = await graph.get(there.id)
    assert json.loads(got.data_json) == {str(n): n for n in range(20)}
    assert got.version == 21
