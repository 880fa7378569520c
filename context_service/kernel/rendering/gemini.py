"""Gemini's generateContent: results are matched by their names and their order, and have turns of their own.

A thought signature is of the part that it came with: of the first call of its turn, else of the last text. A block of
reasoning has it as its bytes.

Turns of the user and of the model have images, PDFs, audio and video of the types in `_TYPES`
(https://ai.google.dev/gemini-api/docs/image-understanding, …/document-processing, …/audio, …/video-understanding).
From Gemini 3 on, results have images and PDFs (https://ai.google.dev/gemini-api/docs/function-calling, "Multimodal
function responses"), but no URLs ("not supported in Gemini API", says the vendor's library).
"""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Any

from context_service.kernel.parts import File, Part, ToolCall
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

SHAPE = Shape(
    messages="contents",
    pieces="parts",
    system=('"systemInstruction":{"parts":', "}"),
    system_at="/systemInstruction/parts",
    results_apart=True,
)
_MEDIA = re.compile(r"(?:image|audio|video)/.+|application/pdf")  # what a URL may be
_TYPES = frozenset(
    {"application/pdf"}
    | {f"image/{name}" for name in ("png", "jpeg", "webp", "heic", "heif")}
    | {f"audio/{name}" for name in ("wav", "x-wav", "mp3", "mpeg", "aiff", "aac", "ogg", "flac", "mp4", "webm")}
    | {f"video/{name}" for name in ("mp4", "mpeg", "mov", "quicktime", "avi", "x-flv", "mpg", "webm", "wmv", "3gpp")}
)
_TYPES_IN_RESULTS = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf"})


def pieces(turn: Turn) -> list[RequestPart]:
    """Return the parts of a turn: texts, then calls, then their results, in a turn of the user."""
    role = {"assistant": "model"}.get(turn.role, turn.role)
    parts = [part for spoken_part in turn.said() if (part := _part(spoken_part, turn.role))]
    if turn.role == "system":
        return [RequestPart("system", part) for part in parts]
    # Calls have no ids here, because not all of the vendor's APIs accept them.
    calls: list[dict[str, Any]] = [
        {"functionCall": {"name": _function_name(call.call), "args": arguments(call.call)}} for call in turn.calls
    ]
    if (signature := _signature(turn)) and (calls or parts):
        (calls[0] if calls else parts[-1])["thoughtSignature"] = signature
    request_parts = [RequestPart(role, part) for part in parts]
    request_parts += [RequestPart("model", call) for call in calls]
    for call in turn.calls:
        if call.result is not None:
            request_parts.append(
                RequestPart("user", {"functionResponse": _response(call, call.result)}, is_result=True)
            )
    return request_parts


def _part(part: Part, role: str) -> dict[str, Any] | None:
    """Return a part; None for blank text, which is refused."""
    if (file := file_of(part)) and (media := file_block(file, role)):
        return media
    text = part_text(part)
    return {"text": text} if text.strip() else None


def file_block(file: File, place: str) -> dict[str, Any] | None:
    """Return the part of a file in a turn of a role or in a result, or None if the vendor takes none there."""
    if place not in ("user", "assistant", RESULT):
        return None
    if base64 := base64_of(file):
        is_taken = file.media_type in (_TYPES_IN_RESULTS if place == RESULT else _TYPES)
        return {"inlineData": {"mimeType": file.media_type, "data": base64}} if is_taken else None
    if place == RESULT or not _MEDIA.fullmatch(file.media_type):
        return None
    return {"fileData": {"mimeType": file.media_type, "fileUri": file.url}}


def _signature(turn: Turn) -> str:
    """Return the last thought signature in a turn's reasoning; empty if it has none."""
    if turn.role != "assistant":
        return ""
    blocks = [block for part in turn.parts if (block := reasoning_of(part, "gemini", "google"))]
    return next((b64encode(block.data).decode() for block in reversed(blocks) if block.data), "")


def _response(call: Call, result: Result) -> dict[str, Any]:
    """Return the result of a call as Gemini's `functionResponse`."""
    name = _function_name(call.call)
    response: dict[str, Any] = {"name": name, "response": {"error" if result.is_error else "output": result.text}}
    if result.files:
        response["parts"] = [file_block(file, RESULT) for file in result.files]
    return response


def _function_name(call: ToolCall) -> str:
    """Return the name of a function, which begins with a letter or an underscore."""
    name = plain_name(call.name)
    return name if name[0].isalpha() or name[0] == "_" else plain_name(f"_{name}")
