"""Ids: UUIDs of version 7, made in Python, because the oldest supported Postgres has none.

Version 7 starts with the time (RFC 9562), so rows that are written together lie together in their indexes.
"""

from __future__ import annotations

from uuid import UUID

import uuid_utils.compat

from contextkeep.errors import InvalidArgument


def new_id() -> UUID:
    """Return a new UUID of version 7."""
    return uuid_utils.compat.uuid7()


def parse_id(field: str, text: str) -> UUID:
    """Return the UUID that `text` spells.

    Only the two usual spellings are taken, 32 hexadecimal digits with or without the four hyphens: `uuid.UUID`
    would take braces and misplaced hyphens too, and two spellings of one id would differ in a fingerprint.

    Raises:
        InvalidArgument: it spells none; the violation names `field`.
    """
    try:
        value = UUID(text)
    except ValueError:
        value = None
    if value is None or text.lower() not in (str(value), value.hex):
        raise InvalidArgument(f"{field} must be a UUID", field=field)
    return value


def parse_optional_id(field: str, text: str) -> UUID | None:
    """Return the UUID that `text` spells, or None if it is empty."""
    return parse_id(field, text) if text else None
