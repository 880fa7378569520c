r"""String and bytes literals: what stands between the quotes.

cel-python's lexer rejects `\?` and `\X41` and lets unknown escapes through, so
escapes are read here, as the language definition has them.
"""

from __future__ import annotations

import re

_SIMPLE = {
    "\\": "\\",
    "?": "?",
    '"': '"',
    "'": "'",
    "`": "`",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
_ESCAPE = re.compile(
    r"\\(?:([\\?\"'`abfnrtv])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})"
    r"|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))"
)


class BadEscape(ValueError):
    """An escape that the language does not have; `offset` is its place in the text."""

    def __init__(self, message: str, offset: int) -> None:
        """Keep the message and the place."""
        super().__init__(message)
        self.message = message
        self.offset = offset


def unescape_string(text: str) -> str:
    """Return the string that `text` stands for.

    Raises:
        BadEscape: an unknown escape, or one that is no Unicode character.
    """
    parts: list[str] = []
    done = 0
    high: tuple[int, int] | None = None  # a high surrogate, and the escape's offset
    while True:
        found = text.find("\\", done)
        if high is not None and found != done:
            raise BadEscape("the escape is half of a surrogate pair", high[1])
        if found < 0:
            parts.append(text[done:])
            return "".join(parts)
        parts.append(text[done:found])
        simple, code, wide = _read_escape(text, found)
        done = found + len(wide)
        if high is not None:
            if not 0xDC00 <= code <= 0xDFFF:
                raise BadEscape("the escape is half of a surrogate pair", high[1])
            parts.append(chr(0x10000 + ((high[0] - 0xD800) << 10) + (code - 0xDC00)))
            high = None
        elif simple is not None:
            parts.append(simple)
        elif 0xD800 <= code <= 0xDBFF and wide[1] == "u":
            high = (code, found)
        elif 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
            raise BadEscape("the escape is no Unicode character", found)
        else:
            parts.append(chr(code))


def unescape_bytes(text: str) -> bytes:
    """Return the bytes that `text` stands for; characters are UTF-8.

    Raises:
        BadEscape: an unknown escape, or a Unicode one, which bytes do not have.
    """
    parts: list[bytes] = []
    done = 0
    while (found := text.find("\\", done)) >= 0:
        parts.append(text[done:found].encode())
        simple, code, wide = _read_escape(text, found)
        if wide[1] in "uU":
            raise BadEscape("bytes have no Unicode escapes", found)
        parts.append(simple.encode() if simple is not None else bytes([code]))
        done = found + len(wide)
    parts.append(text[done:].encode())
    return b"".join(parts)


def _read_escape(text: str, offset: int) -> tuple[str | None, int, str]:
    """Return the simple character or None, the code, and the escape's own text."""
    match = _ESCAPE.match(text, offset)
    if match is None:
        raise BadEscape(f"unknown escape {text[offset : offset + 2]!r}", offset)
    simple, two, four, eight, octal = match.groups()
    if simple is not None:
        return _SIMPLE[simple], 0, match.group()
    if octal is not None:
        return None, int(octal, 8), match.group()
    return None, int(two or four or eight, 16), match.group()
