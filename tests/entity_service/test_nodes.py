"""Single nodes: written, read in four ways, changed."""

from __future__ import annotations

import asyncio
import json

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import AnswerTooLarge, InvalidArgument, LimitExceeded, NodeExists, NodeNotFound, VersionConflict
from tests.entity_service.graph import Graph, new_id, node
from tests.errors import refused


async def create(graph: Graph, row: pb.NodeInput, **fields: object) -> pb.CreateNodeResponse:
    return await graph.CreateNode(pb.CreateNodeRequest(node=row, **fields))


async def update(graph: Graph, node_id: str, data_json: str, **fields: object) -> pb.Node:
    request = pb.UpdateNodeDataRequest(node_id=node_id, data_json=data_json, **fields)
    return (await graph.UpdateNodeData(request)).node


async def test_a_node_may_come_with_its_id_and_time(graph: Graph):
    node_id = new_id()

    created = await create(graph, node(id=node_id.upper(), created_at={"seconds": 5, "nanos": 1999}))

    assert created.node.id == node_id
    assert (created.node.created_at.seconds, created.node.created_at.nanos) == (5, 1000)


async def test_get_existing_creates_what_is_not_there(graph: Graph):
    assert not (await create(graph, node(external_id="x"), get_existing=True)).existed
    assert not (await create(graph, node(), get_existing=True)).existed
    taken = (await create(graph, node())).node.id
    async with refused(NodeExists):
        await create(graph, node(id=taken, external_id="y"), get_existing=True)


async def test_a_repeat_that_found_a_node_the_first_time_finds_it_again(graph: Graph):
    await create(graph, node(external_id="x"))
    request_id = new_id()

    first = await create(graph, node(external_id="x"), get_existing=True, request_id=request_id)

    assert first.existed
    assert await create(graph, node(external_id="x"), get_existing=True, request_id=request_id) == first


async def test_a_batch_that_fits_no_message_is_refused(graph: Graph):
    rows = [(await graph.write(node(data={"a": "xyz" * 300_000}))).nodes[0].id for _ in range(5)]

    async with refused(AnswerTooLarge):
        await graph.BatchGetNodes(pb.BatchGetNodesRequest(node_ids=rows))
    assert len((await graph.BatchGetNodes(pb.BatchGetNodesRequest(node_ids=rows[:4]))).nodes) == 4


async def test_a_change_of_data_is_checked(graph: Graph, missing_id: str):
    there = (await create(graph, node(data={"a": "x" * 600_000}))).node

    async with refused(LimitExceeded, limit="data_json"):
        await update(graph, there.id, json.dumps({"b": "x" * 600_000}))
    async with refused(InvalidArgument, violations=["data_json"]):
        await update(graph, there.id, "[]")
    async with refused(InvalidArgument, violations=["update"]):
        await update(graph, there.id, "{}", update=7)
    async with refused(InvalidArgument, violations=["node_id"]):
        await update(graph, "x", "{}")
    async with refused(NodeNotFound, node_id=missing_id):
        await update(graph, missing_id, "{}")
    assert await graph.get(there.id) == there


async def test_concurrent_merges_lose_nothing(graph: Graph):
    there = (await create(graph, node())).node

    await asyncio.gather(*[update(graph, there.id, json.dumps({str(n): n})) for n in range(20)])

    got = await graph.get(there.id)
    assert json.loads(got.data_json) == {str(n): n for n in range(20)}
    assert got.version == 21


async def test_a_node_is_archived_and_brought_back(graph: Graph, others: Graph, missing_id: str):
    there = (await create(graph, node())).node

    async def archive(to: Graph = graph, node_id: str = there.id, **fields: object) -> pb.Node:
        return (await to.ArchiveNode(pb.ArchiveNodeRequest(node_id=node_id, **fields))).node

    archived = await archive()
    assert (archived.is_archived, archived.version) == (True, 2)
    assert await graph.get(there.id) == archived
    assert await archive(expected_version=1) == archived  # a repeat is harmless
    async with refused(VersionConflict, version=2):
        await archive(restore=True, expected_version=1)
    restored = await archive(restore=True, expected_version=2)
    assert (restored.is_archived, restored.version) == (False, 3)
    async with refused(NodeNotFound, node_id=missing_id):
        await archive(node_id=missing_id)
    async with refused(NodeNotFound, node_id=there.id):
        await archive(others)
