"""How a process does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep.context.v1 import observing_pb2 as pb
from contextkeep.values.base import Value, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecentMinute(Value):
    """The calls that ended in a minute."""

    begins_at: datetime
    calls: int
    refused: int = 0  # of them: with a status that is the caller's to mend
    failed: int = 0  # with another one
    p50_ms: float = 0.0  # of unary calls; near enough
    p95_ms: float = 0.0

    @classmethod
    def from_proto(cls, minute: pb.RecentMinute) -> RecentMinute:
        """Return the value of a message."""
        return cls(
            begins_at=time_of(minute.begins_at),
            calls=minute.calls,
            refused=minute.refused,
            failed=minute.failed,
            p50_ms=minute.p50_ms,
            p95_ms=minute.p95_ms,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecentCalls(Value):
    """The calls of your tenant to a process, of the last hour; minutes without one are not there."""

    service: str
    process_id: str
    started_at: datetime
    minutes: tuple[RecentMinute, ...] = ()

    @classmethod
    def from_proto(cls, recent: pb.GetRecentCallsResponse) -> RecentCalls:
        """Return the value of a message."""
        return cls(
            service=recent.service,
            process_id=recent.process_id,
            started_at=time_of(recent.started_at),
            minutes=tuple(map(RecentMinute.from_proto, recent.minutes)),
        )
