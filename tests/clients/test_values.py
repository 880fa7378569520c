"""Values: what they parse, what they refuse to send, how they read."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
import subprocess
import sys
import time
import tomllib
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, asdict, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

import contextkeep
from contextkeep import (
    ChatHistory,
    ChatMapping,
    ChatMessage,
    Edge,
    EdgeInput,
    File,
    MemoryType,
    Node,
    NodeInput,
    Pack,
    PackSpan,
    Part,
    Reasoning,
    Record,
    TraversedNode,
    WrittenRow,
    new_id,
)
from contextkeep.client import _messages as messages
from contextkeep.context.v1 import chat_history_pb2, message_pb2, working_memory_pb2
from contextkeep.context.v1.context_windows_pb2 import PackResponse
from contextkeep.entity.v1 import entity_graph_pb2
from contextkeep.errors import InvalidArgument
from tests.clients.test_generated_values import message_class

ROOT = Path(__file__).resolve().parents[2]
AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
STAMP = Timestamp(seconds=int(AT.timestamp()), nanos=678901000)


def filled(message):
    """Set every field of a message, so that one which a value forgets shows."""
    for index, field in enumerate(message.DESCRIPTOR.fields, start=1):
        if field.containing_oneof is not None and len(field.containing_oneof.fields) > 1:
            continue
        if field.message_type is not None and field.message_type.full_name == "google.protobuf.Timestamp":
            getattr(message, field.name).CopyFrom(STAMP)
        elif field.message_type is not None:
            target = getattr(message, field.name)
            filled(target.add() if field.is_repeated else target)
        elif field.is_repeated:
            getattr(message, field.name).append(f"{field.name}!")
        elif field.enum_type is not None:
            setattr(message, field.name, 2)
        elif field.name.endswith("_json"):
            setattr(message, field.name, json.dumps({"n": index}))
        else:
            setattr(message, field.name, {9: f"{field.name}!", 8: True, 12: b"\x00!"}.get(field.type, index))
    return message


NEVER_ANSWERED = {"contextkeep.context.v1.File.data"}  # an answer names the record with the bytes


@pytest.mark.parametrize(
    ("value_class", "message"),
    [
        (WrittenRow, entity_graph_pb2.WrittenRow()),
        (TraversedNode, entity_graph_pb2.TraversedNode()),
        (ChatMessage, message_pb2.ChatMessage()),
        (Part, message_pb2.Part(text="x")),
        (Reasoning, message_pb2.Reasoning()),
        (File, message_pb2.File(url="x")),
    ],
)
def test_a_value_that_is_written_by_hand_has_every_field_of_its_message(value_class, message):
    value = value_class.from_proto(filled(message))

    for field in message.DESCRIPTOR.fields:
        if field.full_name in NEVER_ANSWERED:
            continue
        found, sent = getattr(value, field.name), getattr(message, field.name)
        if field.message_type is not None and field.message_type.full_name == "google.protobuf.Timestamp":
            assert found == AT
        elif field.message_type is None and field.enum_type is None and not field.is_repeated:
            assert found == sent
        elif field.containing_oneof is None:
            assert found, field.name
    assert pickle.loads(pickle.dumps(value)) == value
    assert hash(value)


@given(st.datetimes(timezones=st.just(UTC)))
def test_any_time_of_the_calendar_is_read_as_it_is(at: datetime):
    stamp = Timestamp()
    stamp.FromDatetime(at)

    row = WrittenRow.from_proto(entity_graph_pb2.WrittenRow(created_at=stamp))

    assert row.created_at == at
    assert row.created_at.tzinfo is UTC


def test_json_is_parsed_when_it_is_asked_for_and_once():
    node = Node.from_proto(entity_graph_pb2.Node(data_json='{"a": 12345678901234567890123}'))
    assert node.data == {"a": 12345678901234567890123}  # not a float
    assert node.data is node.data
    assert Node.from_proto(entity_graph_pb2.Node(data_json="broken")).id == ""


def test_a_record_without_inline_content_has_none():
    record = Record.from_proto(working_memory_pb2.WMRecord())
    assert (record.content, record.metadata, record.expires_at, record.status) == (None, {}, None, "active")
    assert Record.from_proto(working_memory_pb2.WMRecord(content_json="[1]")).content == [1]


def test_parts_say_what_they_are():
    call = message_pb2.Part(tool_call=message_pb2.ToolCall(id="1", name="search", arguments_json='{"q": 1}'))
    result = message_pb2.Part(tool_result=message_pb2.ToolResult(tool_call_id="1", content_json="[]"))
    text, block = message_pb2.Part(text="hi"), message_pb2.Part(reasoning=message_pb2.Reasoning(data=b"\0"))
    parts = [Part.from_proto(part) for part in (call, result, text, block, message_pb2.Part())]

    assert [part.kind for part in parts] == ["tool_call", "tool_result", "text", "reasoning", ""]
    assert parts[0].tool_call.arguments == {"q": 1}
    assert parts[1].tool_result.content == []
    assert (parts[2].text, parts[2].tool_call, parts[2].data) == ("hi", None, None)
    assert (parts[3].reasoning.data, parts[3].text) == (b"\0", "")  # never shown as text


@pytest.mark.parametrize(
    "use",
    [
        lambda message: message,
        lambda message: pickle.loads(pickle.dumps(message)),
        copy.copy,
        copy.deepcopy,
        replace,
        lambda message: ChatMessage(**asdict(message)),
        lambda message: eval(repr(message).replace("2026-01-02T03:04:05.678901Z", "AT")),
    ],
)
def test_a_message_that_arrived_is_a_value_like_any_other(use):
    """Its time is made when it is first asked for; nobody who has the message can tell."""
    said = ChatMessage(role="user", content="hi", node_id="7", created_at=AT, name="me")
    arrived = message_pb2.ChatMessage(role="user", content="hi", node_id="7", created_at=STAMP, name="me")

    assert use(ChatMessage.from_proto(arrived)) == said
    assert hash(use(ChatMessage.from_proto(arrived))) == hash(said)
    message = use(ChatMessage.from_proto(arrived))
    assert (message.created_at, message.created_at, type(message)) == (AT, AT, ChatMessage)
    assert repr(message) == repr(use(message)) == repr(said)
    with pytest.raises(FrozenInstanceError):
        message.created_at = AT
    with pytest.raises(AttributeError, match="no attribute 'creatd_at'"):
        _ = message.creatd_at


@pytest.mark.parametrize("use", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), replace])
def test_a_pack_whose_spans_are_made_when_they_are_read_is_a_value_like_any_other(use):
    spans = [{"pointer": f"/messages/{number}", "author": "user Žofie", "trust": "user"} for number in range(3)]
    message = PackResponse(messages_json='{"messages":[]}', spans=spans)
    whole = Pack(messages_json='{"messages":[]}', spans=tuple(PackSpan(**span) for span in spans))
    assert use(Pack.from_proto(message)) == whole
    assert Pack.from_proto(message).spans == whole.spans
    assert repr(Pack.from_proto(message)) == repr(whole)
    assert replace(Pack.from_proto(message), epoch=2).spans == whole.spans
    assert asdict(Pack.from_proto(message))["spans"] == asdict(whole)["spans"]
    assert not hasattr(Pack.from_proto(message), "other")


def test_spans_of_a_pack_are_made_once_by_whichever_thread_reads_them():
    pack = Pack.from_proto(PackResponse(spans=[{"pointer": "/messages/0"}] * 500))
    with ThreadPoolExecutor(8) as threads:
        assert [len(spans) for spans in threads.map(lambda _: pack.spans, range(50))] == [500] * 50
    assert pack.spans is pack.spans


def test_a_chat_history_is_a_sequence():
    said = [ChatMessage(role="user", content=str(n), node_id="", created_at=AT) for n in range(3)]
    history = ChatHistory(messages=tuple(said), nodes_failed=1)

    assert len(history) == 3
    assert list(history) == said
    assert history[-1] == said[-1]
    assert history[:2] == tuple(said[:2])
    assert said[1] in history
    assert not ChatHistory()
    assert str(history) == "user: 0\nuser: 1\nuser: 2"
    assert repr(history) == "ChatHistory(3 messages, nodes_failed=1, roles_unknown=0)"


def test_values_read_well():
    node = Node(id="7", general_type_name="Session", name="support", created_at=AT, modified_at=AT, data_json="{}")
    edge = Edge(id="8", from_node_id="7", to_node_id="9", edge_type="Contains", created_at=AT)
    record = Record(
        working_memory_id="1", memory_type="file", name="a.md", size_bytes=2100, created_at=AT, updated_at=AT
    )

    assert str(node) == 'Session "support" (7)'
    assert repr(node) == (
        "Node(id='7', general_type_name='Session', name='support', data_json='{}',"
        " created_at=2026-01-02T03:04:05.678901Z, modified_at=2026-01-02T03:04:05.678901Z)"
    )
    assert str(edge) == "7 -Contains-> 9"
    assert str(record) == "a.md (file, 2.1 kB)"
    assert len(repr(Node(id="x" * 10_000, general_type_name="T", created_at=AT, modified_at=AT))) < 300
    assert str(ChatMapping(mapping_name="m", app_id="a")) == "a/m"


@pytest.mark.parametrize(
    ("name", "given", "shown"),
    [
        ("Context", {"title": "support", "message_count": 3}, "support (3 messages)"),
        ("Context", {"context_id": "7", "message_count": 1, "state": 2}, "7 (1 messages, closed)"),
        ("ContextIndex", {"passage_count": 1}, "0 of 1 passages have vectors, 0 are pending"),
        ("Window", {"model": "m", "context_id": "7", "token_limit": 9}, "window of m on 7 (9 tokens)"),
        ("Window", {"model": "m", "context_id": "7", "is_closed": True}, "window of m on 7 (0 tokens, closed)"),
        ("CompressionProfile", {"name": "mine", "version": 2}, "mine@2"),
        ("CompressionProfile", {"name": "coding", "is_built_in": True}, "coding"),
    ],
)
def test_values_of_a_context_read_well(name: str, given: dict[str, Any], shown: str):
    assert str(getattr(contextkeep.values, name).from_proto(message_class(name)(**given))) == shown


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_999, "1.0 MB"),
        (5e12, "5.0 TB"),
    ],
)
def test_sizes_read_well(size_bytes, shown):
    record = Record(
        working_memory_id="1", memory_type="f", name="x", size_bytes=int(size_bytes), created_at=AT, updated_at=AT
    )
    assert shown in str(record)


@pytest.mark.parametrize("value", [math.nan, math.inf, "\ud800", {1, 2}, AT, b"bytes"])
def test_what_json_has_not_is_refused_with_its_field(value):
    with pytest.raises(InvalidArgument) as raised:
        messages.to_object("node.data_json", {"key": value})

    assert raised.value.violations[0].field == "node.data_json"


def test_a_document_that_holds_itself_is_refused():
    data: dict = {}
    data["self"] = data
    with pytest.raises(InvalidArgument):
        messages.to_object("data_json", data)


@given(st.dictionaries(st.text(max_size=8), st.text() | st.integers() | st.lists(st.text(max_size=3), max_size=2)))
def test_any_object_travels_as_itself(value):
    assert json.loads(messages.to_object("data_json", value)) == value


@pytest.mark.parametrize("value", [{"a": "\ud800"}, {"\ud800": "a"}, {"a": "b", "c": ["\ud800"]}])
def test_a_lone_surrogate_does_not_travel_wherever_it_is(value):
    with pytest.raises(InvalidArgument, match="data_json"):
        messages.to_object("data_json", value)


@pytest.mark.parametrize("value", [[], "text", 5])
def test_data_is_an_object(value):
    with pytest.raises(InvalidArgument, match="object"):
        messages.to_object("data_json", value)


def test_a_naive_time_is_refused():
    with pytest.raises(InvalidArgument, match="time zone"):
        messages.to_timestamp("created_at", datetime(2026, 1, 1))
    elsewhere = AT.astimezone(timezone(timedelta(hours=5)))
    assert messages.to_timestamp("created_at", elsewhere) == STAMP


@pytest.mark.parametrize("moment", ["tomorrow", "2026-01-01T00:00:00Z", AT.date(), 5, datetime.max])
def test_what_is_no_moment_is_refused_by_the_name_of_its_field(moment):
    """`expires_at="tomorrow"` was an AttributeError from inside the client."""
    if isinstance(moment, datetime):
        moment = moment.replace(tzinfo=timezone(timedelta(hours=-5)))
    with pytest.raises(InvalidArgument) as refused:
        messages.record_input(memory_type="file", expires_at=moment)
    assert refused.value.violations[0].field == "record.expires_at"
    with pytest.raises(InvalidArgument) as refused:
        messages.fill_node(entity_graph_pb2.NodeInput(), NodeInput("Turn", created_at=moment))
    assert refused.value.violations[0].field == "node.created_at"


@pytest.mark.parametrize(
    "wrong",
    [{"name": 5}, {"content_json": {"a": 1}}, {"tags": 5}, {"tags": None}, {"embedding": "abc"}, {"embedding": 5}],
)
def test_a_value_of_another_type_is_refused_by_the_name_of_its_field(wrong):
    """Protobuf says "bad argument type for built-in operation", and not of what."""
    with pytest.raises(InvalidArgument) as refused:
        messages.record_input(memory_type="file", **wrong)
    assert refused.value.violations[0].field == f"record.{next(iter(wrong))}"


def test_a_node_and_an_edge_name_the_text_that_is_none():
    with pytest.raises(InvalidArgument, match=r"nodes\[3\].status must be a text \(got int\)"):
        messages.fill_node(entity_graph_pb2.NodeInput(), NodeInput("Turn", status=7), field="nodes[3]")
    with pytest.raises(InvalidArgument, match=r"edge.edge_type must be a text"):
        messages.fill_edge(entity_graph_pb2.EdgeInput(), EdgeInput(new_id(), new_id(), ["Contains"]))


def test_a_literal_may_be_written_in_any_case():
    types = entity_graph_pb2.EnvelopeType
    assert messages.choice_of("type", "BOT_PROGRESS", types) == entity_graph_pb2.ENVELOPE_TYPE_BOT_PROGRESS
    for wrong in ("PROGRESS", 5, ["status"]):
        with pytest.raises(InvalidArgument, match="not one of status, message"):
            messages.choice_of("type", wrong, types)


def test_one_text_is_not_a_list_of_texts():
    """Else a walk over "Contains" would follow edges of the types C, o, n and so on."""
    with pytest.raises(InvalidArgument, match="edge_types"):
        messages.texts("edge_types", "Contains")
    with pytest.raises(InvalidArgument, match="node_ids"):
        messages.ids("node_ids", new_id())


def test_a_choice_names_its_choices():
    with pytest.raises(InvalidArgument, match="out, in, both"):
        messages.choice_of("direction", "up", entity_graph_pb2.Direction)


def test_a_mask_names_what_is_given():
    assert messages.record_mask({"metadata": {}, "name": "x", "embedding": [], "embedding_model": "m"}) == [
        "embedding",
        "metadata_json",
        "name",
    ]
    with pytest.raises(TypeError, match="colour"):
        messages.record_input(colour="red")
    with pytest.raises(InvalidArgument, match="not both"):
        messages.record_input(content=1, content_json="1")
    for other in ({"content": None}, {"content_json": ""}):
        assert messages.record_input(content_text="a", **other).content_text == "a"
    for other in ({"content": 0}, {"content_json": "1"}):
        with pytest.raises(InvalidArgument, match="not both"):
            messages.record_input(content_text="a", **other)


def test_rules_are_a_dict_of_the_protos_fields():
    rules = {"edge_types": ["Contains"], "messages": [{"role": "'user'", "content": "entity.data.text"}]}
    message = messages.mapping_rules(rules)
    mapping = ChatMapping.from_proto(chat_history_pb2.Mapping(mapping_name="m", rules=message))
    assert mapping.rules == rules

    with pytest.raises(InvalidArgument, match="edge_type"):
        messages.mapping_rules({"edge_type": ["Contains"]})


@given(milliseconds=st.integers(0, 2**47))
def test_ids_are_uuids_of_version_7_in_the_order_of_time(milliseconds):
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr(time, "time_ns", lambda: milliseconds * 1_000_000)
        first = uuid.UUID(new_id())
        patch.setattr(time, "time_ns", lambda: (milliseconds + 1) * 1_000_000)
        second = uuid.UUID(new_id())

    assert first.version == 7
    assert first.variant == uuid.RFC_4122
    assert first.int >> 80 == milliseconds
    assert first < second


def test_memory_types_are_plain_texts():
    record = working_memory_pb2.WMRecordInput(memory_type=MemoryType.JSON)
    assert record.memory_type == "data/json" == MemoryType.JSON == str(MemoryType.JSON)


def test_the_version_is_said_once_and_again():
    project = tomllib.loads((ROOT / "clients" / "python" / "pyproject.toml").read_text())
    assert contextkeep.__version__ == project["project"]["version"]


def test_the_runtimes_are_as_new_as_the_generated_code_asks():
    """Else an install with an older one succeeds, and the first import fails."""
    project = tomllib.loads((ROOT / "clients" / "python" / "pyproject.toml").read_text())
    floors = dict(dependency.split(">=") for dependency in project["project"]["dependencies"])
    generated = Path(contextkeep.__file__).parent / "entity" / "v1"
    protobuf = re.search(r"Domain\.PUBLIC,\s+(\d+),\s+(\d+),\s+(\d+),", (generated / "entity_graph_pb2.py").read_text())
    grpcio = re.search(r"GRPC_GENERATED_VERSION = '(.+)'", (generated / "entity_graph_pb2_grpc.py").read_text())

    assert floors["protobuf"] == ".".join(protobuf.groups())
    assert floors["grpcio"] == grpcio[1]


def test_everything_public_is_there():
    for name in contextkeep.__all__:
        assert getattr(contextkeep, name) is not None
    assert set(contextkeep.__all__) == set(dir(contextkeep))
    with pytest.raises(AttributeError):
        contextkeep.no_such_name  # noqa: B018


def test_importing_errors_does_not_import_the_clients():
    """The servers import the package for its errors; none of them needs a second client."""
    code = "import contextkeep, sys; print([m for m in sys.modules if m.startswith('contextkeep.client')])"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"


def test_the_package_is_typed():
    assert (Path(contextkeep.__file__).parent / "py.typed").exists()
