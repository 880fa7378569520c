"""What timestamps and durations answer: `getFullYear()`, `getHours('Europe/Paris')` and the like.

Months, days of the year and days of the week count from 0, as does
`getDayOfMonth`; `getDate` counts from 1. Without a zone the answer is UTC's.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from context_service.cel.budget import CallBudget
from context_service.cel.times import SECOND_NS, Duration, Timestamp, truncated
from context_service.cel.values import no_overload

Accessor = Callable[..., int]

_ZONE_STEPS: Final = 40  # the zones there are get loaded once; converting takes microseconds
_MINUTE_NS: Final = 60 * SECOND_NS
_HOUR_NS: Final = 60 * _MINUTE_NS
_MILLISECOND_NS: Final = SECOND_NS // 1000


def _accessor(name: str, of_time: Callable[[datetime], int], of_span: Callable[[int], int] | None = None) -> Accessor:
    """Return the accessor `name`: of a timestamp in a zone, and where it is one, of a duration."""

    def access(budget: CallBudget, value: Any, zone: Any = None) -> int:
        kind = type(value)
        if kind is Duration and zone is None and of_span is not None:
            return of_span(value.ns)
        if kind is not Timestamp and kind is not datetime:
            raise no_overload(name, value)
        if zone is not None:
            if type(zone) is not str:
                raise no_overload(name, value, zone)
            budget.charge(_ZONE_STEPS)
        return of_time(Timestamp.of(value).at(zone))

    return access


ACCESSORS: Final[dict[str, Accessor]] = {
    name: _accessor(name, *parts)
    for name, *parts in (
        ("getFullYear", lambda time: time.year),
        ("getMonth", lambda time: time.month - 1),
        ("getDate", lambda time: time.day),
        ("getDayOfMonth", lambda time: time.day - 1),
        ("getDayOfWeek", lambda time: time.isoweekday() % 7),
        ("getDayOfYear", lambda time: time.timetuple().tm_yday - 1),
        ("getHours", lambda time: time.hour, lambda ns: truncated(ns, _HOUR_NS)),
        ("getMinutes", lambda time: time.minute, lambda ns: truncated(ns, _MINUTE_NS)),
        ("getSeconds", lambda time: time.second, lambda ns: truncated(ns, SECOND_NS)),
        (
            "getMilliseconds",
            lambda time: time.microsecond // 1000,
            # The part below the second, not the whole duration in milliseconds.
            lambda ns: truncated(ns - truncated(ns, SECOND_NS) * SECOND_NS, _MILLISECOND_NS),
        ),
    )
}
