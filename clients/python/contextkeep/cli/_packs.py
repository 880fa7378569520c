"""Packs and messages as text that a person reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from contextkeep.values import ChatMessage

_IN_FRONT = ("system", "systemInstruction")
_MESSAGES = ("messages", "contents", "input")
_SAID = ("content", "parts", "text", "tool_calls")
_UNSAID = ("role", "type", "name", "id", "call_id", "tool_call_id", "tool_use_id", "tool_calls")


def messages_of(body: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the role and the text of each message of a request to a model, in any vendor's format."""
    for name in (*_IN_FRONT, *_MESSAGES):
        result = body.get(name, [])
        for item in result if isinstance(result, list) else [result]:
            role = "system" if name in _IN_FRONT else item.get("role") or item["type"]
            yield {"role": role, "text": _text(item)}


def text_of(message: ChatMessage) -> str:
    """Return what a message of a context says, calls and answers."""
    items = [message.content]
    for part in message.parts:
        if part.tool_call:
            items.append(f"calls {part.tool_call.name} {part.tool_call.arguments_json}")
        elif part.tool_result:
            items.append(_text(json.loads(part.tool_result.content_json or '""')))
        else:
            items.append(part.text or part.data_json or part.url or part.working_memory_id)
    return "\n".join(filter(None, items))


def _text(value: Any) -> str:
    """Return what a message, or a block of one, says: a text as it is, a call by its name, all else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(_text, value)))
    if not isinstance(value, dict):
        return json.dumps(value)
    if call := _call(value):
        return f"calls {call[0]} {call[1] if isinstance(call[1], str) else json.dumps(call[1], ensure_ascii=False)}"
    result = [_text(value[name]) for name in _SAID if value.get(name)]
    rest = {name: each for name, each in value.items() if name not in (*_SAID, *_UNSAID)}
    return "\n".join([*filter(None, result), *([json.dumps(rest, ensure_ascii=False)] if rest else [])])


def _call(block: dict[str, Any]) -> tuple[str, Any] | None:
    """Return the name and the arguments of a block that calls a tool, in any vendor's format."""
    if isinstance(call := block.get("function"), dict):
        return call["name"], call.get("arguments", "")
    if isinstance(call := block.get("functionCall"), dict):
        return call["name"], call.get("args", {})
    if block.get("type") in ("tool_use", "function_call"):
        return block["name"], block.get("input", block.get("arguments", ""))
    return None
