"""JSON documents and texts of callers, checked where they come in.

Documents travel as UTF-8 JSON text. What passes here can be stored as jsonb, parsed again by any reader, and walked by
recursive code: so NaN, lone surrogates, NUL characters and deep nesting are refused, each naming the field.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from contextgraph.errors import InvalidArgument, LimitExceeded

NESTING_MAX = 100  # what recursive readers, ours and others', can take

# Postgres stores a number exactly and shows it without exponent: six characters become 16,000. What no double can
# tell from zero or infinity is refused (infinity by the parser), and the rest counts with the digits it will show.
_EXPONENT_MIN = -400
_SHORT_CHARS = 16 * 1024
_MAY_HOLD_EXPONENT = re.compile(r"\d[eE][+-]?\d")
# Texts are full of "e-". These two begin with plain letters, and so are ten times as fast as one that looks for both.
_MAY_HOLD_NEGATIVE = re.compile(r"e-(?<=\de-)\d")
_MAY_HOLD_NEGATIVE_UPPER = re.compile(r"E-(?<=\dE-)\d")
_EXPONENT_DIGITS_MAX = 10  # that are looked at: as many are too many for anything

_TEXT_ONLY = frozenset([str])

# Strings first, so that what is inside one is not counted. Nothing of a string is given back, and one that does not end
# goes on to the end of the text: so a text is gone through once, whatever is in it.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_EXPONENTS = re.compile(rf"{_STRING}|[eE]([+-]?)0*+(\d*)", re.DOTALL)
_BRACKETS = re.compile(rf"{_STRING}|[\[{{]|[\]}}]", re.DOTALL)


def parse_json(field: str, text: str, *, size_bytes_max: int, nesting_max: int) -> Any:
    """Return the value of a JSON document after all checks.

    Args:
        field: Path of the field in its request, for the error.
        text: The document.
        size_bytes_max: Largest size in UTF-8.
        nesting_max: Brackets open at once, `NESTING_MAX` at most.

    Raises:
        InvalidArgument: it is not JSON, holds a NUL, or nests too deeply.
        LimitExceeded: it is too long.
    """
    check_size(field, text, size_bytes_max=size_bytes_max)
    nesting = _nesting(text, nesting_max)
    if nesting > nesting_max:
        raise InvalidArgument(
            f"{field} nests deeper than {nesting_max}", field=field, limit=field, limit_max=nesting_max, value=nesting
        )
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidArgument(f"{field} is not valid JSON: {error}", field=field) from None
    # Postgres stores no NUL in a text. The substring is a hint only: it may be an escaped backslash before "u0000".
    # The character alone is found ten times as fast.
    if "\\" in text and "\\u0000" in text and _holds_nul(value):
        raise InvalidArgument(f"{field} holds a NUL character", field=field)
    if isinstance(value, dict) and _TEXT_ONLY.issuperset(map(type, value.values())):
        return value  # no number: so are most messages
    if len(text) > _SHORT_CHARS:
        may_hold = _MAY_HOLD_EXPONENT.search(text)
    else:  # a short text cannot become long by positive exponents
        may_hold = _MAY_HOLD_NEGATIVE.search(text) or _MAY_HOLD_NEGATIVE_UPPER.search(text)
    if may_hold:
        _check_exponents(field, text, size_bytes_max=size_bytes_max)
    return value


def parse_object(field: str, text: str, *, size_bytes_max: int, nesting_max: int) -> dict[str, Any]:
    """Return a JSON object after all checks; empty text is an empty object.

    Raises:
        InvalidArgument: as `parse_json`, or it is JSON of another type.
        LimitExceeded: it is too long.
    """
    value = parse_json(field, text or "{}", size_bytes_max=size_bytes_max, nesting_max=nesting_max)
    if not isinstance(value, dict):
        raise InvalidArgument(f"{field} is not a JSON object", field=field)
    return value


def check_size(field: str, text: str, *, size_bytes_max: int) -> None:
    """Refuse a text of more than `size_bytes_max` bytes of UTF-8.

    Raises:
        LimitExceeded: it is too long.
    """
    if len(text) * 4 <= size_bytes_max:  # no character takes more than four bytes
        return
    size_bytes = len(text.encode())
    if size_bytes > size_bytes_max:
        raise LimitExceeded(
            f"{field} has {size_bytes} bytes; the limit is {size_bytes_max}",
            limit=field,
            limit_max=size_bytes_max,
            value=size_bytes,
        )


def check_text(field: str, text: str, *, chars_max: int, required: bool = False) -> str:
    """Return a one-field text that Postgres can store.

    Raises:
        InvalidArgument: it is empty though `required`, or holds a NUL.
        LimitExceeded: it has more than `chars_max` characters.
    """
    if required and not text:
        raise InvalidArgument(f"{field} is required", field=field)
    if "\0" in text:
        raise InvalidArgument(f"{field} holds a NUL character", field=field)
    if len(text) > chars_max:
        raise LimitExceeded(
            f"{field} has {len(text)} characters; the limit is {chars_max}",
            limit=field,
            limit_max=chars_max,
            value=len(text),
        )
    return text


def _check_exponents(field: str, text: str, *, size_bytes_max: int) -> None:
    exponents = [int(match[1] + match[2][:_EXPONENT_DIGITS_MAX]) for match in _EXPONENTS.finditer(text) if match[2]]
    if exponents and min(exponents) < _EXPONENT_MIN:
        raise InvalidArgument(f"{field} holds a number too small for a double", field=field)
    size_bytes = len(text) + sum(map(abs, exponents))
    if size_bytes > size_bytes_max:
        raise LimitExceeded(
            f"{field} has {size_bytes} bytes with its numbers written out; the limit is {size_bytes_max}",
            limit=field,
            limit_max=size_bytes_max,
            value=size_bytes,
        )


def _nesting(text: str, nesting_max: int) -> int:
    """Return how deeply a document nests, or 0 if that is certainly no deeper than `nesting_max`."""
    # To find a character that is hardly there costs a tenth of counting it.
    lists = text.count("[") if "[" in text else 0
    objects = text.count("{") if text.rfind("{") > text.find("{") else 1
    if lists + objects <= nesting_max:
        return 0
    depth = deepest = 0
    for match in _BRACKETS.finditer(text):
        first = match.group()[0]
        if first in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif first in "]}":
            depth -= 1
    return deepest


def _holds_nul(value: object) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds_nul(key) or _holds_nul(item) for key, item in value.items())
    if isinstance(value, list):
        return any(map(_holds_nul, value))
    return False
