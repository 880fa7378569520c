"""Writes whose last request is under way when nobody waits for it any more.

Such a request may still arrive, and make a blob that no row knows. So it is waited for, and what it made is removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from contextkeep.errors import ContextKeepError, Unavailable

SETTLE_S = 1.0  # how long a cancelled write waits itself; then it goes on in the background


class LastRequests:
    """The last requests of a backend's writes."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def finish(self, publishing: asyncio.Task[None], withdraw: Callable[[], Awaitable[None]]) -> None:
        """Wait for what makes a blob appear; if that fails or is cancelled, see to it that there is none.

        Args:
            publishing: Makes it appear, or fails.
            withdraw: Removes what this write made. What it cannot remove is left to the sweeper.
        """
        try:
            await asyncio.shield(publishing)
        except BaseException:
            task = asyncio.create_task(_settle(publishing, withdraw))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            await asyncio.wait([task], timeout=SETTLE_S)
            raise

    @asynccontextmanager
    async def running(self) -> AsyncIterator[LastRequests]:
        """Settle for the block, and what is left at its end for a moment longer."""
        try:
            yield self
        finally:
            tasks = set(self._tasks)
            if tasks:
                await asyncio.wait(tasks, timeout=SETTLE_S)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _settle(publishing: asyncio.Task[None], withdraw: Callable[[], Awaitable[None]]) -> None:
    try:
        await asyncio.wait([publishing])
    finally:
        publishing.cancel()  # harmless behind its end
    if publishing.cancelled() or publishing.exception() is None or isinstance(publishing.exception(), Unavailable):
        with suppress(ContextKeepError):
            await withdraw()
