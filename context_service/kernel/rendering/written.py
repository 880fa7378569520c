"""Writes pieces of requests as JSON, and finds where the base64 of files has to be inserted.

The place is a position in the bytes and not a mark in the text: a text of a caller could imitate a mark.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from context_service.kernel.parts import File
from context_service.kernel.rendering.files import FileBytes
from context_service.kernel.rendering.turns import line_of


class PlacedFile(NamedTuple):
    """A file of a request, and where its base64 has to be inserted.

    Attributes:
        offset_bytes: The position in the JSON, which has an empty base64 there.
        pointer: The string to which the base64 is appended, as a JSON Pointer (RFC 6901).
        line: The line of text that stands for the file if it has to leave.
    """

    offset_bytes: int
    pointer: str
    working_memory_id: str
    sha256: str
    size_bytes: int
    media_type: str
    line: str

    @property
    def as_file(self) -> File:
        """The file, with the facts that a request needs."""
        return File(
            working_memory_id=self.working_memory_id,
            sha256=self.sha256,
            size_bytes=self.size_bytes,
            media_type=self.media_type,
        )

    def within(self, pointer: str, begins_at: int) -> PlacedFile:
        """Return the file with its place in the larger JSON that has this JSON at a pointer and a position."""
        return self._replace(offset_bytes=begins_at + self.offset_bytes, pointer=pointer + self.pointer)


class Written(NamedTuple):
    """A value as JSON, and its files."""

    json: bytes
    files: tuple[PlacedFile, ...] = ()


def written(value: Any) -> Written:
    """Return a value as JSON, with an empty base64 in the place of each `FileBytes`."""
    try:
        return Written(orjson.dumps(value))
    except orjson.JSONEncodeError:  # it has a file, or it is no JSON, which the writer then says, too
        writer = _Writer()
        writer.write(value, "")
        return Written(bytes(writer.json), tuple(writer.files))


class _Writer:
    """Writes a value member by member. Pieces of requests are shallow, so it may recurse."""

    def __init__(self) -> None:
        self.json = bytearray()
        self.files: list[PlacedFile] = []

    def write(self, value: Any, pointer: str) -> None:
        """Write a value that stands at a JSON Pointer."""
        if isinstance(value, FileBytes):
            self.json += orjson.dumps(value.before)
            file = value.file
            self.files.append(
                PlacedFile(
                    len(self.json) - 1,
                    pointer,
                    file.working_memory_id or "",
                    file.sha256,
                    file.size_bytes,
                    file.media_type,
                    line_of(file),
                )
            )
        elif isinstance(value, dict):
            members = [(orjson.dumps(name) + b":", name, member) for name, member in value.items()]
            self._join(b"{", b"}", members, pointer)
        elif isinstance(value, list):
            self._join(b"[", b"]", [(b"", number, item) for number, item in enumerate(value)], pointer)
        else:
            self.json += orjson.dumps(value)

    def _join(self, start: bytes, end: bytes, members: list[tuple[bytes, object, Any]], pointer: str) -> None:
        """Write members between two brackets; the names of our own blocks need no escapes in a JSON Pointer."""
        self.json += start
        for number, (before, name, member) in enumerate(members):
            self.json += (b"," if number else b"") + before
            self.write(member, f"{pointer}/{name}")
        self.json += end
