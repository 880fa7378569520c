"""Values of contextkeep/context/v1/observing.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep.context.v1 import observing_pb2 as pb
from contextkeep.values.base import Value, time_of



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecentMinute(Value):
    """The calls that ended in a minute."""

    begins_at: datetime
    calls: int = 0
    # Of them: that ended with a status that is the caller's to mend, such as NOT_FOUND or PERMISSION_DENIED.
    refused: int = 0
    # That ended with one that is not, such as UNAVAILABLE or INTERNAL.
    failed: int = 0
    # How long unary calls took, in milliseconds: a half, and 95 of 100, took no longer; near enough, since lengths are
    # counted in classes. Streams last as long as their callers want.
    p50_ms: float = 0.0
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
    """The calls of your tenant to a process, of the last hour."""

    # "context-service" or "entity-service".
    service: str = ""
    # Tells processes of a service apart: made when it starts.
    process_id: str = ""
    started_at: datetime
    # Up to 60, the oldest first; one without a call is not there. The last one is not over.
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
