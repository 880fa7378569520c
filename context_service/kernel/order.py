"""One context is one order: its writers take turns before they take a connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class Order:
    """The writers of this process, a queue for each context.

    Postgres would make them wait for the lock of the context's row, each with a connection that others need: fifty
    writers of one context would hold up everybody.
    """

    def __init__(self) -> None:
        self._locks: dict[Hashable, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def turn(self, context: Hashable) -> AsyncIterator[None]:
        """Wait for the writers of the same context that came before; who is cancelled leaves the queue."""
        lock, users = self._locks.get(context, (None, 0))
        lock = lock or asyncio.Lock()
        self._locks[context] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            _, users = self._locks.pop(context)
            if users > 1:
                self._locks[context] = lock, users - 1
