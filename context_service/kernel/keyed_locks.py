"""A lock for each key, so that the writers of one context wait in memory before they take a connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class KeyedLocks:
    """The locks of this process, one for each key that a task holds or waits for.

    Without them, fifty writers of one context would wait in Postgres for the lock of the context's row, each with a
    connection that other calls need.
    """

    def __init__(self) -> None:
        self._locks: dict[Hashable, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncIterator[None]:
        """Hold the lock of a key for the block; tasks get it in the order of their arrival."""
        lock, users = self._locks.get(key, (None, 0))
        lock = lock or asyncio.Lock()
        self._locks[key] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            _, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = lock, users - 1
