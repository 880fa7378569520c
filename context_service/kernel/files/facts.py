"""The facts about a file that decide how a model gets it: its type by its bytes, and its size in the vendor's units.

A file says its media type itself: vendors refuse a JPEG that is sent as a PNG, and then every later request of the
conversation, too. A type that the caller declares counts only for files that models do not see or hear, such as a
spreadsheet. A fact of 0 is unknown, and an unknown fact counts as the most that it can be.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from math import isfinite
from typing import Any

UNKNOWN_TYPE = "application/octet-stream"

_MOST = 2**31 - 1
# Names of the library, and older names of callers, with the registered names that vendors document.
_SAME_TYPES = {
    "audio/m4a": "audio/mp4",
    "audio/mp3": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-aiff": "audio/aiff",
    "audio/x-flac": "audio/flac",
    "audio/x-m4a": "audio/mp4",
    "audio/x-wav": "audio/wav",
    "application/x-pdf": "application/pdf",
    "image/jpg": "image/jpeg",
}


class FileKind(Enum):
    """How a model gets a file."""

    IMAGE = "image"
    PDF = "pdf"
    AUDIO = "audio"
    OTHER = "other"  # as a line of text: its name, its type, and where the whole file is


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What is known about a file from its bytes. 0 is unknown."""

    media_type: str
    width: int = 0  # pixels
    height: int = 0
    page_count: int = 0
    text_chars: int = 0  # of a PDF: characters of all its pages
    duration_seconds: float = 0.0


def kind_of(media_type: str) -> FileKind:
    """Return how a model gets a file of a media type. No model takes drawings (SVG) as images."""
    bare = bare_type(media_type)
    if bare == "application/pdf":
        return FileKind.PDF
    if bare.startswith("image/") and not bare.startswith("image/svg"):
        return FileKind.IMAGE
    return FileKind.AUDIO if bare.startswith("audio/") else FileKind.OTHER


def bare_type(media_type: str) -> str:
    """Return a media type in lower case, without parameters, by its registered name."""
    bare = media_type.partition(";")[0].strip().lower()
    return _SAME_TYPES.get(bare, bare)


def type_of(detected: str, declared: str) -> str:
    """Return the media type of a file.

    Args:
        detected: The type that a library found in the bytes; empty if it found none.
        declared: The type that the caller gave; may be empty.
    """
    if kind_of(detected) is not FileKind.OTHER or detected.startswith("video/"):
        return bare_type(detected)
    if kind_of(declared) is not FileKind.OTHER or declared.startswith("video/"):
        return UNKNOWN_TYPE  # it says that it is a picture, and no picture begins like this
    return bare_type(declared) or bare_type(detected) or UNKNOWN_TYPE


def facts_of_answer(line: bytes, declared: str) -> FileFacts:
    """Return the facts of a line that the child process wrote. They are checked: a file may have taken it over."""
    try:
        answer: dict[str, Any] = json.loads(line)
        return FileFacts(
            media_type=type_of(_short(answer["type"]), declared),
            width=_whole(answer.get("width", 0)),
            height=_whole(answer.get("height", 0)),
            page_count=_whole(answer.get("pages", 0)),
            text_chars=_whole(answer.get("chars", 0)),
            duration_seconds=_seconds(answer.get("seconds", 0.0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return FileFacts(media_type=type_of("", declared))


def _short(text: Any) -> str:
    if not isinstance(text, str) or len(text) > 100 or not text.isascii() or not text.isprintable():
        raise ValueError("not a media type")
    return text


def _whole(number: Any) -> int:
    return min(number, _MOST) if type(number) is int and number > 0 else 0


def _seconds(number: Any) -> float:
    is_number = type(number) in (int, float) and isfinite(number) and number > 0
    return min(float(number), float(_MOST)) if is_number else 0.0
