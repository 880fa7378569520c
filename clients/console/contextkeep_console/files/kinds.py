"""The kinds of files that pages show. The first bytes of a file decide; its name and its declared type may be wrong.

Only the media types of this list are ever sent as such. Everything else, such as SVG and HTML, is a file to download.
"""

from __future__ import annotations

from enum import Enum

import filetype

from contextkeep import File

START_BYTES = 8_192  # first bytes that decide
FILE_BYTES_MAX = 20 * 2**20  # the services take pictures of models up to this size; larger files are downloaded
PICTURE_PIXELS_MAX = 250_000_000  # of a picture that browsers get whole

_PDF_WITHIN_BYTES = 1_024  # a PDF may begin after other bytes
_REGISTERED = {"audio/x-flac": "audio/flac", "audio/x-wav": "audio/wav", "audio/mp3": "audio/mpeg"}
_PICTURES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
_AUDIO = frozenset({"audio/aac", "audio/flac", "audio/mp4", "audio/mpeg", "audio/ogg", "audio/wav"})


class Kind(Enum):
    """How a page shows a file."""

    PICTURE = "picture"
    PDF = "pdf"
    AUDIO = "audio"
    OTHER = "other"  # as a line of text


def type_of(start: bytes) -> str:
    """Return the media type of a file from its first `START_BYTES`; empty if pages do not show such files."""
    if b"%PDF-" in start[:_PDF_WITHIN_BYTES]:
        return "application/pdf"
    detected = str(getattr(filetype.guess(start[:START_BYTES]), "mime", ""))
    media_type = _REGISTERED.get(detected, detected)
    if media_type == "image/gif" and not start.startswith((b"GIF87a", b"GIF89a")):
        return ""  # a text may begin with "GIF", which is enough for the library
    return media_type if kind_of_type(media_type) is not Kind.OTHER else ""


def kind_of_type(media_type: str) -> Kind:
    """Return how a page shows files of a media type."""
    bare = media_type.partition(";")[0].strip().lower()
    bare = _REGISTERED.get(bare, bare)
    if bare in _PICTURES:
        return Kind.PICTURE
    if bare == "application/pdf":
        return Kind.PDF
    return Kind.AUDIO if bare in _AUDIO else Kind.OTHER


def kind_of(file: File) -> Kind:
    """Return how a page shows a file of a message: by its media type, unless it has too many pixels to be drawn."""
    kind = kind_of_type(file.media_type)
    return Kind.OTHER if kind is Kind.PICTURE and file.width * file.height > PICTURE_PIXELS_MAX else kind
