"""Pieces without some of their files: a line of text stands in the place of each.

Files leave a request when their records were deleted, or when a model takes no more of them. A piece that was stored
is changed here as JSON, because the message that it shows is not at hand.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import orjson

from context_service.kernel.rendering.bodies import Rendered
from context_service.kernel.rendering.files import FileBytes
from context_service.kernel.rendering.formats import Format
from context_service.kernel.rendering.written import PlacedFile, written

# A vendor's block of text, and the name of the member with its text.
_TEXT = {
    Format.ANTHROPIC: ({"type": "text"}, "text"),
    Format.OPENAI: ({"type": "text"}, "text"),
    Format.OPENAI_RESPONSES: ({"type": "input_text"}, "text"),
    Format.GEMINI: ({}, "text"),
}


def without_files(piece: Rendered, to: Format, left_out: Collection[PlacedFile]) -> Rendered:
    """Return a piece with a line of text in the place of each file that is left out.

    Args:
        piece: The piece.
        to: The vendor's format.
        left_out: The files to leave out, of those in the piece.
    """
    gone = [file for file in piece.files if file in left_out]
    if not gone:
        return piece
    value: Any = orjson.loads(piece.json)
    stays = [file for file in piece.files if file not in left_out]
    for file in stays:  # the writer finds their new places
        holder, name = _holder(value, file.pointer)
        holder[name] = _Stays(file, holder[name])
    for file in gone:
        value = _replaced(value, file, to)
    json, places = written(_without_none(value))
    files = tuple(
        old._replace(offset_bytes=new.offset_bytes, pointer=new.pointer) for old, new in zip(stays, places, strict=True)
    )
    return piece._replace(json=json.decode(), files=files)


class _Stays(FileBytes):
    """A file that stays, with the text before its base64."""

    def __init__(self, file: PlacedFile, before: str) -> None:
        super().__init__(file.as_file, before)


def _holder(value: Any, pointer: str) -> tuple[Any, Any]:
    """Return the object or list that has the value at a JSON Pointer, and the value's name or number in it."""
    *names, last = pointer.split("/")[1:]
    for name in names:
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value, last


def _replaced(value: Any, file: PlacedFile, to: Format) -> Any:
    """Return the value of a piece with a line in the place of the block of a file."""
    names = file.pointer.split("/")[1:]
    block, text = _TEXT[to]
    numbers = [number for number, name in enumerate(names) if name.isdecimal()]
    if not numbers:  # the piece is the block
        return {**block, text: file.line}
    place = numbers[-1]
    items, _ = _holder(value, "/" + "/".join(names[: place + 1]))
    if to is Format.GEMINI:  # a function response has no texts among its parts
        response = value["functionResponse"]
        items[int(names[place])] = None
        name = "error" if "error" in response["response"] else "output"
        response["response"][name] = "\n".join(filter(None, [response["response"][name], file.line]))
    else:
        items[int(names[place])] = {**block, text: file.line}
    return value


def _without_none(value: Any) -> Any:
    """Return the value of a piece without the parts of a function response that are left out."""
    response = value.get("functionResponse")
    if response and "parts" in response:
        response["parts"] = [part for part in response["parts"] if part is not None]
        if not response["parts"]:
            del response["parts"]
    return value
