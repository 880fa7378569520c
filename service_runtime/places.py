"""Places: how many calls may be under way in a process, of a tenant, and of a key.

Whoever holds a place keeps others out, be it by calls that are slow or by ones that say nothing. So no tenant can have
all places, and no key all of its tenant's.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from contextkeep.errors import TooManyCalls
from service_runtime.auth import Principal

RETRY_AFTER_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Which part of what a process can do at once is a tenant's, and a key's, at most."""

    of_tenant: float  # above 0, up to 1
    of_key: float

    def tenant_max(self, at_once: int) -> int:
        """Return a tenant's share of so many; at least one."""
        return max(1, math.floor(at_once * self.of_tenant))

    def key_max(self, at_once: int) -> int:
        """Return a key's, or another subject's, share of so many; at least one."""
        return max(1, math.floor(at_once * self.of_key))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """What the calls of a server may take up."""

    calls_max: int  # under way at once
    expensive_calls_max: int  # of them, those that do expensive work at once
    ordinary_calls_max: int  # those that do any other work at once
    shares: Shares  # of each
    stream_idle_s: float  # that the caller of a stream may neither send nor read


def key_of(principal: Principal) -> tuple[object, ...]:
    """Return what tells a key, or another subject, from all others."""
    return (principal.tenant_id.int, principal.subject)  # an int: hashing a UUID takes five times as long


class Places:
    """The places of one server.

    Args:
        limits: How many there are, and whose.
        what: What takes one, as the error names it.
        limit: Which limit it is, in the metadata of the error.
    """

    def __init__(self, limits: CallLimits, *, what: str = "calls", limit: str = "calls") -> None:
        self.limit = limit
        self.calls_max = limits.calls_max
        self.what = what
        self.tenant_max = limits.shares.tenant_max(limits.calls_max)
        self.key_max = limits.shares.key_max(limits.calls_max)
        self.taken = 0
        self.of_tenant: Counter[Any] = Counter()
        self.of_key: Counter[Any] = Counter()


class CallSlot:
    """What one call takes: nothing yet."""

    __slots__ = ("_places", "_principal", "_taken")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._taken = False
        self._principal: Principal | None = None

    def take(self) -> None:
        """Take one.

        Raises:
            TooManyCalls: all are taken.
        """
        places = self._places
        if places.taken >= places.calls_max:
            raise _refusal(f"too many {places.what} are under way", places.limit, places.calls_max, places.taken + 1)
        places.taken += 1
        self._taken = True

    def belongs_to(self, principal: Principal) -> None:
        """Say who calls, and refuse the call if it is one more than the share.

        Raises:
            TooManyCalls: `limit` in the metadata says whose share it is.
        """
        places = self._places
        key, tenant_id = key_of(principal), principal.tenant_id
        for whose, limit, limit_max, under_way in (
            ("key", f"{places.limit}_of_key", places.key_max, places.of_key[key]),
            ("tenant", f"{places.limit}_of_tenant", places.tenant_max, places.of_tenant[tenant_id]),
        ):
            if under_way >= limit_max:
                self.give_back()  # at once: a flood of refusals takes nobody's place while they are told
                raise _refusal(
                    f"the {whose} has {under_way} {places.what} under way, its share of the process's "
                    f"{places.calls_max}; end some, or wait for them",
                    limit,
                    limit_max,
                    under_way + 1,
                )
        self._principal = principal
        places.of_key[key] += 1
        places.of_tenant[tenant_id] += 1

    def give_back(self) -> None:
        """Leave it, if it was taken."""
        places, principal = self._places, self._principal
        if self._taken:
            places.taken -= 1
            self._taken = False
        if principal is not None:
            _subtract(places.of_tenant, principal.tenant_id)
            _subtract(places.of_key, key_of(principal))
            self._principal = None


def _refusal(message: str, limit: str, limit_max: int, value: int) -> TooManyCalls:
    return TooManyCalls(message, limit=limit, limit_max=limit_max, value=value, retry_after_s=RETRY_AFTER_S)


def _subtract(counter: Counter[Any], whose: object) -> None:
    if counter[whose] == 1:
        del counter[whose]
    else:
        counter[whose] -= 1
