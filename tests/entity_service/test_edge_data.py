"""Edges by id: read, their data changed."""

from __future__ import annotations

import asyncio
import json

import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import (
    AnswerTooLarge,
    EdgeNotFound,
    InvalidArgument,
    LimitExceeded,
    RequestIdReused,
    VersionConflict,
)
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


async def test_an_edge_reads_back_as_it_was_answered(graph: Graph, there: pb.Edge):
    assert await get(graph, there.id) == there


async def test_an_edge_of_another_tenant_is_not_found_like_one_that_never_was(
    graph: Graph, others: Graph, there: pb.Edge, missing_id: str
):
    for edge_id in (there.id, missing_id):
        async with refused(EdgeNotFound, edge_id=edge_id):
            await get(others, edge_id)
        async with refused(EdgeNotFound, edge_id=edge_id):
            await update(others, edge_id, "{}")
    async with refused(InvalidArgument, violations=["edge_id"]):
        await get(graph, "x")
    answer = await others.BatchGetEdges(pb.BatchGetEdgesRequest(edge_ids=[there.id]))
    assert (list(answer.edges), list(answer.missing_ids)) == ([], [there.id])


async def test_edges_are_read_in_the_order_asked_for_and_the_missing_are_listed(graph: Graph, missing_id: str):
    hub, *spokes = [new_id() for _ in range(5)]
    rows = [node(id=hub), *[node(id=s) for s in spokes], *[edge(hub, s) for s in spokes]]
    ids = [row.id for row in (await graph.write(*rows)).edges]
    asked = [ids[3], missing_id, ids[0], ids[3]]

    answer = await graph.BatchGetEdges(pb.BatchGetEdgesRequest(edge_ids=asked))

    assert [row.id for row in answer.edges] == [ids[3], ids[0]]
    assert list(answer.missing_ids) == [missing_id]
    assert answer.edges[1] == await get(graph, ids[0])


async def test_a_batch_has_its_limits(graph: Graph):
    async with refused(InvalidArgument, violations=["edge_ids"]):
        await graph.BatchGetEdges(pb.BatchGetEdgesRequest())
    async with refused(InvalidArgument, violations=["edge_ids[1]"]):
        await graph.BatchGetEdges(pb.BatchGetEdgesRequest(edge_ids=[new_id(), "x"]))
    async with refused(LimitExceeded, limit="edge_ids"):
        await graph.BatchGetEdges(pb.BatchGetEdgesRequest(edge_ids=[new_id()] * 1001))


async def test_a_batch_that_fits_no_message_is_refused(graph: Graph):
    hub, *spokes = [new_id() for _ in range(6)]
    await graph.write(node(id=hub), *[node(id=s) for s in spokes])
    long = json.dumps({"a": "xyz" * 300_000})
    ids = [(await graph.write(edge(hub, s, data_json=long))).edges[0].id for s in spokes]

    async with refused(AnswerTooLarge, use="BatchGetEdges with fewer ids"):
        await graph.BatchGetEdges(pb.BatchGetEdgesRequest(edge_ids=ids))
    assert len((await graph.BatchGetEdges(pb.BatchGetEdgesRequest(edge_ids=ids[:4]))).edges) == 4


async def test_data_is_merged_or_replaced_and_nothing_else_changes(graph: Graph, there: pb.Edge):
    merged = await update(graph, there.id, '{"a": null, "b": {"c": 1}}')

    assert '"big": 123456789012345678901234567890' in merged.data_json, "every digit that the patch does not touch"
    assert json.loads(merged.data_json)["b"] == {"c": 1}
    assert "a" not in json.loads(merged.data_json)
    replaced = await update(graph, there.id, '{"z": null}', update=pb.DATA_UPDATE_REPLACE)
    there.data_json, there.version = '{"z": null}', 3
    assert replaced == there == await get(graph, there.id)


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


async def test_of_many_that_expect_one_version_one_wins(graph: Graph, there: pb.Edge):
    async def race(n: int) -> bool:
        try:
            await update(graph, there.id, json.dumps({"n": n}), expected_version=1)
        except Exception:
            return False
        return True

    assert (await asyncio.gather(*map(race, range(20)))).count(True) == 1
    async with refused(VersionConflict, version=2):
        await update(graph, there.id, "{}", expected_version=1)


async def test_a_repeated_change_answers_as_the_first_time(graph: Graph, there: pb.Edge):
    request_id = new_id()

    twins = [update(graph, there.id, '{"n": 1}', request_id=request_id, expected_version=1) for _ in range(10)]
    first, *rest = await asyncio.gather(*twins)
    await update(graph, there.id, '{"n": 2}')

    assert rest == [first] * 9
    assert await update(graph, there.id, '{"n": 1}', request_id=request_id, expected_version=1) == first
    assert (await get(graph, there.id)).version == 3
    async with refused(RequestIdReused):
        await update(graph, there.id, '{"n": 3}', request_id=request_id)
