"""OpenAI's Responses: a list of items. Reasoning items (`reasoning.encrypted_content`) are items of their own.

A reasoning item is sent only with the message or call that came right after it.
Otherwise the request is refused ("provided without its required following item"), which no reference states:
https://github.com/openai/openai-node/issues/1567, https://github.com/openai/openai-dotnet/issues/1050
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import orjson

from context_service.kernel.parts import Part
from context_service.kernel.rendering.bodies import Shape
from context_service.kernel.rendering.turns import (
    RequestPart,
    Turn,
    arguments,
    inline_file,
    media_type_of,
    part_text,
    plain_name,
    reasoning_of,
    text_of,
)

SHAPE = Shape(messages="input")


def pieces(turn: Turn) -> list[RequestPart]:
    """Return the items of a turn: reasoning and messages in their order, calls, and their results."""
    request_parts: list[RequestPart] = []
    lasting = 0  # items up to the last one that is no reasoning
    for is_reasoning, group in groupby(turn.parts, key=lambda part: part.reasoning is not None):
        parts = list(group)
        if is_reasoning and turn.role == "assistant":
            blocks = [block for part in parts if (block := reasoning_of(part, "openai")) and block.data_json]
            request_parts += [RequestPart(turn.role, orjson.Fragment(block.data_json)) for block in blocks]
        elif not is_reasoning and (message := _message(turn.role, parts)):
            request_parts.append(RequestPart(turn.role, message))
            lasting = len(request_parts)
    if not turn.calls:  # "Item 'rs_…' of type 'reasoning' was provided without its required following item."
        del request_parts[lasting:]
    for call in turn.calls:
        item = {
            "type": "function_call",
            "call_id": call.id,
            "name": plain_name(call.call.name),
            "arguments": orjson.dumps(arguments(call.call)).decode(),
        }
        request_parts.append(RequestPart(turn.role, item))
    for call in turn.calls:
        if call.result is not None:
            item = {"type": "function_call_output", "call_id": call.id, "output": call.result.text}
            request_parts.append(RequestPart("tool", item, is_result=True))
    return request_parts


def _message(role: str, parts: list[Part]) -> dict[str, Any] | None:
    """Return the message of parts, or None if they have no text."""
    if role == "user" and any(part.url is not None for part in parts):
        return {"role": "user", "content": list(map(_block, parts))}
    text = text_of(parts)
    return {"role": role, "content": text} if text else None


def _block(part: Part) -> dict[str, Any]:
    if part.url is not None:
        media_type = media_type_of(part)
        if media_type.startswith("image/"):
            return {"type": "input_image", "image_url": part.url, "detail": "auto"}
        if media_type == "application/pdf":
            if inline_file(part.url):
                return {"type": "input_file", "file_data": part.url, "filename": part.file_name or "document.pdf"}
            return {"type": "input_file", "file_url": part.url}
    return {"type": "input_text", "text": part_text(part)}
