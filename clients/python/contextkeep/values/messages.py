"""Messages of a conversation, and the conversation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, overload

from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.context.v1 import message_pb2 as message_pb
from contextkeep.values.base import Value, parsed, parsed_object, time_of, time_of_us

PartKind = Literal["", "text", "data_json", "working_memory_id", "url", "tool_call", "tool_result", "reasoning", "file"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolCall(Value):
    """A model asks for a tool."""

    id: str
    name: str
    arguments_json: str = ""

    @property
    def arguments(self) -> Any:
        """Return the arguments, parsed; None where there are none."""
        return parsed(self.arguments_json)

    @classmethod
    def from_proto(cls, call: message_pb.ToolCall) -> ToolCall:
        """Return the value of a message."""
        return cls(id=call.id, name=call.name, arguments_json=call.arguments_json)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class File(Value):
    """A picture, a PDF, a recording or another file of a message. 0 and empty texts mean unknown."""

    url: str = ""  # an address outside of the service; then it has no record
    working_memory_id: str = ""  # the record with the bytes
    media_type: str = ""
    name: str = ""
    alt: str = ""  # a description for readers who cannot see the file
    sha256: str = ""  # of the bytes, in hexadecimal
    size_bytes: int = 0
    width: int = 0  # pixels of a picture
    height: int = 0
    page_count: int = 0  # of a PDF
    duration_seconds: float = 0.0  # of a recording

    @classmethod
    def from_proto(cls, file: message_pb.File) -> File:
        """Return the value of a message."""
        return cls(**{field.name: getattr(file, field.name) for field in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ToolResult(Value):
    """What a tool answered."""

    tool_call_id: str  # the id of the call that it answers
    content_json: str = ""
    is_error: bool = False
    files: tuple[File, ...] = ()

    @property
    def content(self) -> Any:
        """Return the answer, parsed; None where there is none."""
        return parsed(self.content_json)

    @classmethod
    def from_proto(cls, result: message_pb.ToolResult) -> ToolResult:
        """Return the value of a message."""
        return cls(
            tool_call_id=result.tool_call_id,
            content_json=result.content_json,
            is_error=result.is_error,
            files=tuple(map(File.from_proto, result.files)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Reasoning(Value):
    """A block of a model's provider, which must be sent back unchanged with the tool calls that followed from it."""

    provider: str  # such as "anthropic"
    data: bytes = b""  # the block, byte for byte
    data_json: str = ""  # the block where it is JSON, byte for byte
    text: str = ""  # what the provider shows of it

    @classmethod
    def from_proto(cls, block: message_pb.Reasoning) -> Reasoning:
        """Return the value of a message."""
        return cls(provider=block.provider, data=block.data, data_json=block.data_json, text=block.text)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Part(Value):
    """One piece of a message. `kind` names the one field of the first eight that holds it."""

    kind: PartKind
    text: str = ""
    data_json: str = ""
    working_memory_id: str = ""
    url: str = ""
    tool_call: ToolCall | None = None
    tool_result: ToolResult | None = None
    reasoning: Reasoning | None = None
    file: File | None = None
    media_type: str = ""
    file_name: str = ""
    metadata_json: str = ""

    @property
    def data(self) -> Any:
        """Return the piece of JSON, parsed; None in a part of another kind."""
        return parsed(self.data_json)

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata's JSON object."""
        return parsed_object(self.metadata_json)

    @classmethod
    def from_proto(cls, part: message_pb.Part) -> Part:
        """Return the value of a message. A kind that this version does not know is empty."""
        kind: PartKind = part.WhichOneof("content") or ""
        return cls(
            kind=kind,
            text=part.text,
            data_json=part.data_json,
            working_memory_id=part.working_memory_id,
            url=part.url,
            tool_call=ToolCall.from_proto(part.tool_call) if kind == "tool_call" else None,
            tool_result=ToolResult.from_proto(part.tool_result) if kind == "tool_result" else None,
            reasoning=Reasoning.from_proto(part.reasoning) if kind == "reasoning" else None,
            file=File.from_proto(part.file) if kind == "file" else None,
            media_type=part.media_type,
            file_name=part.file_name,
            metadata_json=part.metadata_json,
        )


# The rare fields of a message, as most have them.
_OF_MOST: dict[str, Any] = {
    "message_id": "",
    "seq": 0,
    "agent_id": "",
    "said_at": None,
    "tokens": 0,
    "task_id": "",
    "reference_task_ids": (),
    "is_imported": False,
    "turn": "",
}


class _Late(Value):
    """Build rarely read fields on first use: a history has thousands of messages.

    That is `created_at`, the fields that only a context's messages have, of others, and the turn.
    """

    __slots__ = ("_created_at_us",)  # microseconds since 1970; set where `created_at` is not
    _created_at_us: int

    def __getattr__(self, name: str) -> Any:
        if name == "created_at":
            value: Any = time_of_us(self._created_at_us)
        elif name in _OF_MOST:
            value = _OF_MOST[name]
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        object.__setattr__(self, name, value)  # the value is frozen
        return value


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChatMessage(_Late):
    """One turn, as a prompt wants it."""

    role: str  # "user", "assistant", "system" or "tool"
    content: str
    node_id: str  # the node it was read from; empty in a context
    created_at: datetime
    name: str = ""  # who speaks, where several share a role
    parts: tuple[Part, ...] = ()
    metadata_json: str = ""

    # Of a context's messages only.
    message_id: str = ""  # the sender's own
    seq: int = 0  # its place in the context, from 1
    agent_id: str = ""
    said_at: datetime | None = None  # as its sender says; `created_at` is when it came
    tokens: int = 0  # what it takes of a model's context, about
    task_id: str = ""  # the task that it belongs to
    reference_task_ids: tuple[str, ...] = ()  # others that it is about
    is_imported: bool = False  # an archive or another system names its author, and nothing confirms it

    turn: str = ""  # of a history's messages: those of the assistant with the same one are one answer of a model

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata's JSON object."""
        return parsed_object(self.metadata_json)

    def __str__(self) -> str:
        return f"{self.role}: {self.content}"

    @staticmethod
    def from_proto(message: message_pb.ChatMessage) -> ChatMessage:
        """Return the value of a message."""
        draft: Any = _Draft()
        created_at, parts = message.created_at, message.parts
        draft._created_at_us = created_at.seconds * 1_000_000 + created_at.nanos // 1000
        draft.role = message.role
        draft.content = message.content
        draft.node_id = message.node_id
        draft.name = message.name
        draft.parts = tuple(map(Part.from_proto, parts)) if parts else ()
        draft.metadata_json = message.metadata_json
        if message.turn:
            draft.turn = message.turn
        if message.seq:
            draft.message_id = message.message_id
            draft.seq = message.seq
            draft.agent_id = message.agent_id
            draft.said_at = time_of(message.said_at)
            draft.tokens = message.tokens
            draft.task_id = message.task_id
            draft.reference_task_ids = tuple(message.reference_task_ids)
            draft.is_imported = message.is_imported
        elif message.message_id or message.agent_id:  # of a status
            draft.message_id = message.message_id
            draft.agent_id = message.agent_id
        draft.__class__ = ChatMessage
        result: ChatMessage = draft
        return result


class _Draft(_Late):
    """A `ChatMessage` until it is complete: to set the fields of a frozen dataclass takes five times as long."""

    __slots__ = ChatMessage.__slots__


@dataclass(frozen=True, slots=True)
class ChatHistory(Sequence[ChatMessage]):
    """The messages of a conversation, oldest first, and the counts of those left out."""

    messages: tuple[ChatMessage, ...] = ()
    nodes_failed: int = 0  # nodes that gave no message because a rule failed on them
    roles_unknown: int = 0  # messages whose role is none of user, assistant, system and tool
    tokens: int = 0  # of the messages, if `tokens_max` was set
    is_cut: bool = False  # an older message is there and does not fit `tokens_max`

    @overload
    def __getitem__(self, index: int) -> ChatMessage: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ChatMessage, ...]: ...
    def __getitem__(self, index: int | slice) -> ChatMessage | tuple[ChatMessage, ...]:
        return self.messages[index]

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[ChatMessage]:
        return iter(self.messages)

    def __repr__(self) -> str:
        return (
            f"ChatHistory({len(self)} messages, nodes_failed={self.nodes_failed}, roles_unknown={self.roles_unknown})"
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.messages))

    @classmethod
    def from_proto(
        cls,
        messages: Iterable[ChatMessage],
        response: history_pb.GetChatHistoryResponse | history_pb.StreamChatHistoryResponse,
    ) -> ChatHistory:
        """Return the value of messages and of the other fields of an answer."""
        return cls(
            messages=tuple(messages),
            nodes_failed=response.nodes_failed,
            roles_unknown=response.roles_unknown,
            tokens=response.tokens,
            is_cut=response.is_cut,
        )
