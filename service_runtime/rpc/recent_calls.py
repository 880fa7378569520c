"""The calls of the last hour, minute by minute and tenant by tenant, in memory of a fixed size.

The console draws it for installations without a Prometheus. Durations are counted in classes, each a fifth longer than
the one before, so that a quantile is right to a tenth.
"""

from __future__ import annotations

import math
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

MINUTES = 60
TENANTS_MAX = 100  # tenants that are remembered, those that called last; 27 KB each

_FIRST_S, _STEP = 0.0005, 1.2  # the first class ends at half a millisecond, the last one at a minute
_CLASSES = math.ceil(math.log(60 / _FIRST_S, _STEP)) + 1
_MINUTE, _CALLS, _REFUSED, _FAILED, _LENGTHS = range(5)  # the numbers of a minute; the counts by class follow
_ROW = _LENGTHS + _CLASSES

# Statuses that a caller can avoid by another request; all others but OK count as failures.
_REFUSALS = frozenset(
    {
        *("INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "FAILED_PRECONDITION", "ABORTED"),
        *("OUT_OF_RANGE", "UNIMPLEMENTED", "UNAUTHENTICATED", "RESOURCE_EXHAUSTED", "CANCELLED"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """The calls that ended in a minute."""

    begins_at: datetime
    calls: int
    refused: int  # calls with a status that the caller can avoid
    failed: int  # calls with any other status but OK
    p50_s: float
    p95_s: float


class RecentCalls:
    """Counts the calls of the last hour, by tenant and minute.

    Args:
        service: Name of the service, such as "context-service".
        now: Returns the seconds since 1970.
    """

    def __init__(self, service: str, *, now: Callable[[], float] = time.time) -> None:
        self.service = service
        self.started_at = datetime.fromtimestamp(now(), UTC)
        self._now = now
        self._of_tenants: OrderedDict[UUID, array[int]] = OrderedDict()

    def ended(self, tenant_id: UUID, status: str, duration_s: float | None) -> None:
        """Count a call.

        Args:
            tenant_id: Id of the tenant that called.
            status: Name of the gRPC status code that the call had.
            duration_s: The time that the call took, or None for a stream, which lasts as long as its caller wants.
        """
        numbers = self._of_tenants.get(tenant_id)
        if numbers is None:
            if len(self._of_tenants) >= TENANTS_MAX:
                self._of_tenants.popitem(last=False)
            numbers = self._of_tenants[tenant_id] = array("Q", bytes(8 * MINUTES * _ROW))
        self._of_tenants.move_to_end(tenant_id)
        minute = int(self._now()) // 60
        row = minute % MINUTES * _ROW
        if numbers[row + _MINUTE] != minute:  # of an hour ago
            numbers[row : row + _ROW] = array("Q", [minute, *[0] * (_ROW - 1)])
        numbers[row + _CALLS] += 1
        if status != "OK":
            numbers[row + (_REFUSED if status in _REFUSALS else _FAILED)] += 1
        if duration_s is not None:
            numbers[row + _LENGTHS + _class_of(duration_s)] += 1

    def minutes(self, tenant_id: UUID) -> list[Minute]:
        """Return the minutes of the last hour with calls of a tenant, the oldest first."""
        numbers = self._of_tenants.get(tenant_id)
        if numbers is None:
            return []
        first = int(self._now()) // 60 - MINUTES + 1
        rows = [numbers[row : row + _ROW] for row in range(0, MINUTES * _ROW, _ROW)]
        return [
            Minute(
                begins_at=datetime.fromtimestamp(row[_MINUTE] * 60, UTC),
                calls=row[_CALLS],
                refused=row[_REFUSED],
                failed=row[_FAILED],
                p50_s=_length_of(row[_LENGTHS:], 0.5),
                p95_s=_length_of(row[_LENGTHS:], 0.95),
            )
            for row in sorted(rows)
            if row[_MINUTE] >= first
        ]


def _class_of(duration_s: float) -> int:
    if duration_s <= _FIRST_S:
        return 0
    return min(math.ceil(math.log(duration_s / _FIRST_S, _STEP)), _CLASSES - 1)


def _length_of(classes: Sequence[int], share: float) -> float:
    """Return the duration that a share of the calls did not exceed, or 0 without calls."""
    left = math.ceil(sum(classes) * share)
    if not left:
        return 0.0
    for place, count in enumerate(classes):
        left -= count
        if left <= 0:
            return float(_FIRST_S * _STEP**place)
    raise AssertionError("more than all")
