"""OpenAI's Chat Completions, which most other endpoints take, too. It takes no reasoning back.

Only users' messages have images, PDFs and audio: tool messages have texts alone.
https://developers.openai.com/api/reference/resources/chat (content parts), …/docs/guides/audio, and the types of the
vendor's library. PDFs and audio have no URLs there.
"""

from __future__ import annotations

from typing import Any

import orjson

from context_service.kernel.parts import File, Part
from context_service.kernel.rendering.bodies import Shape
from context_service.kernel.rendering.files import base64_of, file_of, url_or_base64
from context_service.kernel.rendering.turns import (
    RequestPart,
    Turn,
    arguments,
    part_text,
    plain_name,
    text_of,
)

SHAPE = Shape(messages="messages")
_NOT_OF_NAMES = r"[\s<|\\/>]"
# https://developers.openai.com/api/docs/guides/images-vision: also GIFs, if they are not animated.
IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_AUDIO = dict.fromkeys(("audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"), "wav") | dict.fromkeys(
    ("audio/mpeg", "audio/mp3"), "mp3"
)


def pieces(turn: Turn) -> list[RequestPart]:
    """Return the messages of a turn: its text with its calls, then a message for each result."""
    message: dict[str, Any] = {"role": turn.role}
    if turn.name:
        message["name"] = plain_name(turn.name, rest=_NOT_OF_NAMES)
    spoken_parts = turn.said()
    blocks = list(map(_block, spoken_parts)) if turn.role == "user" else []
    if any(block["type"] != "text" for block in blocks):
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
    if (file := file_of(part)) and (media := file_block(file, "user")):
        return media
    return {"type": "text", "text": part_text(part)}


def file_block(file: File, place: str) -> dict[str, Any] | None:
    """Return the block of a file in a message of a role, or None if the vendor takes none there."""
    if place != "user":
        return None
    base64 = base64_of(file)
    if file.media_type in IMAGES if base64 else file.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url_or_base64(file)}}
    if file.media_type == "application/pdf" and base64:
        return {"type": "file", "file": {"filename": file.name or "document.pdf", "file_data": url_or_base64(file)}}
    if base64 and (audio := _AUDIO.get(file.media_type)):
        return {"type": "input_audio", "input_audio": {"data": base64, "format": audio}}
    return None
