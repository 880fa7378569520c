"""Turns, the common form of conversations for all vendors, and the texts of their parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, NamedTuple

import orjson

from context_service.kernel.parts import File, Part, Reasoning, ToolCall

NAME_CHARS_MAX = 64
NO_RESULT = "No result is recorded."  # the result of a call that got none, because vendors require one
_QUOTED_CHARS_MAX = 100
_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}")
_NOT_QUOTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\[\]«»\s]+")
_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.*)", re.DOTALL)


class Result(NamedTuple):
    """The result of a tool, as a model reads it."""

    text: str
    is_error: bool
    files: tuple[File, ...] = ()


@dataclass(slots=True)
class Call:
    """A tool's call, with its result if there is one."""

    call: ToolCall
    id: str  # one that no other call of the conversation has, as vendors take it
    result: Result | None = None


@dataclass(slots=True)
class Turn:
    """The parts of one role that follow each other; for the assistant, also its tool calls.

    Blocks of reasoning are among the parts of the assistant, before the text that followed from them. They go unchanged
    to the vendor that made them, and to no other.
    """

    role: str
    name: str = ""
    parts: list[Part] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    @property
    def has_files(self) -> bool:
        """Whether a part or a result is a file, or the URL of one."""
        return any(part.file or part.url is not None for part in self.parts) or any(
            call.result and call.result.files for call in self.calls
        )

    def said(self) -> list[Part]:
        """Return the parts without reasoning."""
        return [part for part in self.parts if part.reasoning is None]


class RequestPart(NamedTuple):
    """A piece of a request: a message, or a block of one."""

    role: str
    # As JSON, with a `FileBytes` in the place of each file; for reasoning, the bytes as the vendor sent them.
    value: dict[str, Any] | orjson.Fragment
    is_result: bool = False
    call_id: str = ""  # the call whose result has the files of this piece, which is no result itself


class InlineFile(NamedTuple):
    """A file within its own address."""

    media_type: str
    base64: str


def in_order(content: str, parts: Sequence[Part]) -> list[tuple[int, Part]]:
    """Return the content and parts of a message in their original order, each part with its number; the content has 0.

    Reasoning at the head of the parts led to the content, so it comes before the content.
    """
    numbered = list(enumerate(parts, 1))
    lead = list(takewhile(lambda numbered_part: numbered_part[1].reasoning is not None, numbered))
    return [*lead, *([(0, Part(text=content))] if content else []), *numbered[len(lead) :]]


def is_only_reasoning(parts: Sequence[Part]) -> bool:
    """Return whether parts are reasoning alone: a turn that another message must complete."""
    return bool(parts) and all(part.reasoning is not None for part in parts)


def inline_file(url: str) -> InlineFile | None:
    """Return the file of a `data:` URL, or None for another URL."""
    match = _DATA_URL.fullmatch(url)
    return InlineFile(match["type"], match["data"]) if match else None


def media_type_of(part: Part) -> str:
    """Return the media type of the file that a part's URL points at: that of a `data:` URL, else that of the part."""
    inline = inline_file(part.url or "")
    return inline.media_type if inline else part.media_type


def reasoning_of(part: Part, *providers: str) -> Reasoning | None:
    """Return the reasoning of a part if it comes from one of these providers, else None."""
    return part.reasoning if part.reasoning and part.reasoning.provider in providers else None


def text_of(parts: Sequence[Part]) -> str:
    """Return parts as one text."""
    return "\n\n".join(map(part_text, parts))


def part_text(part: Part) -> str:
    """Return a part as text: a file as a line, a reference as JSON."""
    if part.file is not None:
        return line_of(part.file)
    if part.text is not None:
        return part.text
    if part.data_json is not None:
        return part.data_json
    if part.url is not None:
        return part.url
    reference = {
        "working_memory_id": part.working_memory_id,
        "file_name": part.file_name,
        "media_type": part.media_type,
    }
    return orjson.dumps({name: value for name, value in reference.items() if value}).decode()


def line_of(file: File, *, follows: bool = False) -> str:
    """Return the line that stands for a file: its type, its name, its size, and a ref to the whole.

    Names come from callers and tools, so they lose all characters that could end the line or a quotation.
    """
    media_type = file.media_type if _TYPE.fullmatch(file.media_type) else "file"
    name, alt = quotable(file.name), quotable(file.alt)
    ref = file.ref or file.working_memory_id or file.url
    named = [
        f"{media_type} «{name}»" if name else media_type,
        f"{file.width} x {file.height} pixels" if file.width else "",
        f"{file.page_count} pages" if file.page_count else "",
        f"«{alt}»" if alt else "",
        "in the next message of the user" if follows else "",
        ref,
    ]
    return f"[{', '.join(filter(None, named))}]"


def quotable(name: str) -> str:
    """Return a name of a caller or a tool, shortened, without the characters that could end a line or a quotation."""
    return _NOT_QUOTED.sub(" ", name).strip()[:_QUOTED_CHARS_MAX]


def result_text(content_json: str) -> str:
    """Return the result of a tool as text: a string as it is, null as an empty text, anything else as JSON."""
    value = orjson.loads(content_json or "null")
    if value is None:
        return ""
    return value if isinstance(value, str) else content_json


def arguments(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object.

    Arguments that are an object stay as they are, and null becomes an empty object. A string is parsed as JSON if it
    holds an object. Any other value becomes the member `arguments` of an object.
    """
    value = orjson.loads(call.arguments_json or "{}")
    if isinstance(value, str):
        try:
            inner = orjson.loads(value)
        except orjson.JSONDecodeError:
            inner = None
        value = inner if isinstance(inner, dict) else value
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"arguments": value}


def plain_name(name: str, *, rest: str = r"[^A-Za-z0-9_-]") -> str:
    """Return a name as vendors accept it: shortened, and with an underscore for each character of `rest`."""
    return re.sub(rest, "_", name)[:NAME_CHARS_MAX] or "_"
