"""Both clients against both real services: every method once, as a user would call it."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from datetime import UTC, datetime, timedelta

import pytest

from contextkeep import ConnectedTo, EdgeInput, MemoryType, NodeInput, SampleNode, new_id
from contextkeep.errors import (
    ChangesNotStarted,
    EdgeExists,
    EdgeNotFound,
    EmbeddingNotFound,
    ExternalIdTaken,
    InvalidArgument,
    InvalidPageToken,
    MappingExists,
    MappingNotFound,
    NodeNotFound,
    RecordArchived,
    RecordHasNoBlob,
    RequestIdReused,
    StatusConflict,
    Unauthenticated,
    VersionConflict,
)
from tests.clients.memory import MIB


async def test_nodes(world, graph):
    created_at = datetime(2020, 1, 2, tzinfo=UTC)
    node = await world.run(
        graph.graph.create_node,
        "Session",
        name="support",
        data={"n": 1, "text": "ünï"},
        external_id="thread-1",
        created_at=created_at,
    )
    assert (node.status, node.graph_name, node.specific_type_name, node.version) == ("Created", "default", "Session", 1)
    assert node.created_at == created_at
    assert await world.run(graph.graph.get_node, node.id) == node
    assert await world.run(graph.graph.get_node_by_external_id, "thread-1") == node
    found, matches = await world.run(graph.graph.get_node_by_name, "support")
    assert (found, matches) == (node, 1)
    assert await world.run(graph.graph.create_node, "Session", external_id="thread-1", get_existing=True) == node
    with pytest.raises(ExternalIdTaken) as raised:
        await world.run(graph.graph.create_node, "Session", external_id="thread-1")
    assert raised.value.metadata["node_id"] == node.id

    missing = new_id()
    batch = await world.run(graph.graph.get_nodes, [missing, node.id])
    assert batch.nodes == [node]
    assert batch.missing_ids == [missing]

    node = await world.run(graph.graph.update_node_data, node.id, {"n": None, "m": 2}, expected_version=1)
    assert node.data == {"text": "ünï", "m": 2}
    node = await world.run(graph.graph.update_node_data, node.id, {"k": [1]}, replace=True)
    assert node.data == {"k": [1]}
    with pytest.raises(VersionConflict):
        await world.run(graph.graph.update_node_data, node.id, {}, expected_version=1)

    node = await world.run(
        graph.graph.update_node_status, node.id, "Running", expected_status="Created", message="begun"
    )
    assert node.status == "Running"
    with pytest.raises(StatusConflict):
        await world.run(graph.graph.update_node_status, node.id, "Failed", expected_status="Created")

    assert (await world.run(graph.graph.archive_node, node.id)).is_archived
    with pytest.raises(NodeNotFound):
        await world.run(graph.graph.get_node_by_name, "support")
    assert not (await world.run(graph.graph.archive_node, node.id, restore=True)).is_archived


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


async def test_single_edges(world, graph):
    session, turn = [await world.run(graph.graph.create_node, kind) for kind in ("Session", "Turn")]
    edge = await world.run(graph.graph.create_edge, session.id, turn.id, "Contains", data={"a": 1})

    assert await world.run(graph.graph.get_edge, edge.id) == edge
    found, missing_ids = await world.run(graph.graph.get_edges, [missing := new_id(), edge.id])
    assert (found, missing_ids) == ([edge], [missing])
    changed = await world.run(graph.graph.update_edge_data, edge.id, {"b": 2}, expected_version=1)
    assert (changed.data, changed.version) == ({"a": 1, "b": 2}, 2)
    assert (await world.run(graph.graph.update_edge_data, edge.id, {"c": 3}, replace=True)).data == {"c": 3}
    with pytest.raises(VersionConflict):
        await world.run(graph.graph.delete_edge, edge.id, expected_version=1)
    assert (await world.run(graph.graph.delete_edge, edge.id)).version == 3
    with pytest.raises(EdgeNotFound):
        await world.run(graph.graph.get_edge, edge.id)
    await world.run(graph.graph.create_edge, session.id, turn.id, "Contains")
    ends = {"from_node_id": session.id, "to_node_id": turn.id, "edge_type": "Contains"}
    assert (await world.run(graph.graph.delete_edge, **ends)).to_node_id == turn.id


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


async def test_searches(world, graph):
    task = await world.run(graph.graph.create_node, "Task", name="first", data={"n": 2}, agent_bundle_id="b")
    turns = [await world.run(graph.graph.create_node, "Turn", data={"n": n, "tags": ["x"] * n}) for n in range(3)]
    for turn in turns[:2]:
        await world.run(graph.graph.create_edge, task.id, turn.id, "Calls")

    async def found(condition=None, **options):
        nodes = await world.run(graph.graph.search, condition, page_size=1, **options)
        options = {name: value for name, value in options.items() if name not in ("order_by", "descending")}
        assert await world.run(graph.graph.count, condition, **options) == len(nodes)
        return nodes

    assert await found() == [task, *turns]
    assert await found({"type": "Turn", "data.n": {"$lt": 2}}) == turns[:2]
    assert await found(contains={"tags": ["x"]}, order_by="data.n", descending=True) == [turns[2], turns[1]]
    assert await found(json_path="$.n == 2", descending=True) == [turns[2], task]
    assert await found(agent_bundle_id="b") == [task]
    assert await found(connected_to=ConnectedTo(task.id, edge_types=["Calls"])) == turns[:2]
    assert await found(connected_to=ConnectedTo(turns[0].id, direction="in", depth_max=1)) == [task]
    assert await found(graph_name="other") == []
    with pytest.raises(InvalidArgument) as raised:
        await found({"$and": [{"status": {"$in": 1}}]})
    assert [violation.field for violation in raised.value.violations] == ["filter.condition_json.$and[0].status.$in"]
    assert await world.run(graph.graph.list_graphs) == [("default", 4, 2)]
    assert await world.run(graph.graph.list_edge_types) == [("Calls", 2)]


async def test_changes(world, graph):
    with pytest.raises(ChangesNotStarted):
        await world.run(graph.changes.list)
    place = await world.run(graph.changes.start)
    customer = await world.run(graph.graph.create_node, "Customer")
    order = await world.run(graph.graph.create_node, "Order")
    edge = await world.run(graph.graph.create_edge, customer.id, order.id, "Placed")
    await world.run(graph.graph.delete_node, order.id)

    give_up_at = time.monotonic() + 5
    while len((page := await world.run(graph.changes.list, place)).changes) < 3 or page.changes[-1].kind != "removed":
        assert time.monotonic() < give_up_at
    first, second, third = page.changes
    assert (first.kind, first.node_id, first.general_type_name, first.edge_id) == (
        "changed",
        customer.id,
        "Customer",
        "",
    )
    assert (second.kind, second.edge_id, second.edge_type) == ("removed", edge.id, "Placed")
    assert (second.from_node_id, second.to_node_id, second.node_id) == (customer.id, order.id, "")
    assert (third.kind, third.node_id, third.graph_name) == ("removed", order.id, "default")
    assert third.changed_at.tzinfo is UTC
    assert (await world.run(graph.changes.list, place, page_size=1)).has_more
    behind = await world.run(graph.changes.list, page.next_place)
    assert (behind.changes, behind.has_more) == ([], False)
    with pytest.raises(InvalidPageToken):
        await world.run(graph.changes.list, "x")


async def test_embeddings(world, graph):
    one, two = [await world.run(graph.graph.create_node, "Note") for _ in range(2)]
    written = await world.run(
        graph.embeddings.upsert, one.id, (1, 2), name="text", model="m", text_sha256="ab" * 32, metadata={"a": 1}
    )
    assert (written.node_id, written.name, written.dimension, written.model) == (one.id, "text", 2, "m")
    assert (written.text_sha256, written.metadata, written.vector) == ("ab" * 32, {"a": 1}, ())
    await world.run(graph.embeddings.upsert, one.id, [2, 1])
    await world.run(graph.embeddings.upsert, two.id, [2, 1], name="text")

    listed = await world.run(graph.embeddings.list, one.id, page_size=1, with_vectors=True)
    assert [(each.name, each.vector) for each in listed] == [("default", (2, 1)), ("text", (1, 2))]
    (nearest, similarity), (farther, _) = await world.run(graph.embeddings.search, [2, 1], name="text")
    assert (nearest, similarity, farther) == (two, 1, one)
    ((found, _),) = await world.run(graph.embeddings.search, node_id=two.id, name="text", similarity_min=0.5)
    assert found == one
    ((found, _),) = await world.run(graph.embeddings.search, [2, 1], name="text", metadata_contains={"a": 1})
    assert found == one
    with pytest.raises(InvalidArgument):
        await world.run(graph.embeddings.upsert, one.id, ["x"])
    await world.run(graph.embeddings.delete, two.id, "text")
    with pytest.raises(EmbeddingNotFound):
        await world.run(graph.embeddings.search, node_id=two.id, name="text")


async def test_nodes_reset_and_deleted(world, graph):
    session, turn = [await world.run(graph.graph.create_node, kind) for kind in ("Session", "Turn")]
    await world.run(graph.graph.create_edge, session.id, turn.id, "Contains")
    await world.run(graph.graph.set_node_io, turn.id, input=1, output=2)
    await world.run(graph.graph.update_node_status, turn.id, "Failed")

    assert (await world.run(graph.graph.reset_node, turn.id, expected_version=2)).status == "Created"
    io = await world.run(graph.graph.get_node_io, turn.id)
    assert (io.input, io.output) == (1, None)
    with pytest.raises(VersionConflict):
        await world.run(graph.graph.delete_node, turn.id, expected_version=1)
    assert await world.run(graph.graph.delete_node, turn.id) == 1
    with pytest.raises(NodeNotFound):
        await world.run(graph.graph.get_node, turn.id)


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


async def test_a_write_repeated_by_hand_answers_as_the_first_time(world, graph):
    request_id = new_id()
    node = await world.run(graph.graph.create_node, "Session", name="once", request_id=request_id)
    assert await world.run(graph.graph.create_node, "Session", name="once", request_id=request_id) == node
    with pytest.raises(RequestIdReused):
        await world.run(graph.graph.create_node, "Session", name="twice", request_id=request_id)


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


async def test_provenance(world, graph, context):
    session = NodeInput("Session")
    turns = [NodeInput("Turn", data={"role": role, "content": "said", "at": {"n": 1}}) for role in ("user", "robot")]
    await world.run(
        graph.graph.write, [session, *turns], [EdgeInput(session.id, turn.id, "Contains") for turn in turns]
    )

    said, unsaid = await world.run(context.history.assemble, session.id, data_paths=["at.n", "gone"], page_size=1)

    assert (str(said), said.node_id, said.type, said.depth) == ("user: said", turns[0].id, "Turn", 1)
    assert (said.values, said.from_node_id, said.edge_type) == ({"at.n": 1}, session.id, "Contains")
    assert said.modified_at == said.created_at
    assert unsaid.messages == ()
    last = unsaid.skipped[-1]
    assert (last.reason, last.rule, last.error) == ("role_unknown", "rules.messages[2].role", "'robot' is no role")


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


async def test_the_history_of_an_entity(world, graph, context):
    node = await world.run(graph.graph.create_node, "Task", data={"n": 1})
    await world.run(graph.graph.update_node_status, node.id, "Running")
    await world.run(context.records.insert, name="x", memory_type="file", entity_node_id=node.id)
    edge = await world.run(
        graph.graph.create_edge, node.id, (await world.run(graph.graph.create_node, "Task")).id, "Calls"
    )

    events = await world.run(context.history.list_events, node.id, page_size=2)

    assert {event.kind for event in events} == {
        "node_created",
        "node_changed",
        "status",
        "record_created",
        "edge_created",
    }
    assert (events[0].kind, events[0].time, events[0].document["name"]) == ("node_created", node.created_at, "")
    assert events[-1].edge_id == edge.id
    assert await world.run(context.history.list_events, node.id, descending=True) == events[::-1]
    newest_first = await world.run(graph.graph.list_edges, node.id, descending=True)
    assert [each.id for each in newest_first] == [edge.id]


async def test_mappings(world, graph, context):
    rules = {"edge_types": ["Says"], "role_field": "role", "content_field": "text"}
    mapping = await world.run(context.mappings.register, "said", rules, app_id="shop")
    assert (mapping.mapping_name, mapping.app_id, mapping.version) == ("said", "shop", 1)
    assert mapping.rules.items() >= rules.items()
    assert await world.run(context.mappings.register, "said", rules, app_id="shop") == mapping
    with pytest.raises(MappingExists):
        await world.run(context.mappings.register, "said", {**rules, "content_field": "other"}, app_id="shop")
    assert await world.run(context.mappings.get, "said", app_id="shop") == mapping
    listed = await world.run(context.mappings.list, page_size=1)
    assert {str(each) for each in listed} >= {"shop/said", "simple_chat"}

    person = await world.run(graph.graph.create_node, "Person")
    line = await world.run(graph.graph.create_node, "Line", data={"role": "user", "text": "hello"})
    await world.run(graph.graph.create_edge, person.id, line.id, "Says")
    history = await world.run(context.history.stream, person.id, mapping_name="said", app_id="shop")
    assert [(message.role, message.content, message.node_id) for message in history] == [("user", "hello", line.id)]

    assert await world.run(context.mappings.delete, "said", app_id="shop") == mapping
    with pytest.raises(MappingNotFound):
        await world.run(context.mappings.get, "said", app_id="shop")


async def test_tenants_do_not_meet(world, graph, context, other_key):
    node = await world.run(graph.graph.create_node, "Session")
    record = await world.run(context.blobs.upload, b"mine", name="x", entity_node_id=node.id)

    with pytest.raises(NodeNotFound):
        await world.run(graph.with_credential(other_key).graph.get_node, node.id)
    with pytest.raises(NodeNotFound):
        await world.run(context.with_credential(other_key).history.stream, node.id)
    assert await world.run(context.with_credential(other_key).blobs.list, node.id) == []
    with pytest.raises(Unauthenticated):
        await world.read(context.with_credential("wrong"), record)


async def test_many_tasks_share_a_client(world, graph):
    nodes = await asyncio.gather(*(world.run(graph.graph.create_node, "Turn", data={"n": n}) for n in range(40)))
    assert sorted(node.data["n"] for node in nodes) == list(range(40))
