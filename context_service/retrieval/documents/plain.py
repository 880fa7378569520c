"""Reads text files: plain text unchanged, and JSON as its values."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from context_service.retrieval.documents.kinds import Reason, Refused
from context_service.retrieval.pure.part_texts import json_text

_CHARSETS = frozenset(
    {"utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "iso8859-1", "iso8859-15", "cp1252", "shift_jis", "gb18030"}
)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


def load() -> None:
    """Import the modules that decoding needs, before the process is barred from opening files."""
    for charset in (*_CHARSETS, "utf-8-sig"):
        codecs.lookup(charset)


def decoded(data: bytes, charset: str) -> str:
    """Decode bytes: by their byte-order mark, else by the declared charset, else as UTF-8.

    Raises:
        Refused: the bytes are not text in that encoding.
    """
    for mark, marked in _MARKS:
        if data.startswith(mark):
            charset = marked
            break
    else:
        charset = _python_charset(charset)
    try:
        return data.decode(charset)
    except UnicodeDecodeError as error:
        raise Refused(Reason.NOT_AS_SAID, f"it is not valid {charset} text, at byte {error.start}") from None


def _python_charset(charset: str) -> str:
    """Return Python's name of a declared charset; UTF-8 if it is missing, unknown or not supported."""
    try:
        name = codecs.lookup(charset or "utf-8").name
    except LookupError:
        return "utf-8"
    # As in browsers: texts that declare ISO 8859-1 or ASCII are often written in cp1252, which contains both.
    return "cp1252" if name in {"iso8859-1", "ascii"} else name if name in _CHARSETS else "utf-8"


def text_of(data: bytes, charset: str) -> Iterator[str]:
    """Yield a plain text unchanged."""
    yield decoded(data, charset)


def text_of_json(data: bytes, charset: str) -> Iterator[str]:
    """Yield the values of a JSON document, or of each line that is one; other text is yielded unchanged."""
    text = decoded(data, charset)
    flattened = json_text(text)
    if flattened is not text:
        yield flattened
        return
    for line in text.splitlines():
        yield json_text(line) + "\n"
