"""Calls of windows, and messages of agents, for their tests."""

from __future__ import annotations

from typing import Any

import orjson

from context_service.kernel.rendering import Format
from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import message_pb2
from tests.context_service.contexts.callers import Caller

FORMATS = {
    Format.OPENAI: history_pb.MESSAGE_FORMAT_OPENAI,
    Format.OPENAI_RESPONSES: history_pb.MESSAGE_FORMAT_OPENAI_RESPONSES,
    Format.ANTHROPIC: history_pb.MESSAGE_FORMAT_ANTHROPIC,
    Format.GEMINI: history_pb.MESSAGE_FORMAT_GEMINI,
}


async def opened(caller: Caller, context_id: str, limit: int = 10_000, **fields: Any) -> windows_pb.Window:
    """Open a window whose requests may have `limit` tokens."""
    said = {"model": "m", "context_tokens": limit + 1, "token_budget": 1.0, "output_reservation": 1, **fields}
    return (await caller.call("OpenWindow", context_id=context_id, **said)).window


async def packed(caller: Caller, window: windows_pb.Window, **fields: Any) -> windows_pb.PackResponse:
    return await caller.call("Pack", window_id=window.window_id, **fields)


async def said(caller: Caller, context_id: str, *messages: dict[str, Any]) -> str:
    """Write messages, and return their context."""
    made = [message_pb2.MessageInput(**message) for message in messages]
    for start in range(0, len(made), 500):
        context_id = (await caller.append(context_id, *made[start : start + 500])).context_id
    return context_id


def calls(*ids: str, content: str = "") -> dict[str, Any]:
    parts = [
        message_pb2.Part(tool_call=message_pb2.ToolCall(id=one, name="look", arguments_json='{"at": 1}')) for one in ids
    ]
    return {"role": "assistant", "content": content, "parts": parts}


def result(call_id: str, text: str) -> dict[str, Any]:
    answered = message_pb2.ToolResult(tool_call_id=call_id, content_json=orjson.dumps(text).decode())
    return {"role": "tool", "parts": [message_pb2.Part(tool_result=answered)]}
