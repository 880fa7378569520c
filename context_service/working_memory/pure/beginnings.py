"""The beginning of a file, for full text search: kept while the bytes pass on their way into storage."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterable

from context_service.retrieval.documents.kinds import is_json, is_text, is_utf8
from context_service.working_memory.pure.fields import RecordInput, content_type_of_name

TEXT_CHARS_MAX = 50_000  # characters of a file that are stored for full text search
_BYTES_MAX = 4 * TEXT_CHARS_MAX  # a character has at most four bytes in UTF-8

_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_MEANING = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}


class Beginning:
    """Keeps the beginning of a stream of bytes, from which `text` makes searchable text.

    Args:
        draft: The record that the stream belongs to, as its caller describes it.
    """

    def __init__(self, draft: RecordInput) -> None:
        types = [draft.content_type, content_type_of_name(draft.name), draft.memory_type]
        self._is_text, self._is_json = is_text(types, draft.name), is_json(types)
        self._bytes = bytearray()

    async def watched(self, chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
        """Yield the chunks unchanged, and keep the first bytes for `text`."""
        async for chunk in chunks:
            if self._is_text and (room := _BYTES_MAX - len(self._bytes)) > 0:
                self._bytes += chunk[:room]
            yield chunk

    def text(self) -> str | None:
        """Return the first `TEXT_CHARS_MAX` characters that have passed; None if the bytes are not UTF-8 text.

        Each NUL is replaced by a space, because Postgres stores none.
        """
        if not self._is_text:
            return None
        beginning = bytes(self._bytes)
        if not is_utf8(beginning, is_cut=len(beginning) == _BYTES_MAX):
            return None
        text = beginning.decode("utf-8-sig", "ignore")[:TEXT_CHARS_MAX]
        if self._is_json:
            text = _unescape(text)
        return text.replace("\0", " ")


def _unescape(text: str) -> str:
    """Replace JSON escapes by their characters; otherwise the n of an escaped newline would begin the next word."""
    if "\\" not in text:
        return text

    def meaning(escape: re.Match[str]) -> str:
        digits, sign = escape.groups()
        return chr(int(digits, 16)) if digits else _MEANING.get(sign, sign)

    # Two surrogates become one character; a lone surrogate could not be stored.
    return _ESCAPED.sub(meaning, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
