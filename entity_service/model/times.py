"""Times as microseconds since 1970, UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_MICROSECOND = timedelta(microseconds=1)


def micros(time: datetime) -> int:
    """Return a time as microseconds since 1970."""
    return (time - _EPOCH) // _MICROSECOND


def iso(time_micros: int) -> str:
    """Return a time as Postgres reads it.

    Raises:
        OverflowError: the time is outside the years 1 to 9999.
    """
    return (_EPOCH + timedelta(microseconds=time_micros)).isoformat()
