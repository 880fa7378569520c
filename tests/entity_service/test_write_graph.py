"""WriteGraph: all rows or none, in order, once."""

from __future__ import annotations

import asyncio
import json

import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import (
    EdgeExists,
    ExternalIdTaken,
    InvalidArgument,
    LimitExceeded,
    NodeExists,
    NodeNotFound,
    RequestIdReused,
)
from service_runtime.auth import DEFAULT_TENANT_ID
from service_runtime.postgres import Database
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


async def test_ids_that_the_server_makes_are_different_and_found(graph: Graph):
    written = await graph.write(*[node(data={"n": n}) for n in range(300)])

    ids = [row.id for row in written.nodes]
    assert len(set(ids)) == 300
    assert json.loads((await graph.get(ids[299])).data_json) == {"n": 299}


async def test_what_was_left_out_has_its_default(graph: Graph):
    (row,) = (await graph.write(node("Task"))).nodes

    got = await graph.get(row.id)

    assert (got.graph_name, got.specific_type_name, got.status, got.data_json) == ("default", "Task", "Created", "{}")
    assert (got.version, got.created_by, got.is_archived) == (1, "first", False)
    assert got.created_at == got.modified_at == row.created_at


async def test_every_field_is_kept(graph: Graph):
    values = {
        "id": new_id(),
        "external_id": "thread-1 ü",
        "graph_name": "support",
        "agent_bundle_id": "bundle",
        "general_type_name": "Message",
        "specific_type_name": "UserMessage",
        "name": "greeting",
        "status": "Waiting for Godot",
        "data_json": '{"a": [1, 2.50, 12345678901234567890123, "ü"]}',
        "created_at": {"seconds": 1_600_000_000, "nanos": 123_456_000},
    }
    await graph.write(pb.NodeInput(**values))

    got = await graph.get(values["id"])

    assert {name: getattr(got, name) for name in values if name != "created_at"} == {
        name: value for name, value in values.items() if name != "created_at"
    }
    assert (got.created_at.seconds, got.created_at.nanos) == (1_600_000_000, 123_456_000)


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


async def test_a_missing_end_is_named_before_anything_else_is_wrong_with_the_edge(graph: Graph, missing_id: str):
    there = (await graph.write(node())).nodes[0].id

    async with refused(NodeNotFound, node_id=missing_id):
        await graph.write(edge(missing_id, there, graph_name="elsewhere"))


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


async def test_the_obstacle_may_be_in_the_request_itself(graph: Graph):
    a, b = new_id(), new_id()

    async with refused(NodeExists, node_id=a):
        await graph.write(node(id=a), node(id=a))
    async with refused(ExternalIdTaken, node_id=a):
        await graph.write(node(id=a, external_id="x"), node(external_id="x"))
    async with refused(EdgeExists):
        await graph.write(node(id=a), node(id=b), edge(a, b), edge(a, b))


MALFORMED = [
    (node(""), "nodes[0].general_type_name"),
    (node(id="no"), "nodes[0].id"),
    (node(id="{" + new_id() + "}"), "nodes[0].id"),
    (node(data_json="[]"), "nodes[0].data_json"),
    (node(data_json="{"), "nodes[0].data_json"),
    (node(data_json='{}, {"id": "x"}'), "nodes[0].data_json"),
    (node(data_json='{"a": NaN}'), "nodes[0].data_json"),
    (node(data_json='{"a": "\\ud800"}'), "nodes[0].data_json"),
    (node(data_json='{"a": "\\u0000"}'), "nodes[0].data_json"),
    (node(data_json='{"a":' + "[" * 100 + "]" * 100 + "}"), "nodes[0].data_json"),
    (node(data_json='{"a": 1e309}'), "nodes[0].data_json"),
    (node(name="a\0b"), "nodes[0].name"),
    (node(external_id="a\0b"), "nodes[0].external_id"),
    (node(created_at={"seconds": 253_402_300_800}), "nodes[0].created_at"),
    (node(created_at={"nanos": -1}), "nodes[0].created_at"),
    (edge("", new_id()), "edges[0].from_node_id"),
    (edge(new_id(), "x"), "edges[0].to_node_id"),
    (edge(new_id(), new_id(), ""), "edges[0].edge_type"),
    (edge(new_id(), new_id(), data_json="1"), "edges[0].data_json"),
]


async def test_a_malformed_field_is_named(graph: Graph, subtests: pytest.Subtests):
    for row, field in MALFORMED:
        with subtests.test(row=str(row)[:200]):
            async with refused(InvalidArgument, violations=[field]):
                await graph.write(row)


async def test_values_at_their_limits_are_written(graph: Graph):
    row = node(
        "x" * 128,
        external_id="ü" * 256,
        name="ü" * 512,
        data_json='{"a":"' + "x" * (1024 * 1024 - 8) + '"}',
        status="x" * 128,
        graph_name="ü" * 128,
    )

    (written,) = (await graph.write(row)).nodes

    assert len((await graph.get(written.id)).data_json) == 1024 * 1024 + 1  # jsonb shows a space behind the colon


async def test_a_short_number_cannot_become_a_long_text(graph: Graph):
    """Postgres shows numbers without exponent: a megabyte of these would be two gigabytes to every reader."""
    async with refused(InvalidArgument, violations=["nodes[0].data_json"]):
        await graph.write(node(data_json='{"a": 1e-16000}'))
    async with refused(LimitExceeded, limit="nodes[0].data_json"):
        await graph.write(node(data_json='{"a": [' + ",".join(["1e308"] * 5000) + "]}"))
    strings = '{"a": "' + "1e999999 " * 1000 + '", "b": [1e5, 1E-7, 2e+3]}'
    await graph.write(node(data_json=strings))


async def test_a_repeat_answers_as_the_first_time_and_writes_nothing(graph: Graph):
    root = new_id()
    rows = (
        node(id=root),
        node(data={"a": 1}),
        node(created_at={"seconds": 7}),
        edge(root, root),
        edge(root, root, "Calls", created_at={"seconds": 8}),
    )
    request_id = new_id()

    first = await graph.write(*rows, request_id=request_id)
    again = await graph.write(*rows, request_id=request_id)

    assert again == first
    assert len((await graph.ListEdges(pb.ListEdgesRequest(node_id=root))).edges) == 2
    async with refused(RequestIdReused):
        await graph.write(*rows[:-1], request_id=request_id)
    async with refused(RequestIdReused):
        await graph.CreateNode(pb.CreateNodeRequest(node=rows[0], request_id=request_id))
    async with refused(RequestIdReused):
        await graph.write(*rows, request_id=request_id, on_existing=SKIP)


async def test_a_write_that_failed_may_be_tried_again_under_its_request_id(graph: Graph):
    root, child, request_id = new_id(), new_id(), new_id()
    await graph.write(node(id=root))
    async with refused(NodeNotFound):
        await graph.write(edge(root, child), request_id=request_id)
    await graph.write(node(id=child))

    await graph.write(edge(root, child), request_id=request_id)

    assert len(await graph.reached(root)) == 1


async def test_a_request_id_is_a_uuid(graph: Graph):
    async with refused(InvalidArgument, violations=["request_id"]):
        await graph.write(node(), request_id="1")


async def test_request_ids_are_the_tenants_own(graph: Graph, others: Graph):
    request_id, node_id = new_id(), new_id()

    await graph.write(node(id=node_id), request_id=request_id)
    await others.write(node("Other", id=node_id), request_id=request_id)

    assert (await graph.get(node_id)).general_type_name == "Message"
    assert (await others.get(node_id)).general_type_name == "Other"


async def test_the_stored_answer_holds_no_document(graph: Graph, database: Database):
    root = new_id()
    await graph.write(node(id=root, data={"text": "x" * 5000}), node(), edge(root, root), request_id=new_id())

    (row,) = await database.tenant(DEFAULT_TENANT_ID).query(
        "SELECT pg_column_size(answer) AS size_bytes FROM entity.request"
    )

    assert row.size_bytes < 200


async def test_skip_leaves_what_is_there_and_writes_the_rest(graph: Graph):
    a, b = new_id(), new_id()
    first = await graph.write(node(id=a, external_id="x", data={"n": 1}), node(id=b), edge(a, b, id=new_id()))

    rows = (
        node(id=a, data={"n": 2}),
        node(external_id="x", data={"n": 3}),
        node(external_id="new"),
        edge(a, b),
        edge(b, a, id=first.edges[0].id),
        edge(b, a),
    )
    second = await graph.write(*rows, on_existing=SKIP)

    assert [row.existed for row in second.nodes] == [True, True, False]
    assert [row.id for row in second.nodes[:2]] == [a, a]
    assert (second.nodes[1].created_at, second.nodes[1].seq) == (first.nodes[0].created_at, first.nodes[0].seq)
    assert [row.existed for row in second.edges] == [True, True, False]
    assert [row.id for row in second.edges[:2]] == [first.edges[0].id] * 2
    assert second.edges[0].created_at == first.edges[0].created_at
    assert (await graph.get(a)).data_json == '{"n": 1}'


async def test_skip_joins_edges_to_the_node_that_is_there_in_place_of_the_one_given(graph: Graph):
    there = (await graph.write(node(external_id="session"))).nodes[0].id
    given, message = new_id(), new_id()

    written = await graph.write(
        node(id=given, external_id="session"), node(id=message), edge(given, message), on_existing=SKIP
    )

    assert written.nodes[0].id == there
    assert [row.node.id for row in await graph.reached(there, depth_max=1)] == [message]
    async with refused(NodeNotFound):
        await graph.get(given)
    again = await graph.write(
        node(id=given, external_id="session"), node(id=message), edge(given, message), on_existing=SKIP
    )
    assert [row.existed for row in (*again.nodes, *again.edges)] == [True] * 3


async def test_skip_takes_a_row_that_the_request_repeats_once(graph: Graph):
    a, b = new_id(), new_id()

    written = await graph.write(
        node(id=a, external_id="x"), node(id=a), node(id=b, external_id="x"), edge(a, b), edge(a, a), on_existing=SKIP
    )

    assert [(row.id, row.existed) for row in written.nodes] == [(a, False), (a, True), (a, True)]
    assert [row.existed for row in written.edges] == [False, True]


async def test_skip_answers_a_repeat_as_the_first_time(graph: Graph):
    """The second time, everything exists; the answer says what was so the first time."""
    rows = (node(external_id="x"), node(), node(external_id="y"))
    await graph.write(node(external_id="y"))
    request_id = new_id()

    first = await graph.write(*rows, on_existing=SKIP, request_id=request_id)
    again = await graph.write(*rows, on_existing=SKIP, request_id=request_id)

    assert [row.existed for row in first.nodes] == [False, False, True]
    assert again == first


async def test_skip_still_refuses_what_cannot_be_joined(graph: Graph, missing_id: str):
    here = new_id()
    async with refused(NodeNotFound, node_id=missing_id):
        await graph.write(node(id=here), edge(here, missing_id), on_existing=SKIP)
    async with refused(NodeNotFound):
        await graph.get(here)


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
