"""What an author probably meant: names that Python, JavaScript and SQL have for what CEL calls otherwise."""

from __future__ import annotations

from typing import Final

_MEANT: Final = {
    "=": "==",
    "&": "&&",
    "|": "||",
    "and": "&&",
    "or": "||",
    "not": "!",
    "is": "==",
    "True": "true",
    "False": "false",
    "None": "null",
    "len": "size(...)",
    "length": "size(...)",
    "str": "string(...)",
    "includes": "x.contains(...)",
    "startswith": "x.startsWith(...)",
    "endswith": "x.endsWith(...)",
    "lower": "x.lowerAscii()",
    "toLowerCase": "x.lowerAscii()",
    "upper": "x.upperAscii()",
    "toUpperCase": "x.upperAscii()",
    "strip": "x.trim()",
}


def hint(text: str) -> str:
    """Return what to add to the refusal of `text`; nothing where it is not known."""
    meant = _MEANT.get(text)
    return f"; CEL has {meant}" if meant else ""
