"""Opaque page tokens: the key of the last row, bound to the query that it came from.

A token is not a secret and grants nothing: rows are found by the caller's own tenant. The binding is there so
that a token of another query is an error instead of a wrong page.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar
from uuid import UUID

import orjson

from contextkeep.errors import InvalidArgument, InvalidPageToken

_R = TypeVar("_R")

PAGE_SIZE_DEFAULT = 100
PAGE_SIZE_MAX = 1000
PAGE_BYTES_MAX = 2 * 1024 * 1024

_BINDING_BYTES = 9  # with the key after it still a multiple of three, so base64 needs no padding more often
_TOKEN_CHARS_MAX = 4096
_FIELD_BYTES = 8  # of tags and lengths, of a value in a value
_NUMBER_BYTES, _UUID_BYTES = 16, 40
_TIME_US_MIN, _TIME_US_MAX = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """Which page of a list, as the caller asks for it: both are checked where it is read."""

    size: int
    token: str


def page_size(requested: int) -> int:
    """Return the rows of a page: 0 asks for the default, more than the most is coerced.

    Raises:
        InvalidArgument: the size is negative.
    """
    if requested < 0:
        raise InvalidArgument(f"page_size must be 0 or more (got {requested})", field="page_size")
    return min(requested or PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX)


def fitting(rows: Sequence[object], count: int) -> int:
    """Return how many of the first `count` rows a page takes: as many as have `PAGE_BYTES_MAX` bytes, and at least one.

    A message of gRPC has 4 MiB. A row may be a dataclass, a tuple, or a container; its size is that of its values in
    an answer at most, so a page may be smaller than the limit.
    """
    size_bytes = 0
    for index, row in enumerate(rows[:count]):
        size_bytes += _bytes_of(row)
        if size_bytes > PAGE_BYTES_MAX:
            return max(index, 1)
    return count


def _bytes_of(value: object) -> int:
    """Return the bytes that a value takes in a message at most: a number in a `Struct` takes 12."""
    if isinstance(value, str):
        return _FIELD_BYTES + (len(value) if value.isascii() else len(value.encode()))
    if isinstance(value, bytes | memoryview):
        return _FIELD_BYTES + len(value)
    if isinstance(value, Mapping):
        return _FIELD_BYTES + sum(_FIELD_BYTES + _bytes_of(key) + _bytes_of(item) for key, item in value.items())
    if isinstance(value, tuple | list | set | frozenset):
        return _FIELD_BYTES + sum(map(_bytes_of, value))
    if is_dataclass(value):
        return _FIELD_BYTES + sum(_bytes_of(getattr(value, field.name)) for field in fields(value))
    return 0 if value is None else _UUID_BYTES if isinstance(value, UUID) else _NUMBER_BYTES


def encode_token(query: Sequence[object], key: Sequence[object]) -> str:
    """Return the token of the page after the row with `key`.

    Args:
        query: The parts that the token is bound to: the RPC's name and everything that selects and orders rows.
        key: JSON values (and UUIDs, datetimes), unique among the rows of the query.
    """
    return base64.urlsafe_b64encode(_binding(query) + orjson.dumps(list(key))).decode().rstrip("=")


def decode_token(query: Sequence[object], token: str, *, parts: int, field: str = "page_token") -> list[Any] | None:
    """Return the key in `token`, or None for an empty token: the first page.

    Args:
        query: The parts that the token is bound to, as for `encode_token`.
        token: The token, as the caller sent it.
        parts: How many values a key of this query has.
        field: The name of the token in its request.

    Raises:
        InvalidPageToken: it is malformed or belongs to another query.
    """
    if not token:
        return None
    try:
        if len(token) > _TOKEN_CHARS_MAX:
            raise ValueError("too long")
        data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        if data[:_BINDING_BYTES] != _binding(query):
            raise ValueError("another query")
        key = orjson.loads(data[_BINDING_BYTES:])
        if not isinstance(key, list) or len(key) != parts:
            raise ValueError("another key")
    except ValueError:
        raise InvalidPageToken(f"{field} is malformed or belongs to another query", field=field) from None
    return key


def decode_id(query: Sequence[object], token: str) -> UUID | None:
    """Return the key in `token` of a query whose keys are one id, or None for an empty token; see `decode_token`.

    Raises:
        InvalidPageToken: it is malformed or belongs to another query.
    """
    key = decode_token(query, token, parts=1)
    try:
        return UUID(key[0]) if key else None
    except (AttributeError, TypeError, ValueError):
        raise InvalidPageToken("page_token is malformed", field="page_token") from None


def decode_number(
    query: Sequence[object], token: str, *, number_min: int = 0, number_max: int = 2**63 - 1
) -> int | None:
    """Return the key in `token` of a query whose keys are one number, or None for an empty token; see `decode_token`.

    Raises:
        InvalidPageToken: it is malformed, belongs to another query, or its number is out of range.
    """
    key = decode_token(query, token, parts=1)
    if key and not (type(key[0]) is int and number_min <= key[0] <= number_max):
        raise InvalidPageToken("page_token is malformed", field="page_token")
    return key[0] if key else None


def decode_texts(query: Sequence[object], token: str, *, parts: int) -> list[str]:
    """Return the key in `token` of a query whose keys are texts; empty ones for the first page; see `decode_token`.

    Raises:
        InvalidPageToken: it is malformed or belongs to another query.
    """
    key = decode_token(query, token, parts=parts)
    if key is None:
        return [""] * parts
    if not all(isinstance(text, str) and "\0" not in text for text in key):
        raise InvalidPageToken("page_token is malformed", field="page_token")
    return key


def cut(
    query: Sequence[object], rows: Sequence[_R], count: int, *, key: Callable[[_R], Sequence[object]]
) -> tuple[list[_R], str]:
    """Return the rows of a page, and the token of the next one; empty at the end.

    Args:
        query: The parts that the token is bound to, as for `encode_token`.
        rows: Rows of the page, and one more if there is a next page.
        count: Largest number of rows; the page has fewer if they have more than `PAGE_BYTES_MAX` bytes.
        key: Returns the key of a row for the token, as for `encode_token`.
    """
    count = fitting(rows, count)
    return list(rows[:count]), encode_token(query, key(rows[count - 1])) if len(rows) > count else ""


def is_place(created_at_us: object, seq: object) -> bool:
    """Say whether two values of a token can be a time, in microseconds since 1970, and a row's number."""
    return (
        type(created_at_us) is int
        and type(seq) is int
        and _TIME_US_MIN <= created_at_us <= _TIME_US_MAX
        and abs(seq) < 2**63
    )


def _binding(query: Sequence[object]) -> bytes:
    text = orjson.dumps(list(query), default=list, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(text, digest_size=_BINDING_BYTES).digest()
