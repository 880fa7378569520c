"""Conversions that the servicers share."""

from __future__ import annotations

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def timestamp(time: datetime) -> Timestamp:
    """Return an aware time as a message."""
    since = time - _EPOCH  # by parts: `Timestamp.FromDatetime` takes ten times as long
    return Timestamp(seconds=since.days * 86400 + since.seconds, nanos=since.microseconds * 1000)
