"""Cleans up after writes that were cancelled during their last request.

Such a request may still arrive and make a blob that has no row. So this waits for it, and removes its blob.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from contextkeep.errors import ContextKeepError, Unavailable

SETTLE_S = 1.0  # how long a cancelled write waits for the cleanup; then it continues in the background


class LastRequests:
    """The requests that publish the blobs of a backend, and the cleanups that follow the cancelled ones."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def finish(self, publishing: asyncio.Task[None], withdraw: Callable[[], Awaitable[None]]) -> None:
        """Wait for the request that publishes a blob; if that fails or is cancelled, remove the blob.

        Args:
            publishing: The task of the request that makes the blob visible.
            withdraw: Removes the blob of this write. If it cannot, the sweeper does.
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
        """Run cleanups during the block, and for up to `SETTLE_S` after it."""
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
    """Wait until the request has ended, and remove the blob unless the request certainly did not make one."""
    try:
        await asyncio.wait([publishing])
    finally:
        publishing.cancel()  # no effect if it has ended
    if publishing.cancelled() or publishing.exception() is None or isinstance(publishing.exception(), Unavailable):
        with suppress(ContextKeepError):
            await withdraw()
