"""The parts of a message: what every room that has messages has them of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool that the assistant wants called."""

    id: str
    name: str
    arguments_json: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered."""

    tool_call_id: str
    content_json: str
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One piece of a message: exactly one of the first six is set."""

    text: str | None = None
    data_json: str | None = None
    working_memory_id: str | None = None
    url: str | None = None
    tool_call: ToolCall | None = None
    tool_result: ToolResult | None = None
    media_type: str = ""
    file_name: str = ""
    metadata_json: str = ""
