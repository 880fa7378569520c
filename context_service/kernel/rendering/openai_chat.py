"""OpenAI's Chat Completions, which most other endpoints take, too. It takes no reasoning back."""

from __future__ import annotations

from typing import Any

import orjson

from context_service.kernel.parts import Part
from context_service.kernel.rendering.bodies import Shape
from context_service.kernel.rendering.turns import (
    RequestPart,
    Turn,
    arguments,
    media_type_of,
    part_text,
    plain_name,
    text_of,
)

SHAPE = Shape(messages="messages")
_NOT_OF_NAMES = r"[\s<|\\/>]"


def pieces(turn: Turn) -> list[RequestPart]:
    """Return the messages of a turn: its text with its calls, then a message for each result."""
    message: dict[str, Any] = {"role": turn.role}
    if turn.name:
        message["name"] = plain_name(turn.name, rest=_NOT_OF_NAMES)
    spoken_parts = turn.said()
    blocks = list(map(_block, spoken_parts))
    if turn.role == "user" and any(block["type"] != "text" for block in blocks):
        message["content"] = blocks
    else:
        message["content"] = text_of(spoken_parts) or None
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": plain_name(call.call.name),
                    "arguments": orjson.dumps(arguments(call.call)).decode(),
                },
            }
            for call in turn.calls
        ]
    if message["content"] is None and not turn.calls:
        return []
    request_parts = [RequestPart(turn.role, message)]
    for call in turn.calls:
        if call.result is not None:
            result = {"role": "tool", "tool_call_id": call.id, "content": call.result.text}
            request_parts.append(RequestPart("tool", result, is_result=True))
    return request_parts


def _block(part: Part) -> dict[str, Any]:
    if part.url is not None and media_type_of(part).startswith("image/"):
        return {"type": "image_url", "image_url": {"url": part.url}}
    return {"type": "text", "text": part_text(part)}
