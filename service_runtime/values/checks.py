"""Checks of values that callers send: one line where a value comes in, and one wording of the errors.

Every way in passes them: gRPC, HTTP, MCP, imports. `(contextkeep.rule)` in the protos states the same limits for docs
and clients; tests/hostile/test_limits.py holds the two together.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextkeep.errors import InvalidArgument, LimitExceeded


def check_text(field: str, text: str, *, chars_max: int, required: bool = False) -> str:
    """Return a one-field text that Postgres can store.

    Raises:
        InvalidArgument: it is empty though `required`, or holds a NUL.
        LimitExceeded: it has more than `chars_max` characters.
    """
    if required and not text:
        raise InvalidArgument(f"{field} is required", field=field)
    check_no_nul(field, text)
    if len(text) > chars_max:
        raise limit_exceeded(field, len(text), chars_max, "characters")
    return text


def check_long_text(field: str, text: str, *, size_bytes_max: int, required: bool = False) -> str:
    """Return a text that Postgres can store.

    Raises:
        InvalidArgument: it is empty though `required`, or holds a NUL.
        LimitExceeded: it has more than `size_bytes_max` bytes of UTF-8.
    """
    if required and not text:
        raise InvalidArgument(f"{field} is required", field=field)
    check_no_nul(field, text)
    check_size(field, text, size_bytes_max=size_bytes_max)
    return text


def check_texts(field: str, texts: Sequence[str], *, count_max: int, chars_max: int) -> None:
    """Refuse a list of texts that is too long, or that has an empty text; raises as `check_text`."""
    check_count(field, len(texts), count_max)
    for place, text in enumerate(texts):
        check_text(f"{field}[{place}]", text, chars_max=chars_max, required=True)


def check_no_nul(field: str, text: str) -> None:
    """Refuse a text with a NUL, which Postgres does not store.

    Raises:
        InvalidArgument: the text has such a character.
    """
    if "\0" in text:
        raise InvalidArgument(f"{field} must not have a NUL character", field=field)


def check_size(field: str, text: str, *, size_bytes_max: int) -> None:
    """Refuse a text of more than `size_bytes_max` bytes of UTF-8.

    Raises:
        LimitExceeded: the text is too long.
    """
    if len(text) * 4 > size_bytes_max:  # no character takes more than four bytes
        check_bytes(field, utf8_bytes(text), size_bytes_max)


def check_bytes(field: str, size_bytes: int, size_bytes_max: int) -> None:
    """Refuse a value of more than `size_bytes_max` bytes.

    Raises:
        LimitExceeded: the body is larger.
    """
    if size_bytes > size_bytes_max:
        raise limit_exceeded(field, size_bytes, size_bytes_max, "bytes")


def check_count(field: str, count: int, count_max: int) -> None:
    """Refuse a list of more than `count_max` items.

    Raises:
        LimitExceeded: the text is longer.
    """
    if count > count_max:
        raise limit_exceeded(field, count, count_max, "items")


def check_at_most(field: str, value: int, value_max: int) -> None:
    """Refuse a number that asks for more than a call may.

    Raises:
        LimitExceeded: it is larger than `value_max`.
    """
    if value > value_max:
        raise LimitExceeded(
            f"{field} must be at most {value_max:,} (got {value:,})",
            field=field,
            limit=field,
            limit_max=value_max,
            value=value,
        )


def check_between(field: str, value: float, least: float, most: float) -> None:
    """Refuse a number that makes no sense; NaN is between no numbers.

    Raises:
        InvalidArgument: it is less than `least` or more than `most`.
    """
    if not least <= value <= most:
        raise InvalidArgument(
            f"{field} must be between {least:,} and {most:,} (got {value:,})",
            field=field,
            limit=field,
            limit_max=most,
            value=value,
        )


def check_stored(limit: str, count: int, count_max: int) -> None:
    """Refuse to store one thing more than the limit allows.

    Args:
        limit: The things that are counted, such as "agents"; the error names them.
        count: The number of things, including the new one.
        count_max: The largest number that may be stored.

    Raises:
        LimitExceeded: there would be more.
    """
    if count > count_max:
        raise LimitExceeded(
            f"there may be at most {count_max:,} {limit.replace('_', ' ')} (got {count:,})",
            limit=limit,
            limit_max=count_max,
            value=count,
        )


def limit_exceeded(field: str, value: int, value_max: int, unit: str) -> LimitExceeded:
    """Return the error about a field of a request that is too long."""
    return LimitExceeded(
        f"{field} must have at most {value_max:,} {unit} (got {value:,})",
        field=field,
        limit=field,
        limit_max=value_max,
        value=value,
    )


def utf8_bytes(text: str) -> int:
    """Return the size of a text in UTF-8; most are ASCII, which Python knows without a look."""
    return len(text) if text.isascii() else len(text.encode())
