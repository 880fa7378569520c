"""The parts of a message, as all rooms with messages use them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import orjson


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool that the assistant wants called."""

    id: str
    name: str
    arguments_json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A picture, a PDF, a recording or another file of a message; one of the first three fields is set.

    0 and empty texts mean unknown, for all fields that describe the bytes.
    """

    url: str | None = None  # http or https; the service does not read it
    working_memory_id: str | None = None  # the record with the bytes
    data: bytes | None = None  # the bytes, until they are stored; a stored message has none
    media_type: str = ""
    name: str = ""
    alt: str = ""  # the caller's description
    sha256: str = ""  # of the bytes, in hexadecimal
    size_bytes: int = 0
    width: int = 0  # pixels of a picture
    height: int = 0
    page_count: int = 0  # of a PDF
    text_chars: int = 0  # of a PDF: characters of all its pages
    duration_seconds: float = 0.0  # of a recording
    ref: str = ""  # in a window: with it a model can expand the file; never stored with the message
    tokens: int = 0  # in a window: those that its model counts; never stored with the message
    follows_result: bool = False  # in a window: its model takes no file within a result; never stored with the message

    @property
    def texts(self) -> list[str]:
        """All texts of the file, without the id of its record."""
        return [text for text in (self.url, self.media_type, self.name, self.alt, self.sha256) if text]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool call."""

    tool_call_id: str
    content_json: str
    is_error: bool = False
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """A block that a model's provider made and wants back as it was: bytes or JSON; never shown as text."""

    provider: str
    data: bytes = b""
    data_json: str = ""
    text: str = ""  # the text that the provider shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a message: exactly one of the first eight fields is set."""

    text: str | None = None
    data_json: str | None = None
    working_memory_id: str | None = None
    url: str | None = None
    tool_call: ToolCall | None = None
    tool_result: ToolResult | None = None
    reasoning: Reasoning | None = None
    file: File | None = None
    media_type: str = ""
    file_name: str = ""
    metadata_json: str = ""

    @property
    def files(self) -> tuple[File, ...]:
        """The files of the part: its own, or those of its tool result."""
        if self.file:
            return (self.file,)
        return self.tool_result.files if self.tool_result else ()

    @property
    def texts(self) -> list[str]:
        """All texts of the part, without the bytes of a provider and the ids of records."""
        texts = [self.text, self.data_json, self.url, self.media_type, self.file_name, self.metadata_json]
        if self.tool_call:
            texts += [self.tool_call.id, self.tool_call.name, self.tool_call.arguments_json]
        if self.tool_result:
            texts += [self.tool_result.tool_call_id, self.tool_result.content_json]
        if self.reasoning:
            texts += [self.reasoning.provider, self.reasoning.data_json, self.reasoning.text]
        for file in self.files:
            texts += file.texts
        return [text for text in texts if text]


_TOKENS_BESIDE = 4  # role and borders of a message, as vendors count them
_SAID_BESIDE = ("media_type", "file_name", "metadata_json")


def texts_of(content: str, parts: Iterable[Part]) -> Iterator[str]:
    """Yield the texts of a message that a model reads; of files and pictures, only their addresses."""
    texts: list[str | None] = [content]
    for part in parts:
        texts += [part.text, part.data_json, part.url]
        if part.tool_call:
            texts += [part.tool_call.name, part.tool_call.arguments_json]
        if part.tool_result:
            texts.append(part.tool_result.content_json)
        if part.reasoning:
            texts.append(part.reasoning.data_json or part.reasoning.text)
        for file in part.files:
            texts += [file.name, file.alt, file.url]
    return filter(None, texts)


def tokens_of(content: str, parts: Iterable[Part], *, count: Callable[[str], int]) -> int:
    """Return about how many tokens a message takes in a model's context.

    Args:
        content: The text of the message.
        parts: The parts of the message.
        count: A function that counts the tokens of a text.
    """
    return _TOKENS_BESIDE + sum(map(count, texts_of(content, parts)))


def to_json(parts: Iterable[Part]) -> str:
    """Return parts as a JSON list of their set fields; JSON documents in them stay texts, byte for byte."""
    return orjson.dumps([_fields_of(part) for part in parts]).decode()


def of_json(text: str) -> tuple[Part, ...]:
    """Return the parts that `to_json` wrote."""
    return tuple(_part(fields) for fields in orjson.loads(text))


def _fields_of(part: Part) -> dict[str, Any]:
    """Return the fields of a part that are set, as values of JSON."""
    fields = {name: value for name, value in asdict(part).items() if value is not None}
    for name in _SAID_BESIDE:
        if not fields[name]:
            del fields[name]
    if part.reasoning:
        fields["reasoning"]["data"] = b64encode(part.reasoning.data).decode()
    if part.file:
        fields["file"] = _fields_of_file(part.file)
    if part.tool_result:
        fields["tool_result"]["files"] = list(map(_fields_of_file, part.tool_result.files))
        if not part.tool_result.files:
            del fields["tool_result"]["files"]
    return fields


def _fields_of_file(file: File) -> dict[str, Any]:
    """Return the fields of a file that are set, as values of JSON."""
    return {name: value for name, value in asdict(file).items() if value and name not in ("data", "ref")}


def _part(fields: dict[str, Any]) -> Part:
    """Return the part that `_fields_of` gave the fields of."""
    if call := fields.get("tool_call"):
        return Part(**{**fields, "tool_call": ToolCall(**call)})
    if result := fields.get("tool_result"):
        files = tuple(File(**file) for file in result.get("files", ()))
        return Part(**{**fields, "tool_result": ToolResult(**{**result, "files": files})})
    if block := fields.get("reasoning"):
        return Part(**{**fields, "reasoning": Reasoning(**{**block, "data": b64decode(block["data"])})})
    if file := fields.get("file"):
        return Part(**{**fields, "file": File(**file)})
    return Part(**fields)
