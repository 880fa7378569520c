"""Edges by id: read, their data changed."""

from __future__ import annotations

import json

import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import AnswerTooLarge, EdgeNotFound, InvalidArgument, LimitExceeded
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import refused


@pytest.fixture
async def there(graph: Graph) -> pb.Edge:
    a, b = new_id(), new_id()
    await graph.write(node(id=a), node(id=b))
    row = edge(a, b, data_json='{"a": 1, "big": 123456789012345678901234567890}')
    return (await graph.CreateEdge(pb.CreateEdgeRequest(edge=row))).edge


async def get(graph: Graph, edge_id: str) -> pb.Edge:
    return (await graph.GetEdge(pb.GetEdgeRequest(edge_id=edge_id))).edge


async def update(graph: Graph, edge_id: str, data_json: str, **fields: object) -> pb.Edge:
    return (await graph.UpdateEdgeData(pb.UpdateEdgeDataRequest(edge_id=edge_id, data_json=data_json, **fields))).edge


async def test_a_batch_that_fits_no_message_is_refused(graph: Graph):
    hub, *spokes = [new_id() for _ in range(6)]
    await graph.write(node(id=hub), *[node(id=s) for s in spokes])
    long = json.dumps({"a": "xyz" * 300_000})
    ids = [(await graph.write(edge(hub, s, data_json=long))).edges[0].id for s in spokes]

    async with refused(AnswerTooLarge, use="BatchGetEdges with fewer ids"):
        await graph.BatchGetEdges(pb.BatchGetEdgesRequest(edge_ids=ids))
    assert len((await graph.BatchGetEdges(pb.BatchGetEdgesRequest(edge_ids=ids[:4]))).edges) == 4


async def test_a_change_of_data_is_checked(graph: Graph, there: pb.Edge, missing_id: str):
    half = json.dumps({"half": "x" * 600_000})
    full = await update(graph, there.id, half)

    async with refused(LimitExceeded, limit="data_json"):
        await update(graph, there.id, json.dumps({"other half": "x" * 600_000}))
    for bad in ("[]", "{", '{"a": NaN}'):
        async with refused(InvalidArgument, violations=["data_json"]):
            await update(graph, there.id, bad)
    async with refused(InvalidArgument, violations=["update"]):
        await update(graph, there.id, "{}", update=7)
    async with refused(EdgeNotFound, edge_id=missing_id):
        await update(graph, missing_id, "{}")
    assert await get(graph, there.id) == full
