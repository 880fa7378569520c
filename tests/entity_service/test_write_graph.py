"""WriteGraph: all rows or none, in order, once."""

from __future__ import annotations

import asyncio
import json

import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import (
    InvalidArgument,
)
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import refused

SKIP = pb.ON_EXISTING_SKIP


async def test_rows_come_back_in_the_order_of_the_request(graph: Graph):
    ids = [new_id() for _ in range(50)]
    rows = [node(id=i, data={"n": n}) for n, i in enumerate(ids)]

    written = await graph.write(*rows, *[edge(ids[0], i) for i in ids[1:]])

    times = [row.created_at.ToMicroseconds() for row in (*written.nodes, *written.edges)]
    assert [row.id for row in written.nodes] == ids
    assert times == list(range(times[0], times[0] + 99))
    assert [row.seq for row in written.nodes] == sorted({row.seq for row in written.nodes})
    reached = await graph.reached(ids[0], depth_max=1)
    assert [json.loads(row.node.data_json)["n"] for row in reached] == list(range(1, 50))


async def test_later_calls_have_later_times(graph: Graph):
    first = await graph.write(*[node() for _ in range(200)])
    second = await graph.write(node())

    assert first.nodes[-1].created_at.ToMicroseconds() < second.nodes[0].created_at.ToMicroseconds()
    assert first.nodes[-1].seq < second.nodes[0].seq


@pytest.mark.parametrize("on_existing", [pb.ON_EXISTING_FAIL, SKIP])
async def test_rows_of_one_call_may_differ_in_every_field(graph: Graph, on_existing: pb.OnExisting):
    """What all rows have in common is sent to Postgres once, and what no row says is not sent."""
    nodes = [
        pb.NodeInput(
            id=new_id(),
            external_id=f"thread {n}" if n else "",
            graph_name=f"graph {n % 2}",
            agent_bundle_id=f"bundle {n}" if n else "",
            general_type_name=f"General {n}",
            specific_type_name=f"Specific {n}" if n % 2 else "",
            name=f"name {n}" if n else "",
            status=f"status {n}",
            data_json=f'{{"{{,}}\\"": {n}}}',
            created_at={"seconds": n} if n else None,
        )
        for n in range(5)
    ]
    edges = [
        pb.EdgeInput(
            id=new_id(),
            graph_name=f"graph {n % 2}",
            from_node_id=nodes[n].id,
            to_node_id=nodes[n + 2].id,
            edge_type=f"Type {n}",
            data_json=f'{{"n": {n}}}' if n else "",
            created_at={"seconds": n} if n else None,
        )
        for n in range(3)
    ]
    written = await graph.write(*nodes, *edges, on_existing=on_existing)

    for sent, row in zip(nodes, written.nodes, strict=True):
        got = await graph.get(sent.id)
        for name in ("external_id", "graph_name", "agent_bundle_id", "general_type_name", "name", "status"):
            assert getattr(got, name) == getattr(sent, name)
        assert got.specific_type_name == (sent.specific_type_name or sent.general_type_name)
        assert json.loads(got.data_json) == json.loads(sent.data_json)
        assert got.created_at == (sent.created_at if sent.HasField("created_at") else row.created_at)
    got_edges = (await graph.BatchGetEdges(pb.BatchGetEdgesRequest(edge_ids=[edge.id for edge in edges]))).edges
    for sent_edge, got_edge, row in zip(edges, got_edges, written.edges, strict=True):
        for name in ("id", "graph_name", "from_node_id", "to_node_id", "edge_type"):
            assert getattr(got_edge, name) == getattr(sent_edge, name)
        assert json.loads(got_edge.data_json) == json.loads(sent_edge.data_json or "{}")
        assert got_edge.created_at == (sent_edge.created_at if sent_edge.HasField("created_at") else row.created_at)


async def test_any_time_of_the_calendar_is_kept_to_the_microsecond(graph: Graph):
    root = new_id()
    seconds = [-62_135_596_800, -1, 0, 253_402_300_799]
    children = [node(id=new_id(), created_at={"seconds": s, "nanos": 999_999_000}) for s in seconds]
    await graph.write(node(id=root), *children, *[edge(root, child.id) for child in children])

    times = [row.node.created_at for row in await graph.reached(root, depth_max=1)]

    assert [(time.seconds, time.nanos) for time in times] == [(s, 999_999_000) for s in seconds]


async def test_an_edge_never_joins_two_contexts(graph: Graph, database: Database):
    """No RPC sets a context yet; the rule holds for the rows."""
    ids = [new_id() for _ in range(4)]
    await graph.write(*[node(id=i) for i in ids])
    tenant = database.tenant(DEFAULT_TENANT_ID)
    for node_id, context_id in ((ids[0], new_id()), (ids[1], new_id())):
        await tenant.query("UPDATE entity.node SET context_id = %s WHERE id = %s", (context_id, node_id))

    async with refused(InvalidArgument):
        await graph.write(edge(ids[0], ids[1]))
    async with refused(InvalidArgument):
        await graph.write(edge(ids[0], ids[1]), on_existing=SKIP)
    inside = (await graph.CreateEdge(pb.CreateEdgeRequest(edge=edge(ids[0], ids[2])))).edge
    assert inside.context_id == (await graph.get(ids[0])).context_id != ""


async def test_the_stored_answer_holds_no_document(graph: Graph, database: Database):
    root = new_id()
    await graph.write(node(id=root, data={"text": "x" * 5000}), node(), edge(root, root), request_id=new_id())

    (row,) = await database.tenant(DEFAULT_TENANT_ID).query(
        "SELECT pg_column_size(answer) AS size_bytes FROM entity.request"
    )

    assert row.size_bytes < 200


async def test_of_fifty_that_write_one_external_id_at_once_one_does(graph: Graph, database: Database):
    async def write(n: int) -> pb.WrittenRow:
        return (await graph.write(node(external_id="one", data={"n": n}), on_existing=SKIP)).nodes[0]

    rows = await asyncio.gather(*map(write, range(50)))

    assert len({row.id for row in rows}) == 1
    assert [row.existed for row in rows].count(False) == 1
    (count,) = await database.tenant(DEFAULT_TENANT_ID).query("SELECT count(*) AS nodes FROM entity.node")
    assert count.nodes == 1


async def test_writers_of_the_same_rows_in_other_orders_all_succeed(graph: Graph):
    names = [f"n{n}" for n in range(30)]

    async def write(backwards: bool) -> pb.WriteGraphResponse:
        return await graph.write(
            *[node(external_id=name) for name in (reversed(names) if backwards else names)], on_existing=SKIP
        )

    answers = await asyncio.gather(*[write(n % 2 == 0) for n in range(10)])

    assert len({frozenset(row.id for row in answer.nodes) for answer in answers}) == 1


@pytest.mark.parametrize("created_at", [{"seconds": 253_402_300_800}, {"nanos": -1}])
async def test_a_time_that_is_none_is_refused(graph: Graph, created_at: dict[str, int]):
    async with refused(InvalidArgument, violations=["nodes[0].created_at"]):
        await graph.write(node(created_at=created_at))
