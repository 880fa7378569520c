"""A short-lived cache for rows that every query needs and that rarely change.

A process sees its own changes at once, and those of other replicas after the short time. If the source does not
answer, the last known value is used for a while, so that a busy database does not stop queries.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from contextkeep.errors import DeadlineExceeded, Unavailable

FRESH_S = 1.0
STANDS_IN_S = 60.0  # how old a value may be that is used while the source does not answer
_KEPT_MAX = 10_000

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class Remembered(Generic[_K, _V]):
    """Caches values by key for a short time, and serves a stale one if a new one cannot be read."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_K, tuple[float, _V]] = OrderedDict()
        self._forgotten = 0  # number of resets; a read that began before one is not stored

    async def get(self, key: _K, load: Callable[[], Awaitable[_V]]) -> _V:
        """Return a cached value, read again if it is no longer fresh.

        Raises:
            Whatever `load` raises; `Unavailable` and `DeadlineExceeded` only if no cached value is recent enough to
            stand in.
        """
        now = time.monotonic()
        known = self._kept.get(key)
        if known and now - known[0] < FRESH_S:
            return known[1]
        forgotten = self._forgotten
        try:
            value = await load()
        except (Unavailable, DeadlineExceeded):
            if known is None or now - known[0] >= STANDS_IN_S or forgotten != self._forgotten:
                raise
            return known[1]
        if forgotten == self._forgotten:
            self._kept[key] = now, value
            self._kept.move_to_end(key)
            if len(self._kept) > _KEPT_MAX:
                self._kept.popitem(last=False)
        return value

    def fresh(self, key: _K) -> _V:
        """Return a cached value that is still fresh.

        Raises:
            KeyError: no fresh value is cached, so it must be read.
        """
        read_at, value = self._kept[key]
        if time.monotonic() - read_at >= FRESH_S:
            raise KeyError(key)
        return value

    def forget(self) -> None:
        """Drop all cached values."""
        self._forgotten += 1
        self._kept.clear()
