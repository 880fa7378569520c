"""Anthropic's Messages: roles take turns, and results come first in the user's.

Thinking comes back as it was, in front of its text and its calls, and only with them.
https://platform.claude.com/docs/en/build-with-claude/preserved-thinking. Only the API's error says that a turn may not
end with thinking: https://github.com/anthropics/claude-code/issues/11514
"""

from __future__ import annotations

from typing import Any

import orjson

from context_service.kernel.parts import File, Part
from context_service.kernel.rendering.bodies import Shape
from context_service.kernel.rendering.files import RESULT, base64_of, file_of
from context_service.kernel.rendering.turns import (
    Call,
    RequestPart,
    Result,
    Turn,
    arguments,
    part_text,
    plain_name,
    reasoning_of,
)

SHAPE = Shape(messages="messages", pieces="content", system=('"system":', ""), system_at="/system")
_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})  # accepted as data within a request


def pieces(turn: Turn) -> list[RequestPart]:
    """Return the blocks of a turn: thinking and text, then calls, then their results, in a message of the user."""
    request_parts = []
    lasting = 0  # pieces up to the last one that is no thinking
    for part in turn.parts:
        if block := _block(part, turn.role):
            request_parts.append(RequestPart(turn.role, block))
            lasting = lasting if part.reasoning is not None else len(request_parts)
    if turn.role == "system":
        return request_parts
    if not turn.calls:  # "The final block in an assistant message cannot be `thinking`."
        del request_parts[lasting:]
    request_parts += [RequestPart("assistant", _tool_use(call)) for call in turn.calls]
    for call in turn.calls:
        if call.result is not None:
            request_parts.append(RequestPart("user", _tool_result(call, call.result), is_result=True))
    return request_parts


def _block(part: Part, role: str) -> dict[str, Any] | orjson.Fragment | None:
    """Return a block; None for blank text, which is refused, and for other vendors' reasoning."""
    if part.reasoning is not None:
        block = reasoning_of(part, "anthropic") if role == "assistant" else None
        return orjson.Fragment(block.data_json) if block and block.data_json else None
    if (file := file_of(part)) and (media := file_block(file, role)):
        return media
    text = part_text(part)
    return {"type": "text", "text": text} if text.strip() else None


def file_block(file: File, place: str) -> dict[str, Any] | None:
    """Return the block of a file in a turn of a role or in a result, or None if the vendor takes none there.

    Only users' messages and results have images and documents; audio and video have no blocks.
    https://platform.claude.com/docs/en/build-with-claude/vision, …/pdf-support, and the types of `tool_result`.
    """
    if place not in ("user", RESULT):
        return None
    base64 = base64_of(file)
    if file.media_type == "application/pdf":
        kind = "document"
    elif file.media_type in _IMAGES if base64 else file.media_type.startswith("image/"):
        kind = "image"
    else:
        return None
    if base64 is None:
        return {"type": kind, "source": {"type": "url", "url": file.url}}
    return {"type": kind, "source": {"type": "base64", "media_type": file.media_type, "data": base64}}


def _tool_use(call: Call) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": plain_name(call.call.name), "input": arguments(call.call)}


def _tool_result(call: Call, result: Result) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
    text = result.text if result.text.strip() else ""
    if result.files:
        texts = [{"type": "text", "text": text}] if text else []
        block["content"] = texts + [file_block(file, RESULT) for file in result.files]
    elif text:
        block["content"] = text
    if result.is_error:
        block["is_error"] = True
    return block
