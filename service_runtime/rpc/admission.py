"""Admission control: limits of the calls under way in a process, of a tenant, and of a key.

Each call needs a slot, and a caller with slow or silent calls holds its slots for long. So no tenant can have all slots
of the process, and no key can have all slots of its tenant.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from contextkeep.errors import TooManyCalls
from service_runtime.rpc.principal import Principal

RETRY_AFTER_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The largest part of a process's capacity that a tenant may have, and a key."""

    of_tenant: float  # share of a tenant: above 0, up to 1
    of_key: float

    def tenant_max(self, at_once: int) -> int:
        """Return a tenant's share of a limit `at_once` of the process; at least one."""
        return max(1, math.floor(at_once * self.of_tenant))

    def key_max(self, at_once: int) -> int:
        """Return the share of a key, or of another subject, of `at_once`; at least one."""
        return max(1, math.floor(at_once * self.of_key))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """The limits of the calls of a server."""

    calls_max: int  # calls under way at once
    expensive_calls_max: int  # expensive calls under way at once
    ordinary_calls_max: int  # other calls under way at once
    shares: Shares  # shares of a tenant and of a key in each of these limits
    stream_idle_s: float  # seconds that the caller of a stream may neither send nor read


def key_of(principal: Principal) -> tuple[object, ...]:
    """Return the identity of a key, or of another subject, for counters."""
    return (principal.tenant_id.int, principal.subject)  # an int: hashing a UUID takes five times as long


class CallSlots:
    """The slots for calls of one server.

    Args:
        limits: The number of slots, and the shares of them that a tenant and a key may have.
        what: The counted things, as the error names them.
        limit: Name of the limit, in the metadata of the error.
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
    """The slot of one call; empty until it is taken."""

    __slots__ = ("_principal", "_slots", "_taken")

    def __init__(self, slots: CallSlots) -> None:
        self._slots = slots
        self._taken = False
        self._principal: Principal | None = None

    def take(self) -> None:
        """Take a slot of the server.

        Raises:
            TooManyCalls: all slots are taken.
        """
        slots = self._slots
        if slots.taken >= slots.calls_max:
            raise _refusal(
                f"too many {slots.what} are under way; the limit is {slots.calls_max}",
                slots.limit,
                slots.calls_max,
                slots.taken + 1,
            )
        slots.taken += 1
        self._taken = True

    def belongs_to(self, principal: Principal) -> None:
        """Count the slot as the caller's, and refuse the call if its tenant or key would have more than its share.

        Raises:
            TooManyCalls: `limit` in the metadata names the share that is used up.
        """
        slots = self._slots
        key, tenant_id = key_of(principal), principal.tenant_id
        for whose, limit, limit_max, under_way in (
            ("key", f"{slots.limit}_of_key", slots.key_max, slots.of_key[key]),
            ("tenant", f"{slots.limit}_of_tenant", slots.tenant_max, slots.of_tenant[tenant_id]),
        ):
            if under_way >= limit_max:
                self.give_back()  # before the refusal is sent, so that a flood of refusals takes no slot from others
                raise _refusal(
                    f"the {whose} has {under_way} {slots.what} under way, its share of the process's "
                    f"{slots.calls_max}; end some, or wait for them",
                    limit,
                    limit_max,
                    under_way + 1,
                )
        self._principal = principal
        slots.of_key[key] += 1
        slots.of_tenant[tenant_id] += 1

    def give_back(self) -> None:
        """Give the slot back, if it was taken."""
        slots, principal = self._slots, self._principal
        if self._taken:
            slots.taken -= 1
            self._taken = False
        if principal is not None:
            _subtract(slots.of_tenant, principal.tenant_id)
            _subtract(slots.of_key, key_of(principal))
            self._principal = None


def _refusal(message: str, limit: str, limit_max: int, value: int) -> TooManyCalls:
    return TooManyCalls(message, limit=limit, limit_max=limit_max, value=value, retry_after_s=RETRY_AFTER_S)


def _subtract(counter: Counter[Any], whose: object) -> None:
    """Count one call less of a tenant or a key, and forget it when none is left."""
    if counter[whose] == 1:
        del counter[whose]
    else:
        counter[whose] -= 1
