"""OpenAI's Responses: a list of items. Reasoning items (`reasoning.encrypted_content`) are items of their own.

A reasoning item is sent only with the message or call that came right after it.
Otherwise the request is refused ("provided without its required following item"), which no reference states:
https://github.com/openai/openai-node/issues/1567, https://github.com/openai/openai-dotnet/issues/1050

Users' messages and outputs of functions have images and files; neither has audio.
https://developers.openai.com/api/docs/guides/images-vision, …/guides/pdf-files, …/guides/function-calling ("Formatting
results"), and the types of the vendor's library.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import orjson

from context_service.kernel.parts import File, Part
from context_service.kernel.rendering.bodies import Shape
from context_service.kernel.rendering.files import RESULT, base64_of, file_of, url_or_base64
from context_service.kernel.rendering.openai_chat import IMAGES
from context_service.kernel.rendering.turns import (
    RequestPart,
    Result,
    Turn,
    arguments,
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
            output = {"type": "function_call_output", "call_id": call.id, "output": _output(call.result)}
            request_parts.append(RequestPart("tool", output, is_result=True))
    return request_parts


def _message(role: str, parts: list[Part]) -> dict[str, Any] | None:
    """Return the message of parts, or None if they have no text."""
    if role == "user" and any(file_of(part) for part in parts):
        return {"role": "user", "content": list(map(_block, parts))}
    text = text_of(parts)
    return {"role": role, "content": text} if text else None


def _block(part: Part) -> dict[str, Any]:
    if (file := file_of(part)) and (media := file_block(file, "user")):
        return media
    return {"type": "input_text", "text": part_text(part)}


def _output(result: Result) -> str | list[dict[str, Any] | None]:
    """Return the output of a function: a text, or its text and its files."""
    if not result.files:
        return result.text
    texts: list[dict[str, Any] | None] = [{"type": "input_text", "text": result.text}] if result.text else []
    return texts + [file_block(file, RESULT) for file in result.files]


def file_block(file: File, place: str) -> dict[str, Any] | None:
    """Return the block of a file in a message of a role or in an output, or None if the vendor takes none there."""
    if place not in ("user", RESULT):
        return None
    base64 = base64_of(file)
    if file.media_type in IMAGES if base64 else file.media_type.startswith("image/"):
        return {"type": "input_image", "image_url": url_or_base64(file), "detail": "auto"}
    if file.media_type == "application/pdf":
        if base64 is None:
            return {"type": "input_file", "file_url": file.url}
        return {"type": "input_file", "file_data": url_or_base64(file), "filename": file.name or "document.pdf"}
    return None
