"""Values of contextkeep/context/v1/observing.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep.context.v1 import observing_pb2 as pb
from contextkeep.values.base import Value, time_of



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecentMinute(Value):
    """The calls that ended in one minute."""

    begins_at: datetime
    # Number of calls, including refused and failed ones.
    calls: int = 0
    # Calls that ended with a status that the caller can fix, such as NOT_FOUND or PERMISSION_DENIED.
    refused: int = 0
    # Calls that ended with a status that the caller cannot fix, such as UNAVAILABLE or INTERNAL.
    failed: int = 0
    # Median duration of the unary calls, in milliseconds. It is approximate, because durations are counted in buckets.
    # Streams are not included: they last as long as their callers want.
    p50_ms: float = 0.0
    # Like `p50_ms`, the 95th percentile.
    p95_ms: float = 0.0

    @classmethod
    def from_proto(cls, message: pb.RecentMinute) -> RecentMinute:
        """Return the value of a message."""
        return cls(
            begins_at=time_of(message.begins_at),
            calls=message.calls,
            refused=message.refused,
            failed=message.failed,
            p50_ms=message.p50_ms,
            p95_ms=message.p95_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecentCalls(Value):
    """Statistics of your tenant's calls to one process in the last hour."""

    # "context-service" or "entity-service".
    service: str = ""
    # An id that the process makes when it starts; it distinguishes the processes of a service.
    process_id: str = ""
    started_at: datetime
    # Up to 60 minutes, oldest first. Minutes without calls are left out. The last minute may still be running.
    minutes: tuple[RecentMinute, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.GetRecentCallsResponse) -> RecentCalls:
        """Return the value of a message."""
        return cls(
            service=message.service,
            process_id=message.process_id,
            started_at=time_of(message.started_at),
            minutes=tuple(map(RecentMinute.from_proto, message.minutes)),
        )
