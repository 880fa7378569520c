"""Messages on their way: how large they are, said before they are made, and that they arrive as they were."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from context_service.history.model import ChatMessage, size_bytes
from context_service.history.wire import messages
from context_service.kernel.parts import File, Part, ToolCall, ToolResult, of_json, to_json
from contextkeep import ChatMessage as ArrivedMessage
from contextkeep import File as ArrivedFile
from contextkeep import Part as ArrivedPart
from contextkeep.context.v1.chat_history_pb2 import StreamChatHistoryResponse

_TEXTS = st.one_of(st.text(max_size=20), st.sampled_from(["x" * 1000, "ä" * 1000, "😀" * 70_000]))
_CALLS = st.builds(ToolCall, id=_TEXTS, name=_TEXTS, arguments_json=_TEXTS)
_COUNTS = st.integers(0, 2**31 - 1)
_FILES = st.builds(
    File,
    url=st.text(min_size=1, max_size=20),
    working_memory_id=st.none(),
    media_type=_TEXTS,
    name=_TEXTS,
    alt=_TEXTS,
    sha256=_TEXTS,
    size_bytes=_COUNTS,
    width=_COUNTS,
    height=_COUNTS,
    page_count=_COUNTS,
    duration_seconds=st.floats(0, 1e9),
) | st.builds(File, working_memory_id=st.uuids().map(str))
_RESULTS = st.builds(
    ToolResult,
    tool_call_id=_TEXTS,
    content_json=_TEXTS,
    is_error=st.booleans(),
    files=st.lists(_FILES, max_size=2).map(tuple),
)
_KINDS = st.one_of(
    *(st.fixed_dictionaries({field: _TEXTS}) for field in ("text", "data_json", "working_memory_id", "url")),
    st.fixed_dictionaries({"tool_call": _CALLS}),
    st.fixed_dictionaries({"tool_result": _RESULTS}),
    st.fixed_dictionaries({"file": _FILES}),
)
_PARTS = st.builds(
    lambda kind, **common: Part(**kind, **common), _KINDS, media_type=_TEXTS, file_name=_TEXTS, metadata_json=_TEXTS
)


_MESSAGES = st.builds(
    ChatMessage,
    role=st.sampled_from(["user", "assistant"]),
    content=_TEXTS,
    node_id=st.uuids().map(str),
    created_at_us=st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999),
    name=_TEXTS,
    parts=st.lists(_PARTS, max_size=3).map(tuple),
    metadata_json=_TEXTS,
)


@given(_MESSAGES)
def test_a_message_takes_no_more_than_its_size_says(message: ChatMessage):
    """Answers are closed by it before they are too large."""
    answer = StreamChatHistoryResponse()
    messages.fill(answer.messages.add(), message)

    pieces = len(message.parts) + sum(len(part.files) for part in message.parts)
    assert answer.ByteSize() <= size_bytes(message) <= answer.ByteSize() + 150 * (1 + pieces)


@given(_MESSAGES)
def test_a_message_arrives_as_it_was_made(message: ChatMessage):
    """Texts that are there and empty too."""
    answer = StreamChatHistoryResponse()
    messages.fill(answer.messages.add(), message)
    (arrived,) = map(
        ArrivedMessage.from_proto, StreamChatHistoryResponse.FromString(answer.SerializeToString()).messages
    )

    assert (arrived.role, arrived.content, arrived.node_id, arrived.name) == (*message[:3], message.name)
    assert arrived.created_at == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=message.created_at_us)
    assert arrived.metadata_json == message.metadata_json
    assert [as_made(part) for part in arrived.parts] == list(message.parts)


def as_made(part: ArrivedPart) -> Part:
    """Return a part that arrived as the server has it: None for what is not there."""
    content: dict[str, Any] = {part.kind: getattr(part, part.kind)}
    if part.tool_call:
        content = {"tool_call": ToolCall(**asdict(part.tool_call))}
    if part.tool_result:
        files = tuple(map(file_as_made, part.tool_result.files))
        content = {"tool_result": ToolResult(**{**asdict(part.tool_result), "files": files})}
    if part.file:
        content = {"file": file_as_made(part.file)}
    return Part(**content, media_type=part.media_type, file_name=part.file_name, metadata_json=part.metadata_json)


def file_as_made(file: ArrivedFile) -> File:
    """Return a file that arrived as the server has it: its source is the one that the server set."""
    sources = {"url": None} if file.working_memory_id else {"working_memory_id": None}
    return File(**{**asdict(file), **sources})


@given(st.lists(_PARTS, max_size=3).map(tuple))
def test_parts_are_read_as_they_were_stored(parts: tuple[Part, ...]):
    """A message's row holds its parts as JSON."""
    stored = to_json(parts)

    assert of_json(stored) == parts


def test_parts_that_were_stored_before_there_were_files_are_read():
    old = '[{"tool_result":{"tool_call_id":"1","content_json":"2","is_error":false}},{"url":"https://example.com/x"}]'

    assert of_json(old) == (
        Part(tool_result=ToolResult(tool_call_id="1", content_json="2")),
        Part(url="https://example.com/x"),
    )
    assert to_json(of_json(old)) == old
