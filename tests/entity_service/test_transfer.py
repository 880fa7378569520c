"""Whole graphs read out and written in: all of them, again, broken off anywhere, while others write."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import grpc
import psycopg
import pytest

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from contextkeep.errors import (
    ExternalIdTaken,
    InvalidArgument,
    InvalidPageToken,
    LimitExceeded,
    NodeExists,
    NodeNotFound,
    PermissionDenied,
)
from entity_service.model.limits import Limits
from entity_service.wire import transfer
from service_runtime.inputs.pages import encode_token
from service_runtime.postgres import Database
from service_runtime.rpc.admission import Shares
from service_runtime.rpc.calls import Call, current_call
from service_runtime.rpc.held_bytes import HeldBytes, MemoryLimits
from tests.conftest import PRINCIPAL, Urls
from tests.contract.running import key_of
from tests.entity_service.graph import Graph, edge, new_id, node
from tests.errors import raised, refused
from tests.locks import until_waiting

MIB = 1024 * 1024
TIME = "2026-01-31T12:00:00.000001+00:00"


async def export(graph: Graph, graph_name: str = "", resume_token: str = "") -> list[pb.ExportGraphResponse]:
    request = pb.ExportGraphRequest(graph_name=graph_name, resume_token=resume_token)
    return [message async for message in graph.ExportGraph(request)]


async def exported(graph: Graph, graph_name: str = "") -> bytes:
    return b"".join([message.lines for message in await export(graph, graph_name)])


async def load(
    graph: Graph, lines: bytes | list[dict[str, Any]], *, chunk_bytes: int = MIB, **header: Any
) -> pb.ImportGraphResponse:
    data = lines if isinstance(lines, bytes) else "\n".join(map(json.dumps, lines)).encode()

    async def messages() -> AsyncIterator[pb.ImportGraphRequest]:
        yield pb.ImportGraphRequest(header=pb.ImportHeader(**header))
        for start in range(0, len(data), chunk_bytes):
            yield pb.ImportGraphRequest(lines=data[start : start + chunk_bytes])

    return await graph.ImportGraph(messages())


def node_line(node_id: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"node": {"id": node_id or new_id(), "general_type_name": "T", **fields}}


def edge_line(from_id: str, to_id: str, **fields: Any) -> dict[str, Any]:
    return {"edge": {"id": new_id(), "from_node_id": from_id, "to_node_id": to_id, "edge_type": "Contains", **fields}}


async def filled(graph: Graph, graph_name: str = "") -> list[str]:
    """A graph with some of everything; returns its nodes."""
    ids = [new_id() for _ in range(6)]
    long = '{"digits": 123456789012345678901234567890, "small": 1.50, "text": "\\u2028 \\"data\\": {}}"}'
    await graph.write(
        node("Session", id=ids[0], name="ünï\n", external_id="x", graph_name=graph_name, agent_bundle_id="b"),
        node("Turn", id=ids[1], specific_type_name="Late", data_json=long, graph_name=graph_name),
        node("Turn", id=ids[2], created_at={"seconds": 5, "nanos": 7000}, graph_name=graph_name),
        node("Turn", id=ids[3], status="Mine", graph_name=graph_name),
        *[node(id=i, graph_name=graph_name) for i in ids[4:]],
        edge(ids[0], ids[1], data_json=long, graph_name=graph_name),
        edge(ids[0], ids[2], "Calls", created_at={"seconds": 9}, graph_name=graph_name),
        edge(ids[2], ids[0], graph_name=graph_name),
    )
    await graph.ArchiveNode(pb.ArchiveNodeRequest(node_id=ids[4]))
    await graph.UpdateNodeStatus(pb.UpdateNodeStatusRequest(node_id=ids[1], status="Running", message="go"))
    await graph.AppendProgress(
        pb.AppendProgressRequest(node_id=ids[1], type=3, status=4, sub_type="s", error_json=long, value_json="null")
    )
    await graph.AppendProgress(pb.AppendProgressRequest(node_id=ids[5], type=2))
    await graph.SetNodeIO(pb.SetNodeIORequest(node_id=ids[0], input_json=long, output_json="null"))
    await graph.SetNodeIO(pb.SetNodeIORequest(node_id=ids[3], output_json='"\\"value\\":1}"'))
    for node_id in ids[:2]:
        await graph.UpsertEmbedding(
            pb.UpsertEmbeddingRequest(
                node_id=node_id, vector=[0.1, -3], model="m", text_sha256="ab" * 32, metadata_json=long
            )
        )
    await graph.UpsertEmbedding(pb.UpsertEmbeddingRequest(node_id=ids[0], name="other", vector=[1]))
    return ids


COUNTS = {"nodes": 6, "edges": 3, "embeddings": 3, "envelopes": 3}


def counts(answer: pb.ImportGraphResponse, what: str) -> dict[str, int]:
    return {kind: getattr(getattr(answer, kind), what) for kind in COUNTS}


async def test_an_imported_graph_is_the_exported_one(graph: Graph, others: Graph):
    ids = await filled(graph)
    lines = await exported(graph)

    answer = await load(others, lines)

    assert await exported(others) == lines
    assert (counts(answer, "written"), counts(answer, "existed")) == (COUNTS, dict.fromkeys(COUNTS, 0))
    assert answer.lines == len(lines.splitlines()) == 1 + sum(COUNTS.values()) + 3
    for node_id in ids:
        ours, theirs = await graph.get(node_id), await others.get(node_id)
        assert theirs.created_by == "other", "who wrote it is the import"
        for message in (ours, theirs):
            for field in ("created_by", "seq", "version", "modified_at"):
                message.ClearField(field)
        assert ours == theirs
        ours_io, theirs_io = [await to.GetNodeIO(pb.GetNodeIORequest(node_id=node_id)) for to in (graph, others)]
        assert (ours_io.input_json, ours_io.output_json) == (theirs_io.input_json, theirs_io.output_json)
    walked = [await to.reached(ids[0], depth_max=3) for to in (graph, others)]
    assert [row.node.id for row in walked[0]] == [row.node.id for row in walked[1]]


async def test_an_import_again_changes_nothing(graph: Graph, others: Graph):
    ids = await filled(graph)
    lines = await exported(graph)
    await load(others, lines)
    await others.UpdateNodeData(pb.UpdateNodeDataRequest(node_id=ids[0], data_json='{"theirs": 1}'))
    await others.SetNodeIO(pb.SetNodeIORequest(node_id=ids[0], output_json="1"))
    before = await exported(others)

    answer = await load(others, lines)

    assert (counts(answer, "written"), counts(answer, "existed")) == (dict.fromkeys(COUNTS, 0), COUNTS)
    assert await exported(others) == before


async def test_lines_may_be_cut_anywhere_and_be_blank(graph: Graph, others: Graph):
    await filled(graph)
    lines = await exported(graph)
    spaced = b"\n" + lines.replace(b"\n", b"\r\n \n").rstrip()

    answer = await load(others, spaced.lstrip(), chunk_bytes=7)

    assert await exported(others) == lines
    assert counts(answer, "written") == COUNTS


async def test_an_import_that_broke_off_at_any_line_is_begun_again(graph: Graph, others: Graph):
    await filled(graph)
    lines = (await exported(graph)).splitlines(keepends=True)

    for end in range(len(lines)):
        answer = await load(others, b"".join(lines[:end]))
        assert answer.lines == end
    await load(others, b"".join(lines))

    assert await exported(others) == b"".join(lines)


async def test_an_import_that_was_cancelled_is_begun_again(graph: Graph, others: Graph):
    rows = [node_line(data={"n": n}) for n in range(8000)]
    edges = [edge_line(rows[0]["node"]["id"], row["node"]["id"]) for row in rows[1:]]
    data = "\n".join(map(json.dumps, [*rows, *edges])).encode()
    for delay_s in (0.05, 0.2, 0.4):
        task = asyncio.ensure_future(load(others, data, chunk_bytes=100_000))
        await asyncio.sleep(delay_s)
        task.cancel()
        await asyncio.wait([task])

    answer = await load(others, data)

    assert (answer.nodes.written + answer.nodes.existed, answer.edges.written + answer.edges.existed) == (8000, 7999)
    assert len((await exported(others)).splitlines()) == 1 + 8000 + 7999


async def test_the_header_may_name_another_graph(graph: Graph, others: Graph):
    await filled(graph, "first")
    lines = await exported(graph, "first")
    assert json.loads(lines.splitlines()[0]) == {"graph": {"version": 1, "graph_name": "first"}}

    assert (await load(others, lines, graph_name="second")).graph_name == "second"

    assert (await exported(others, "second")).splitlines()[1:] == lines.splitlines()[1:]
    assert len((await exported(others, "first")).splitlines()) == 1
    assert (await load(others, [node_line()])).graph_name == "default"


async def test_a_node_stays_whose_it_is_if_the_caller_may_write_for_him(graph: Graph, others: Graph):
    ada, of_ada = as_caller(graph, user_id="ada"), new_id()
    await ada.write(node(id=of_ada))
    await graph.write(node(id=(nobodys := new_id())))
    lines = await exported(graph)

    may_delegate = as_caller(others, tenant_id=new_id(), scopes=["read", "write", "delegate"])
    for there in (others, may_delegate):
        await load(there, lines)
        assert [(await there.get(node_id)).owner_user_id for node_id in (of_ada, nobodys)] == ["ada", ""]
        assert await exported(there) == lines

    for caller in ({"scopes": ["read", "write"]}, {"scopes": ["read", "write", "delegate"], "user_id": "bob"}):
        async with refused(PermissionDenied):
            await load(as_caller(graph, **caller), [node_line(mine := new_id(), owner_user_id="ada")])
        assert list((await graph.BatchGetNodes(pb.BatchGetNodesRequest(node_ids=[mine]))).missing_ids) == [mine]
    await load(as_caller(graph, user_id="bob", scopes=["write"]), [node_line(mine, owner_user_id="bob")])
    assert (await graph.get(mine)).owner_user_id == "bob"


def as_caller(graph: Graph, **principal: Any) -> Graph:
    """Return the same tenant's graph, as somebody else calls it."""
    return graph.called_with(key_of(**{"tenant_id": str(graph.tenant_id), "subject": "caller", **principal}))


async def test_lines_written_by_hand_have_the_defaults_of_the_service(graph: Graph):
    first, second = node_line(), node_line(data={"n": 12345678901234567890123, "data": {"x": 1.50}}, name="n")
    first_id, second_id = first["node"]["id"], second["node"]["id"]
    reordered = json.dumps(second).replace('"general_type_name"', '"status": "S", "general_type_name"')
    reordered = reordered.replace("1.5", "1.50")

    await load(graph, f"{json.dumps(first)}\n{reordered}\n{json.dumps(edge_line(first_id, second_id))}".encode())

    row = await graph.get(first_id)
    assert (row.specific_type_name, row.status, row.graph_name, row.data_json) == ("T", "Created", "default", "{}")
    row = await graph.get(second_id)
    assert (row.status, row.data_json) == ("S", '{"n": 12345678901234567890123, "data": {"x": 1.50}}')


async def test_an_error_names_its_line_and_what_is_written(graph: Graph, missing_id: str):
    good = [node_line() for _ in range(1500)]

    async with refused(InvalidArgument, violations=["lines[1501].node.general_type_name"], lines_done="1000"):
        await load(graph, [*good, node_line(general_type_name="")])
    assert len((await exported(graph)).splitlines()) == 1001
    async with refused(NodeNotFound, violations=["lines[2501].edge.to_node_id"], lines_done="2000"):
        await load(graph, [*good, edge_line(good[0]["node"]["id"], missing_id)], lines_before=1000)
    assert len((await exported(graph)).splitlines()) == 1001, "a batch is written wholly or not at all"


async def test_hostile_lines_are_refused(graph: Graph, missing_id: str):
    there = node_line()
    await load(graph, [there])
    node_id = there["node"]["id"]
    ok = new_id()
    envelope = {"node_id": node_id, "type": "VALUE", "created_at": TIME}
    deep: Any = []
    for _ in range(101):
        deep = [deep]
    bad: list[tuple[Any, str]] = [
        (b"{", ""),
        (b"[]", ""),
        (b"{}", ""),
        (b'{"node": {}, "edge": {}}', ""),
        (b'{"nodes": {}}', ""),
        (b'{"node": []}', ".node"),
        (b"\xff\xfe", ""),
        (b'{"node": {"id": "\\ud800"}}', ""),
        (b'{"node": {"id": NaN}}', ""),
        (b"\0", ""),
        ({"graph": {"version": 2}}, ".graph.version"),
        ({"graph": {"version": 1, "graph_name": 1}}, ".graph.graph_name"),
        ({"node": {"id": ok}}, ".node.general_type_name"),
        ({"node": {"general_type_name": "T"}}, ".node.id"),
        (node_line(id="x"), ".node.id"),
        (node_line(id=1), ".node.id"),
        (node_line(id=""), ".node.id"),
        (node_line(unknown=1), ".node"),
        (node_line(graph_name="g"), ".node"),
        (node_line(data=[]), ".node.data_json"),
        (node_line(data=deep), ".node.data_json"),
        (node_line(name="a\0"), ""),
        (node_line(is_archived=1), ".node.is_archived"),
        (node_line(owner_user_id=1), ".node.owner_user_id"),
        (node_line(created_at="yesterday"), ".node.created_at"),
        (node_line(created_at="2026-01-01T00:00:00"), ".node.created_at"),
        (node_line(created_at="0001-01-01T00:00:00+23:59"), ".node.created_at"),
        (edge_line(node_id, node_id, edge_type=""), ".edge.edge_type"),
        (edge_line(node_id, node_id, id=""), ".edge.id"),
        (edge_line(node_id, "x"), ".edge.to_node_id"),
        (edge_line(node_id, node_id, data=1), ".edge.data_json"),
        ({"edge": {"id": ok}}, ".edge.from_node_id"),
        ({"input": {"node_id": node_id}}, ".input.value"),
        ({"output": {"node_id": 7, "value": 1}}, ".output.node_id"),
        ({"embedding": {"node_id": node_id, "vector": []}}, ".embedding.vector"),
        ({"embedding": {"node_id": node_id, "vector": ["1"]}}, ".embedding.vector"),
        ({"embedding": {"node_id": node_id, "vector": [True]}}, ".embedding.vector"),
        ({"embedding": {"node_id": node_id, "vector": [70000]}}, ".embedding.vector"),
        ({"embedding": {"node_id": node_id, "vector": [1], "metadata": []}}, ".embedding.metadata"),
        ({"embedding": {"node_id": node_id, "vector": [1], "text_sha256": "x"}}, ".embedding.text_sha256"),
        ({"envelope": envelope | {"type": "value"}}, ".envelope.type"),
        ({"envelope": envelope | {"status": "DONE"}}, ".envelope.status"),
        ({"envelope": envelope | {"message": 1}}, ".envelope.message"),
        ({"envelope": envelope | {"created_at": ""}}, ".envelope.created_at"),
        ({"envelope": {"node_id": node_id, "type": "VALUE"}}, ".envelope.created_at"),
    ]
    for line, place in bad:
        data = line if isinstance(line, bytes) else json.dumps(line).encode()
        field = f"lines[1]{place}"
        with pytest.raises(grpc.RpcError) as failure:
            await load(graph, data)
        error = raised(failure.value)
        assert isinstance(error, InvalidArgument), (line, error)
        fields = [violation.field for violation in error.violations]
        assert fields == [field] or (place.endswith("data_json") and fields == ["lines[1]"]), (line, error)
    for kind in ("input", "output"):
        async with refused(NodeNotFound, violations=[f"lines[1].{kind}.node_id"]):
            await load(graph, [{kind: {"node_id": missing_id, "value": 1}}])
    async with refused(NodeNotFound, violations=["lines[1].envelope.node_id"]):
        await load(graph, [{"envelope": envelope | {"node_id": missing_id}}])
    async with refused(NodeNotFound, violations=["lines[1].embedding.node_id"]):
        await load(graph, [{"embedding": {"node_id": missing_id, "vector": [1]}}])
    for field, value in (("data", {"a": "x" * MIB}), ("name", "x" * 513), ("owner_user_id", "x" * 513)):
        async with refused(LimitExceeded):
            await load(graph, [node_line(**{field: value})])
    async with refused(LimitExceeded, limit="line"):
        await load(graph, b" " * (5 * MIB))
    assert len((await exported(graph)).splitlines()) == 2


async def test_a_call_begins_with_its_header(graph: Graph):
    async def messages(*requests: pb.ImportGraphRequest) -> AsyncIterator[pb.ImportGraphRequest]:
        for request in requests:
            yield request

    header = pb.ImportGraphRequest(header=pb.ImportHeader())
    lines = pb.ImportGraphRequest(lines=b"\n")
    for several in ((), (lines,), (pb.ImportGraphRequest(),)):
        async with refused(InvalidArgument, violations=["header"]):
            await graph.ImportGraph(messages(*several))
    for several in ((header, header), (header, lines, pb.ImportGraphRequest())):
        async with refused(InvalidArgument, violations=["lines"]):
            await graph.ImportGraph(messages(*several))
    for lines_before in (-1, 2**53 + 1, 2**63 - 1):
        async with refused(InvalidArgument, violations=["header.lines_before"]):
            await load(graph, b"", lines_before=lines_before)
    async with refused(LimitExceeded, limit="header.graph_name"):
        await load(graph, b"", graph_name="x" * 129)
    assert await graph.ImportGraph(messages(header)) == await load(graph, b"")


async def test_what_is_there_as_something_else_is_refused(graph: Graph):
    taken, elsewhere = new_id(), new_id()
    await graph.write(node(id=taken, external_id="x"), node(id=elsewhere, graph_name="g"))
    vector = {"node_id": taken, "vector": [1, 2]}
    await load(graph, [{"embedding": vector}])

    async with refused(ExternalIdTaken, violations=["lines[1].node.external_id"], node_id=taken):
        await load(graph, [node_line(external_id="x")])
    async with refused(NodeExists, violations=["lines[1].node.id"], node_id=elsewhere):
        await load(graph, [node_line(elsewhere)])
    async with refused(InvalidArgument, violations=["lines[2].edge.to_node_id"]):
        await load(graph, [node_line(), edge_line(taken, elsewhere)])
    async with refused(InvalidArgument, violations=["lines[2].embedding.vector"], dimension=2):
        await load(graph, [node_line(ok := new_id()), {"embedding": {"node_id": ok, "vector": [1]}}])
    twice = node_line()
    answer = await load(graph, [twice, twice, edge_line(taken, taken), edge_line(taken, taken)])
    assert (answer.nodes.written, answer.nodes.existed) == (1, 1)
    assert (answer.edges.written, answer.edges.existed) == (1, 1)


async def test_a_timeline_is_gone_on_with(graph: Graph):
    line = node_line()
    node_id = line["node"]["id"]
    envelopes = [
        {
            "envelope": {
                "node_id": node_id,
                "type": "MESSAGE",
                "message": str(n),
                "created_at": f"2026-01-01T00:00:0{n}Z",
            }
        }
        for n in range(6)
    ]
    await load(graph, [line, *envelopes[:3]])

    answer = await load(graph, [line, *envelopes])

    assert (answer.envelopes.written, answer.envelopes.existed) == (3, 3)
    page = await graph.ListProgress(pb.ListProgressRequest(node_id=node_id))
    assert [row.message for row in page.envelopes] == list("012345")


async def test_an_export_goes_on_behind_any_message(graph: Graph):
    await filled(graph)
    for _ in range(3):
        await graph.write(node(data={"a": "x" * 700_000}), node(data={"a": "x" * 700_000}))
    messages = await export(graph)
    assert len(messages) >= 7

    for position, message in enumerate(messages):
        rest = await export(graph, resume_token=message.resume_token)
        assert [one.lines for one in rest] == [one.lines for one in messages[position + 1 :]]
    assert all(len(message.lines) < 2 * MIB and message.lines.endswith(b"\n") for message in messages)
    kinds = {kind: sum(getattr(message, kind) for message in messages) for kind in COUNTS}
    assert kinds == COUNTS | {"nodes": 12}


async def test_a_resume_token_fits_its_graph_only(graph: Graph, others: Graph):
    await filled(graph)
    (first, *_) = await export(graph)

    for to, name in ((others, ""), (graph, "g")):
        async with refused(InvalidPageToken):
            await export(to, name, resume_token=first.resume_token)
    binding = ("ExportGraph", graph.tenant_id, "default")
    for key in (
        [],
        [1, 0],
        [-1, 0, []],
        ["1", 0, []],
        [1, 5, []],
        [1, -1, []],
        [1, True, []],
        [1, 0, 1],
        [1, 0, [1]],
        [1, 0, ["1", 1]],
        [1, 0, [2**63, 1]],
        [1, 0, [1, -1]],
        [1, 1, ["x", "a"]],
        [1, 1, [new_id()]],
        [1, 1, [new_id(), "a\0"]],
        [1, 1, [new_id().upper(), "a"]],
        [1, 2, [1, 1]],
        [1, 2, [1, 1, None]],
        [1, 3, [1]],
        [1, 4, [1]],
    ):
        async with refused(InvalidPageToken, violations=["resume_token"]):
            await export(graph, resume_token=encode_token(binding, key))
    assert await export(graph, resume_token=encode_token(binding, [1, 4, []])) == []


async def test_other_graphs_and_other_tenants_are_not_in_an_export(graph: Graph, others: Graph):
    await filled(graph)
    ids = await filled(others)
    await graph.write(node(graph_name="other"))

    lines = (await exported(graph)).splitlines()

    assert len(lines) == 1 + sum(COUNTS.values()) + 3
    assert not any(node_id.encode() in line for node_id in ids for line in lines)
    assert (await exported(graph, "never was")).count(b"\n") == 1


async def test_an_export_while_others_write_can_be_imported(graph: Graph, others: Graph):
    """Every edge in it has both its nodes in it, too."""
    await graph.write(node(id=(top := new_id())))
    done = asyncio.Event()

    async def write(worker: int) -> None:
        last = top
        for _ in range(50):  # more than a quiet machine comes to; a busy one would write more than it reads out
            if done.is_set():
                return
            rows = [node(id=new_id(), created_at={"seconds": worker}) for _ in range(5)]
            edges = [edge(top, row.id) for row in rows] + [edge(rows[0].id, last)]
            await graph.write(*rows, *edges)
            last = rows[-1].id
            await graph.AppendProgress(pb.AppendProgressRequest(node_id=last, type=2))
            await graph.UpsertEmbedding(pb.UpsertEmbeddingRequest(node_id=last, vector=[1]))
            await asyncio.sleep(0.02)

    writers = [asyncio.ensure_future(write(worker)) for worker in range(4)]
    try:
        for _ in range(8):
            lines = await exported(graph)
            await load(others, lines)
    finally:
        done.set()
        await asyncio.gather(*writers)
    assert lines.count(b'{"edge"') > 20


_SLOW = """
CREATE FUNCTION entity.slow() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END';
CREATE TRIGGER slow BEFORE INSERT ON entity.node FOR EACH ROW WHEN (NEW.name = 'slow') EXECUTE FUNCTION entity.slow()
"""


async def test_an_export_waits_for_a_write_that_drew_its_place_and_has_written_nothing(graph: Graph, urls: Urls):
    """Its edges would be read, and its nodes not: their place is before that of a node that is there."""
    async with await psycopg.AsyncConnection.connect(urls.superuser) as connection:
        await connection.execute(_SLOW)
        await connection.commit()
        await connection.execute("SELECT pg_advisory_lock(7)")
        await graph.write(node(id=new_id()))  # logs the sequence ahead, which gives a transaction its id, too
        slow_id = new_id()
        writing = asyncio.ensure_future(graph.write(node(id=slow_id, name="slow")))
        await until_waiting(urls.superuser, 1)
        await graph.write(node(id=new_id()))

        exporting = asyncio.ensure_future(exported(graph))
        await asyncio.sleep(0.2)
        await connection.execute("SELECT pg_advisory_unlock(7)")
        await writing

        assert slow_id.encode() in await exporting


async def test_a_large_graph_keeps_its_order(graph: Graph, others: Graph, database: Database):
    """More than a page and a batch of each kind."""
    rows = [node_line(data={"n": n}) for n in range(2500)]
    ids = [row["node"]["id"] for row in rows]
    edges = [edge_line(ids[0], node_id) for node_id in ids[1:]]
    envelopes = [
        {
            "envelope": {
                "node_id": ids[n % 7],
                "type": "MESSAGE",
                "message": str(n),
                "created_at": f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z",
            }
        }
        for n in range(2500)
    ]
    vectors = [{"embedding": {"node_id": node_id, "vector": [1, 2]}} for node_id in ids[:50]]

    answer = await load(graph, [*rows, *vectors, *envelopes, *edges])

    assert counts(answer, "written") == {"nodes": 2500, "edges": 2499, "embeddings": 50, "envelopes": 2500}
    lines = await exported(graph)
    assert [json.loads(line)["node"]["id"] for line in lines.splitlines()[1:2501]] == ids
    await load(others, lines)
    assert await exported(others) == lines
    page = await graph.ListProgress(pb.ListProgressRequest(node_id=ids[3], page_size=1000))
    assert [row.message for row in page.envelopes] == [str(n) for n in range(2500) if n % 7 == 3]


async def test_the_lines_that_an_import_reads_and_writes_are_charged_to_its_caller():
    """The batch that is written counts until the next one is read; when the call ends, nothing is left."""
    shares = Shares(of_tenant=1.0, of_key=1.0)
    books = HeldBytes(MemoryLimits(process_bytes_max=1 << 40, held_bytes_max=1 << 30, shares=shares))
    current_call.set(Call(call_id="1", method="/ImportGraph", principal=PRINCIPAL, ledger=books))
    line = json.dumps(node_line(data={"text": "x" * 100_000})).encode() + b"\n"

    async def messages() -> AsyncIterator[pb.ImportGraphRequest]:
        yield pb.ImportGraphRequest(header=pb.ImportHeader())
        for _ in range(30):
            yield pb.ImportGraphRequest(lines=line)

    lines = transfer.ImportLines(messages(), Limits())
    await lines.open()
    held = [books.held async for _ in lines.batches()]
    batch_bytes = 11 * (len(line) - 1)  # the first number of lines that is over 1 MiB
    assert [round(of / transfer._BATCH_COPIES / batch_bytes, 1) for of in held] == [1.0, 2.0, 1.7]
    lines.close()
    assert books.held == 0
