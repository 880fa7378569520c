"""Background work of a server: runs beside the calls, ends with them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

_log = logging.getLogger("background")

_CANCEL_AGAIN_S = 0.05


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run `work` for the block and cancel it at the end.

    Work handles the errors that it expects; one that it does not expect ends it, and the log says so.
    """
    task = asyncio.create_task(work)
    task.add_done_callback(_log_failure)
    try:
        yield
    finally:
        # Again and again: before Python 3.12, `asyncio.wait_for`, which psycopg's pool waits with, swallows a
        # cancellation that arrives together with its result.
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=_CANCEL_AGAIN_S)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("background work ended", exc_info=task.exception(), extra={"work": repr(task.get_coro())})
