"""Contexts through both clients: what a client makes of values, and of calls that it repeats."""

from __future__ import annotations

import hashlib
import json
import uuid
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any, BinaryIO

import pytest

from contextkeep import (
    ArtifactInput,
    ContextInput,
    ExternalId,
    FileInput,
    MessageInput,
    PartInput,
    Reasoning,
    RecallFilter,
    RecallOptions,
    ToolCall,
    ToolCallInput,
    ToolResult,
    ToolResultInput,
)
from contextkeep.client import _context_messages as contexts
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1 import message_pb2
from contextkeep.context.v1.contexts_pb2_grpc import ContextsServicer
from contextkeep.errors import (
    InvalidArgument,
    Unavailable,
)
from contextkeep.values import ContextKey, File, Part
from tests.clients.serving import serving
from tests.media import png

SAID_AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BLOCK = Reasoning(provider="anthropic", data=b"\x00\xffsigned", text="thinking")


async def test_every_kind_of_part_travels_and_what_was_read_goes_again_as_it_came(world, context):
    record = await world.run(context.records.insert, "data/json", "plan", content={"steps": []})
    parts = [
        PartInput(text="see", media_type="text/markdown", metadata={"index": False}),
        PartInput(data={"n": [1, None]}),
        PartInput(working_memory_id=record.working_memory_id),
        PartInput(url="https://example.com/a.png", file_name="a.png"),
        PartInput(tool_call=ToolCallInput(id="c-1", name="search", arguments={"q": "ü"})),
        PartInput(tool_call=ToolCallInput(id="c-2", name="search", arguments='{ "q" : 1 }')),
        PartInput(tool_result=ToolResultInput(tool_call_id="c-1", content=["found"], is_error=True)),
        PartInput(reasoning=BLOCK),
        PartInput(
            file=FileInput(url="https://example.com/cat.png", media_type="image/png", name="cat.png", alt="a cat")
        ),
        PartInput(file=FileInput(working_memory_id=record.working_memory_id)),
        PartInput(tool_result=ToolResultInput(tool_call_id="c-2", files=[FileInput(url="HTTPS://example.com/b")])),
    ]
    sent = await world.run(context.contexts.send, MessageInput(role="assistant", parts=parts))
    read = await world.run(context.contexts.get_message, sent.context_id, sent.message_id)

    assert [part.kind for part in read.parts] == [
        *("text", "data_json", "working_memory_id", "url", "tool_call", "tool_call", "tool_result", "reasoning"),
        *("file", "file", "tool_result"),
    ]
    text, data, _, _, call, verbatim, result, reasoning, picture, named, shot = read.parts
    assert (text.text, text.media_type, text.metadata) == ("see", "text/markdown", {"index": False})
    assert (data.data, call.tool_call.arguments) == ({"n": [1, None]}, {"q": "ü"})
    assert verbatim.tool_call == ToolCall(id="c-2", name="search", arguments_json='{ "q" : 1 }')
    assert result.tool_result == ToolResult(tool_call_id="c-1", content_json='["found"]', is_error=True)
    assert reasoning.reasoning == BLOCK
    assert picture.file == File(url="https://example.com/cat.png", media_type="image/png", name="cat.png", alt="a cat")
    assert named.file.working_memory_id == record.working_memory_id
    assert shot.tool_result.files == (File(url="HTTPS://example.com/b"),)

    again = await world.run(context.contexts.send, MessageInput(role="assistant", parts=read.parts))
    assert (await world.run(context.contexts.get_message, again.context_id, again.message_id)).parts == read.parts


class Image:
    """An image of Pillow, as far as the client needs one."""

    format = None

    def save(self, fp: BinaryIO, format: str) -> None:
        assert format == "PNG"
        fp.write(PICTURE)


PICTURE = png(5, 4)


async def test_a_file_of_any_kind_travels_and_comes_back(world, context, tmp_path):
    path = tmp_path / "shot.png"
    path.write_bytes(PICTURE)
    url = f"data:image/png;base64,{b64encode(PICTURE).decode()}"
    sources = [PICTURE, path, str(path), url, Image(), FileInput(data=PICTURE, name="own.png", alt="a shot")]
    sent = await world.run(context.contexts.send, MessageInput(parts=[PartInput(file=source) for source in sources]))
    read = await world.run(context.contexts.get_message, sent.context_id, sent.message_id)

    assert [part.file.name for part in read.parts] == ["", "shot.png", "shot.png", "", "", "own.png"]
    assert {part.file.width for part in read.parts} == {5}
    (record_id,) = {part.file.working_memory_id for part in read.parts}
    assert await world.run(context.blobs.get_content, record_id) == PICTURE
    again = await world.run(context.contexts.send, MessageInput(parts=read.parts))
    there = await world.run(context.contexts.get_message, again.context_id, again.message_id)
    assert [part.file.sha256 for part in there.parts] == [part.file.sha256 for part in read.parts]


async def test_files_that_are_too_large_for_a_request_are_uploaded_first(world, context):
    large = [bytes([n]) * (5 * 2**20) for n in range(2)]
    parts = [PartInput(file=data) for data in [*large, PICTURE]]
    shot = PartInput(tool_result=ToolResultInput(tool_call_id="c", files=[b"x" * (4 * 2**20)]))
    sent = await world.run(
        context.contexts.append, [MessageInput(parts=parts), MessageInput(role="tool", parts=[shot])]
    )
    read = [await world.run(context.contexts.get_message, one.context_id, one.message_id) for one in sent]

    files = [part.file for part in read[0].parts] + list(read[1].parts[0].tool_result.files)
    assert [file.size_bytes for file in files] == [5 * 2**20, 5 * 2**20, len(PICTURE), 4 * 2**20]
    assert files[0].sha256 == hashlib.sha256(large[0]).hexdigest()
    assert [file.name for file in files] == [""] * 4


async def test_large_files_of_artifacts_and_tasks_are_uploaded_first(world, context):
    large, begun = bytes(5 * 2**20), await world.run(context.contexts.send, "Scan it.")
    asking = MessageInput("Is it this one?", role="assistant", parts=[PartInput(file=large)])
    task = await world.run(context.tasks.create, begun.context_id, state="working", status_message=asking)
    assert [part.file.size_bytes for part in task.status_message.parts] == [len(large)]
    changed = await world.run(context.tasks.update, task.task_id, state="input_required", status_message=asking)
    assert changed.status_message.parts == task.status_message.parts

    scan = ArtifactInput([PartInput(file=FileInput(data=large, name="scan.bin")), PartInput(file=PICTURE)])
    made = await world.run(context.artifacts.put, task.task_id, scan)
    read = await world.run(context.artifacts.get, task.task_id, made.artifact_id)
    assert [(part.file.name, part.file.size_bytes) for part in read.parts] == [
        ("scan.bin", len(large)),
        ("", len(PICTURE)),
    ]
    assert read.parts[0].file.working_memory_id == changed.status_message.parts[0].file.working_memory_id


async def test_a_message_with_large_files_is_sent_again_by_its_request_id(world, context):
    large = b"\xe4" * (4 * 2**20)
    parts = [PartInput(file=FileInput(data=large, name=name)) for name in ("a.bin", "b.bin")]
    request_id = str(uuid.uuid4())
    first = await world.run(context.contexts.send, MessageInput(parts=parts), request_id=request_id)
    again = await world.run(context.contexts.send, MessageInput(parts=parts), request_id=request_id)
    read = await world.run(context.contexts.get_message, first.context_id, first.message_id)

    assert again.message_id == first.message_id
    assert [part.file.name for part in read.parts] == ["a.bin", "b.bin"]
    assert len({part.file.working_memory_id for part in read.parts}) == 1


def test_a_file_with_two_sources_or_none_is_refused():
    for file in (FileInput(), FileInput(url="https://x", data=b"x"), 5):
        with pytest.raises(InvalidArgument):
            contexts.message_inputs([MessageInput(parts=[PartInput(file=file)])])


async def test_a_message_comes_back_with_what_matters_to_it(world, context):
    first = await world.run(context.contexts.send, "The cat is black.")
    assert first.recalled is None

    async def recalled(said: MessageInput | str, **options: Any) -> list[str] | None:
        sent = await world.run(context.contexts.send, said, first.context_id, **options)
        return None if sent.recalled is None else [item.text for item in sent.recalled.items]

    assert await recalled("Is the cat grey?") == ["The cat is black."]
    assert await recalled("Is the cat grey?", recall=False) is None
    assert await recalled(MessageInput("No cat is grey.", role="assistant")) is None
    asked = RecallOptions(tokens_max=500, filter=RecallFilter(seq_to=1))
    assert await recalled(MessageInput("No cat at all.", role="assistant"), recall=asked) == ["The cat is black."]


class Contexts(ContextsServicer):
    """Answers nothing but the first call of a kind with an error that is tried again."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    def _come(self, request: Any) -> None:
        self.requests.append(request)
        if len(self.requests) == 1:
            raise Unavailable("not yet")

    async def SendMessage(self, request, context):
        self._come(request)
        return pb.SendMessageResponse(message=pb.SentMessage(seq=1))

    async def IssueContextKey(self, request, context):
        self._come(request)
        return pb.IssueContextKeyResponse(key="a-key")


async def test_a_message_that_is_sent_again_is_the_same_call(world):
    """Without the request id a first message whose answer was lost would begin a second context."""
    async with serving(served := Contexts()) as address, world.context(address, app_id="shop") as client:
        await world.run(client.contexts.send, "x")

    first, second = served.requests
    assert first == second
    assert first.request_id
    assert first.context.app_id == "shop"


async def test_a_key_is_asked_for_again_and_not_printed(world):
    async with serving(served := Contexts()) as address, world.context(address) as client:
        key = await world.run(client.contexts.issue_key, "c", scopes=["read"], ttl_s=60, subject_user_id="ada")

    assert served.requests[1] == pb.IssueContextKeyRequest(
        context_id="c", scopes=["read"], ttl_s=60, subject_user_id="ada"
    )
    assert isinstance(key, ContextKey)
    assert key.key == "a-key"
    assert "a-key" not in f"{key} {key!r}"


@pytest.mark.parametrize(
    ("said", "field"),
    [
        (5, "message"),
        (MessageInput(content=5), "message.content"),
        (MessageInput(parts="text"), "message.parts"),
        (MessageInput(parts=["text"]), "message.parts[0]"),
        (MessageInput(parts=[PartInput()]), "message.parts[0]"),
        (MessageInput(parts=[PartInput(text="a", data=1)]), "message.parts[0]"),
        (MessageInput(parts=[PartInput(text="a"), PartInput(data=float("nan"))]), "message.parts[1].data_json"),
        (
            MessageInput(parts=[PartInput(tool_call=ToolCallInput(id="c", name="f", arguments=[1]))]),
            "message.parts[0].tool_call.arguments_json",
        ),
        (
            MessageInput(parts=[PartInput(tool_result=ToolResultInput(tool_call_id=5))]),
            "message.parts[0].tool_result.tool_call_id",
        ),
        (MessageInput(parts=[Part(kind="")]), "message.parts[0]"),
        (MessageInput("a", metadata=[]), "message.metadata_json"),
        (MessageInput("a", said_at=datetime(2026, 1, 1)), "message.said_at"),
    ],
)
def test_what_cannot_travel_is_refused_by_the_name_of_its_field(said: Any, field: str):
    with pytest.raises(InvalidArgument) as refused:
        contexts.message_input(said, field="message")
    assert [violation.field for violation in refused.value.violations] == [field]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"external_ids": ExternalId("s", "1")}, "context.external_ids"),
        ({"external_ids": ["1"]}, "context.external_ids[0]"),
        ({"title": 5}, "context.title"),
        ({"metadata": "x"}, "context.metadata_json"),
        ({"expires_at": "tomorrow"}, "context.expires_at"),
    ],
)
def test_what_is_said_of_a_context_is_refused_likewise(given: Any, field: str):
    for refusing in (
        lambda: contexts.context_input(ContextInput(**given), ""),
        lambda: contexts.context_changes(given),
    ):
        with pytest.raises(InvalidArgument) as refused:
            refusing()
        assert [violation.field for violation in refused.value.violations] == [field]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (5, "recall"),
        (True, "recall"),
        (RecallOptions(tokens_max="many"), "recall.tokens_max"),
        (RecallOptions(filter={"roles": ["user"]}), "recall.filter"),
        (RecallOptions(filter=RecallFilter(roles="user")), "recall.filter.roles"),
        (RecallOptions(filter=RecallFilter(said_to=datetime(2026, 1, 1))), "recall.filter.said_to"),
    ],
)
def test_what_is_to_be_recalled_is_refused_likewise(given: Any, field: str):
    with pytest.raises(InvalidArgument) as refused:
        contexts.recall_for_message(given)
    assert [violation.field for violation in refused.value.violations] == [field]


def test_one_message_is_not_a_list_of_messages():
    """Else a text would be a message a letter."""
    for wrong in ("hello", MessageInput("hello"), 5):
        with pytest.raises(InvalidArgument, match="must be a list of MessageInput"):
            contexts.message_inputs(wrong)


def test_a_mask_names_what_is_given():
    said, mask = contexts.context_changes({"title": None, "metadata": {"a": 1}})
    assert mask == ["metadata_json", "title"]
    assert (said.title, json.loads(said.metadata_json)) == ("", {"a": 1})
    with pytest.raises(TypeError, match="colour"):
        contexts.context_changes({"colour": "red"})  # type: ignore[typeddict-unknown-key]


def test_each_content_of_a_part_can_be_said():
    """A new kind of part in the proto is one more field of `PartInput`."""
    kinds = {field.name.removesuffix("_json") for field in message_pb2.Part.DESCRIPTOR.oneofs_by_name["content"].fields}
    assert kinds == set(contexts._CONTENTS)
