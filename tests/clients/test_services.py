"""Both clients against both real services: every method once, as a user would call it."""

from __future__ import annotations

import asyncio
import hashlib
import os
from datetime import UTC, datetime, timedelta

import pytest

from contextkeep import EdgeInput, MemoryType, NodeInput, SampleNode, new_id
from contextkeep.errors import (
    EdgeExists,
    InvalidArgument,
    NodeNotFound,
    RecordArchived,
    RecordHasNoBlob,
)
from tests.clients.memory import MIB


async def test_edges_and_walks(world, graph):
    session = await world.run(graph.graph.create_node, "Session")
    turn = await world.run(graph.graph.create_node, "Turn")
    edge = await world.run(graph.graph.create_edge, session.id, turn.id, "Contains", data={"why": "first"})
    assert (edge.from_node_id, edge.to_node_id, edge.data) == (session.id, turn.id, {"why": "first"})
    with pytest.raises(EdgeExists):
        await world.run(graph.graph.create_edge, session.id, turn.id, "Contains")

    turns = [NodeInput("Turn", data={"n": n}) for n in range(250)]
    edges = [EdgeInput(session.id, each.id, "Contains") for each in turns]
    written = await world.run(graph.graph.write, turns, edges)
    assert [row.id for row in written.nodes] == [each.id for each in turns]
    again = await world.run(graph.graph.write, turns[:2], edges[:2], on_existing="skip")
    assert [row.existed for row in (*again.nodes, *again.edges)] == [True] * 4

    listed = await world.run(graph.graph.list_edges, session.id, edge_types=["Contains"])
    assert [each.to_node_id for each in listed] == [turn.id, *(each.id for each in turns)]
    assert await world.run(graph.graph.list_edges, session.id, direction="in") == []

    reached = await world.run(graph.graph.traverse, session.id, edge_types=["Contains"], include_start=True)
    assert [each.node.id for each in reached] == [session.id, turn.id, *(each.id for each in turns)]
    assert reached[0].reached_by is None
    assert reached[1].reached_by.data == {"why": "first"}
    newest = await world.run(graph.graph.traverse, session.id, descending=True, limit=3)
    assert [each.node.data["n"] for each in newest] == [249, 248, 247]

    (first,) = await world.run(graph.graph.traverse_pages, session.id, limit=10)
    (second,) = await world.run(graph.graph.traverse_pages, session.id, limit=10, page_token=first.next_page_token)
    assert len({reached.node.id for page in (first, second) for reached in page.nodes}) == 20


async def test_timelines(world, graph):
    task, step = [await world.run(graph.graph.create_node, kind) for kind in ("Task", "Step")]
    await world.run(graph.graph.create_edge, task.id, step.id, "Calls")
    await world.run(graph.graph.update_node_status, task.id, "Running", message="off we go")
    appended = await world.run(
        graph.progress.append, step.id, "VALUE", sub_type="return", status="COMPLETED", value={"a": 1}, error=None
    )

    first, second = await world.run(graph.progress.list, task.id, page_size=1)
    assert (first.node_id, first.type, first.status, first.message) == (task.id, "status", "running", "off we go")
    assert first.value == {"from": "Created", "to": "Running"}
    assert (second.node_id, second.seq, second.created_at) == (step.id, *appended)
    assert (second.sub_type, second.value, second.error, second.error_json) == ("return", {"a": 1}, None, "null")
    assert str(second).endswith("value return completed")
    assert await world.run(graph.progress.list, task.id, own_only=True) == [first]
    assert await world.run(graph.progress.list, task.id, types=["value"]) == [second]
    assert await world.run(graph.progress.list, task.id, types=["VALUE"]) == [second]
    assert await world.run(graph.progress.list, task.id, descending=True) == [second, first]
    with pytest.raises(InvalidArgument):
        await world.run(graph.progress.append, step.id, "shout")
    assert await world.run(graph.progress.clear, task.id) == 1
    assert await world.run(graph.progress.list, task.id) == [second]


async def test_input_and_output(world, graph):
    session, turn = [await world.run(graph.graph.create_node, kind) for kind in ("Session", "Turn")]
    await world.run(graph.graph.create_edge, session.id, turn.id, "Contains")
    empty = await world.run(graph.graph.get_node_io, turn.id)
    assert (empty.input, empty.output, empty.modified_at) == (None, None, None)

    await world.run(graph.graph.set_node_io, turn.id, input={"text": "ünï"}, output=None)
    modified_at = await world.run(graph.graph.set_node_io, turn.id, input=[1])
    io = await world.run(graph.graph.get_node_io, turn.id)
    assert (io.input, io.output, io.output_json, io.modified_at) == ([1], None, "null", modified_at)

    reached = await world.run(graph.graph.traverse, session.id, include_start=True, include_io=True)
    assert [each.io and each.io.input for each in reached] == [None, [1]]
    assert [each.io for each in await world.run(graph.graph.traverse, session.id)] == [None]
    (page,) = await world.run(graph.graph.traverse_pages, session.id, include_io=True)
    assert page.nodes[0].io.input_json == "[1]"

    with pytest.raises(InvalidArgument):
        await world.run(graph.graph.set_node_io, turn.id)
    with pytest.raises(InvalidArgument) as raised:
        await world.run(graph.graph.set_node_io, turn.id, output=float("nan"))
    assert raised.value.violations[0].field == "output_json"
    for method, sides in ((graph.graph.set_node_io, {"input": 1}), (graph.graph.get_node_io, {})):
        with pytest.raises(NodeNotFound):
            await world.run(method, new_id(), **sides)


async def test_records(world, context):
    entity_node_id = new_id()
    expires_at = datetime.now(UTC) + timedelta(days=1)
    record = await world.run(
        context.records.insert,
        MemoryType.JSON,
        "plan",
        content_json='{"b": 1,  "a": 2}',
        entity_node_id=entity_node_id,
        metadata={"page": {"n": 1}},
        tags=["draft", "mine"],
        expires_at=expires_at,
        embedding=[0.5] * 1536,
        embedding_model="m-1",
    )
    assert (record.memory_type, record.provider, record.status) == ("data/json", "postgres", "active")
    assert record.content_json == '{"b": 1,  "a": 2}'  # byte for byte
    assert record.content == {"a": 2, "b": 1}
    assert record.tags == ("draft", "mine")
    assert abs(record.expires_at - expires_at) < timedelta(milliseconds=1)
    assert await world.run(context.records.get, record.working_memory_id) == record
    assert await world.run(context.blobs.get_content, record) == b'{"b": 1,  "a": 2}'
    with pytest.raises(RecordHasNoBlob):
        await world.read(context, record)

    note = await world.run(context.records.insert, MemoryType.MARKDOWN, "note", content_text="# Note\n")
    assert (note.content_type, note.content_json, note.content_text) == ("text/plain", "", "# Note\n")
    assert note.content == "# Note\n"
    assert await world.run(context.blobs.get_content, note) == b"# Note\n"
    turned = await world.run(context.records.update, note.working_memory_id, content={"a": 1})
    assert (turned.content, turned.content_text) == ({"a": 1}, "")

    changed = await world.run(
        context.records.update, record.working_memory_id, name="better plan", content=[1], tags=[], expected_version=1
    )
    assert (changed.name, changed.content, changed.tags, changed.metadata) == ("better plan", [1], (), record.metadata)
    assert changed.version == 2
    emptied = await world.run(context.records.update, record.working_memory_id, expires_at=None, metadata=None)
    assert (emptied.expires_at, emptied.metadata) == (None, {})

    for n in range(5):
        await world.run(
            context.records.insert, "note", f"n{n}", content=n, entity_node_id=entity_node_id, metadata={"n": n}
        )
    records = await world.run(context.records.list_by_entity, entity_node_id, page_size=2)
    assert [each.name for each in records] == ["n4", "n3", "n2", "n1", "n0", "better plan"]
    assert records[0].content is None
    notes = await world.run(
        context.records.list_by_entity,
        entity_node_id,
        memory_types=["note"],
        metadata_contains={"n": 3},
        with_content=True,
    )
    assert [(each.name, each.content) for each in notes] == [("n3", 3)]


async def test_files(world, context, tmp_path):
    entity_node_id = new_id()
    content = os.urandom(3 * MIB + 17)
    (tmp_path / "in.bin").write_bytes(content)
    record = await world.run(context.blobs.upload, tmp_path / "in.bin", entity_node_id=entity_node_id)
    assert (record.name, record.memory_type, record.provider) == ("in.bin", "file", "local")
    assert record.sha256 == hashlib.sha256(content).hexdigest()

    await world.run(context.blobs.download, record.working_memory_id, tmp_path / "out.bin")
    assert (tmp_path / "out.bin").read_bytes() == content
    assert await world.read(context, record.blob_key) == content
    assert await world.read(context, record, offset_bytes=MIB - 1, length_bytes=2) == content[MIB - 1 : MIB + 1]

    small = await world.run(context.blobs.upload, [b"he", b"llo"], name="hello.md", entity_node_id=entity_node_id)
    assert small.content_type == "text/markdown"
    assert await world.run(context.blobs.get_content, small) == b"hello"
    with pytest.raises(InvalidArgument):
        await world.run(context.blobs.upload, b"hello", name="x", sha256="0" * 64)

    blobs = await world.run(context.blobs.list, entity_node_id, page_size=1)
    assert [blob.name for blob in blobs] == ["hello.md", "in.bin"]
    assert await world.run(context.blobs.delete, blobs[1]) == record.working_memory_id
    with pytest.raises(RecordArchived):
        await world.read(context, record)
    assert await world.read(context, record, include_archived=True) == content
    assert [blob.name for blob in await world.run(context.blobs.list, entity_node_id)] == ["hello.md"]


async def test_an_upload_repeated_by_hand_is_one_record(world, context):
    request_id = new_id()
    content = os.urandom(2 * MIB)
    first = await world.run(context.blobs.upload, content, name="x", request_id=request_id)
    again = await world.run(context.blobs.upload, content, name="x", request_id=request_id)
    assert again.working_memory_id == first.working_memory_id


async def test_chat_history(world, graph, context):
    session = NodeInput("Session")
    turns = [NodeInput("Turn", data={"user_input": f"q{n}", "assistant_output": f"a{n}"}) for n in range(3)]
    await world.run(
        graph.graph.write, [session, *turns], [EdgeInput(session.id, turn.id, "Contains") for turn in turns]
    )

    for read in (context.history.stream, context.history.get):
        history = await world.run(read, session.id)
        assert [str(message) for message in history] == [
            "user: q0",
            "assistant: a0",
            "user: q1",
            "assistant: a1",
            "user: q2",
            "assistant: a2",
        ]
        assert (history.nodes_failed, history.roles_unknown) == (0, 0)
        newest = await world.run(read, session.id, max_messages=3)
        assert [message.content for message in newest] == ["a1", "q2", "a2"]
        fitting = await world.run(read, session.id, tokens_max=12)
        assert ([message.content for message in fitting], fitting.tokens, fitting.is_cut) == (["q2", "a2"], 12, True)
        with pytest.raises(NodeNotFound):
            await world.run(read, new_id())


async def test_rules_are_tried_before_they_are_registered(world, graph, context):
    rules = {"messages": [{"role": "root.data.role", "content": "entity.io.input.text"}]}
    nodes = [SampleNode(id="a", io={"input": {"text": "hello"}}), SampleNode()]

    a, other = await world.run(
        context.mappings.test, rules, nodes=nodes, root=SampleNode(data={"role": "user"}), page_size=1
    )

    assert (a.node_id, a.included, a.decided_by, str(a.messages[0].message)) == (
        "a",
        True,
        "rules.messages[0]",
        "user: hello",
    )
    assert [(one.rule, one.element, one.value) for one in a.evaluations] == [
        ("rules.messages[0].content", None, "hello"),
        ("rules.messages[0].role", None, "user"),
    ]
    assert (other.node_id, other.included) == ("nodes[1]", False)
    assert str(other.evaluations[0]) == f"rules.messages[0].content: {other.skipped[0].error}"

    session = await world.run(graph.graph.create_node, "Session", data={"role": "user"})
    assert await world.run(context.mappings.test, rules, node_id=session.id) == []
    with pytest.raises(InvalidArgument, match="io"):
        await world.run(context.mappings.test, rules, nodes=[SampleNode(io={"inptu": 1})])


async def test_a_chat_history_as_model_vendors_take_it(world, graph, context):
    session, turn = NodeInput("Session"), NodeInput("Turn", data={"user_input": "q", "assistant_output": "a"})
    await world.run(graph.graph.write, [session, turn], [EdgeInput(session.id, turn.id, "Contains")])

    openai = await world.run(context.history.formatted, session.id, "openai")
    anthropic = await world.run(context.history.formatted, session.id, "anthropic", max_messages=1)
    gemini = await world.run(context.history.formatted, session.id, "gemini")

    assert openai.body == {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}
    assert (openai.nodes_failed, openai.tool_results_left_out, openai.tool_calls_unanswered) == (0, 0, 0)
    assert gemini.body["contents"][1] == {"role": "model", "parts": [{"text": "a"}]}
    assert [one["role"] for one in anthropic.body["messages"]] == ["user", "assistant"]  # it demands a user in front
    assert anthropic.body["messages"][1]["content"] == [{"type": "text", "text": "a"}]
    with pytest.raises(InvalidArgument, match="'mistral', not one of openai, anthropic, gemini"):
        await world.run(context.history.formatted, session.id, "mistral")


async def test_many_tasks_share_a_client(world, graph):
    nodes = await asyncio.gather(*(world.run(graph.graph.create_node, "Turn", data={"n": n}) for n in range(40)))
    assert sorted(node.data["n"] for node in nodes) == list(range(40))
