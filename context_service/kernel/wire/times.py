"""Conversions of times that the servicers share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from google.protobuf.timestamp_pb2 import Timestamp

from contextkeep.errors import InvalidArgument
from service_runtime.values.copying import timestamp

__all__ = ["time_of", "timestamp"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_of(field: str, timestamp: Timestamp) -> datetime:
    """Return a protobuf timestamp as an aware datetime.

    Raises:
        InvalidArgument: the time is not between the years 1 and 9999; the violation names `field`.
    """
    try:
        if not 0 <= timestamp.nanos < 1_000_000_000:
            raise ValueError("nanos must be between 0 and 999,999,999")
        return _EPOCH + timedelta(seconds=timestamp.seconds, microseconds=timestamp.nanos // 1000)
    except (ValueError, OverflowError):
        raise InvalidArgument(f"{field} must be a time between the years 1 and 9999", field=field) from None
