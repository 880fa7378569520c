"""Messages of a log, as short as a test wants to say them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson

from context_service.contexts.model import Message
from context_service.kernel.parts import Part, ToolCall, ToolResult

AT = datetime(2026, 1, 1, tzinfo=UTC)


def message(role: str, content: str = "", *parts: Part, seq: int = 1) -> Message:
    return Message(
        message_id=str(seq),
        seq=seq,
        role=role,
        content=content,
        parts=parts,
        name="",
        agent_id="",
        metadata_json="",
        created_at=AT,
        said_at=AT,
        tokens=1,
        task_id=None,
        reference_task_ids=(),
    )


def called(name: str, arguments: Any = None, *, call_id: str = "c1", seq: int = 1) -> Message:
    """Return an assistant's message that calls a tool."""
    call = ToolCall(id=call_id, name=name, arguments_json=orjson.dumps(arguments or {}).decode())
    return message("assistant", "", Part(tool_call=call), seq=seq)


def answered(text: str, *, call_id: str = "c1", is_error: bool = False, seq: int = 2) -> Message:
    """Return a tool's message with the result of a call."""
    result = ToolResult(tool_call_id=call_id, content_json=orjson.dumps(text).decode(), is_error=is_error)
    return message("tool", "", Part(tool_result=result), seq=seq)
