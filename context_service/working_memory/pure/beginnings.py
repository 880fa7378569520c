"""What full text search finds of a file: its beginning, kept as the bytes pass on their way into storage."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterable

from context_service.retrieval.documents.kinds import is_json, is_text
from context_service.working_memory.pure.fields import RecordInput, content_type_of_name

TEXT_CHARS_MAX = 50_000
_BYTES_MAX = 4 * TEXT_CHARS_MAX  # of UTF-8

_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_MEANING = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}


class Beginning:
    """The beginning of a stream of bytes, if it is to be a text.

    Args:
        said: The record that the stream belongs to.
    """

    def __init__(self, said: RecordInput) -> None:
        types = [said.content_type, content_type_of_name(said.name), said.memory_type]
        self._is_text, self._is_json = is_text(types, said.name), is_json(types)
        self._bytes = bytearray()

    async def watched(self, chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
        """Yield the chunks as they are."""
        async for chunk in chunks:
            if self._is_text and (room := _BYTES_MAX - len(self._bytes)) > 0:
                self._bytes += chunk[:room]
            yield chunk

    def text(self) -> str | None:
        """Return the first `TEXT_CHARS_MAX` characters of what has passed, None if they are no text.

        Postgres stores no NUL: a space stands for it.
        """
        if not self._is_text:
            return None
        try:
            text = _decoded(bytes(self._bytes))
        except UnicodeDecodeError:
            return None
        text = text[:TEXT_CHARS_MAX]
        if self._is_json:
            text = _unescaped(text)
        return text.replace("\0", " ")


def _decoded(beginning: bytes) -> str:
    """Return the text of bytes of UTF-8, of which the last character may be cut off where more bytes follow.

    Raises:
        UnicodeDecodeError: they are no UTF-8.
    """
    try:
        return beginning.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(beginning) < _BYTES_MAX or error.start < _BYTES_MAX - 3 or error.reason != "unexpected end of data":
            raise
        return beginning[: error.start].decode("utf-8-sig")


def _unescaped(text: str) -> str:
    """Return a piece of JSON with its escapes as what they mean: of a new line the n would begin the next word."""
    if "\\" not in text:
        return text

    def meaning(escape: re.Match[str]) -> str:
        digits, sign = escape.groups()
        return chr(int(digits, 16)) if digits else _MEANING.get(sign, sign)

    # Two halves of a character become one; a half alone is nothing that could be stored.
    return _ESCAPED.sub(meaning, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
