"""Background work of a server: runs in parallel with the calls, and ends with them."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

from contextkeep.errors import ContextKeepError

_T = TypeVar("_T")

_log = logging.getLogger("background")

WORK_SHARE = 0.05  # part of the time that a task may spend on polling while it finds no work
PAUSE_S_MAX = 60.0
RESTART_S = 0.5  # seconds before a failed loop starts again; doubled after each failure

_CANCEL_AGAIN_S = 0.05

# A generator of our own: tests that seed Python's shared one, to find a fault again, get the same numbers as before.
_DRIFT = random.Random()  # noqa: S311 - no secret


def apart(pause_s: float, least: float, most: float) -> float:
    """Return a pause between `least` and `most` times `pause_s`, so that replicas started together drift apart."""
    return pause_s * _DRIFT.uniform(least, most)


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
        await ended(task)


@asynccontextmanager
async def keeping(start: Callable[[], Coroutine[Any, Any, None]]) -> AsyncIterator[None]:
    """Run a loop for the block, and start it again after an error that it did not expect, such as an outage.

    Args:
        start: Begins the loop. It may end by itself, when there is nothing left to do.
    """
    async with running(_keep_running(start)):
        yield


async def _keep_running(start: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a loop until it ends by itself; after an error, pause and start it again, each time a little later."""

    async def whole() -> bool:
        await start()
        return True

    name = getattr(start, "__qualname__", "background work")
    pause_s = RESTART_S
    while True:
        began = time.monotonic()
        if await attempted(whole, name, otherwise=False):
            return
        has_run_long = time.monotonic() - began > PAUSE_S_MAX
        pause_s = RESTART_S if has_run_long else min(2 * pause_s, PAUSE_S_MAX)
        await asyncio.sleep(apart(pause_s, 0.75, 1.25))


@asynccontextmanager
async def renewing(renew: Callable[[], Awaitable[object]], *, lease_s: float) -> AsyncIterator[None]:
    """Renew a lease for the block, three times in its time: it ends soon after this process does, and not before.

    A renewal that fails is logged, and tried again: the work in the block finds out by itself whether it goes on.

    Args:
        renew: Extends the lease, so that it ends `lease_s` from now.
        lease_s: Seconds from a renewal to the end of the lease.
    """

    async def renewed() -> None:
        while True:
            await asyncio.sleep(lease_s / 3)
            await attempted(renew, "renewing a lease", otherwise=None)

    async with running(renewed()):
        yield


async def ended(task: asyncio.Task[Any]) -> None:
    """Cancel a task, and wait for its end; its result and its error are ignored."""
    # Again and again: before Python 3.12, `asyncio.wait_for`, which psycopg's pool waits with, swallows a cancellation
    # that arrives together with its result.
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=_CANCEL_AGAIN_S)
    if not task.cancelled():
        task.exception()  # so that asyncio does not report it as never seen


@asynccontextmanager
async def in_task_of_own(opening: AbstractAsyncContextManager[_T]) -> AsyncIterator[_T]:
    """Open a context manager for the block, in a task that also closes it: the caller may close it in another task.

    Raises:
        The errors of the opening and the closing.
    """
    opened: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with opening as resource:
            opened.set_result(resource)
            await over.wait()

    task = asyncio.create_task(hold())
    first: Iterable[asyncio.Future[Any]] = (opened, task)
    try:
        await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            yield opened.result()
    finally:
        over.set()
        await task


async def repeating(
    work: Callable[[], Awaitable[int]],
    *,
    interval_s: float,
    wait: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Repeat work until cancelled. A failure is logged, and the work goes on.

    The pause between two runs is about `interval_s`. After a run that found nothing to do, it is longer if looking took
    long, so that looking takes at most a twentieth of the time; the pause is a minute at most.

    Args:
        work: Does one run of the work, and returns how much it did.
        interval_s: Seconds from the end of one run to the start of the next.
        wait: Called after such a pause if the last run found nothing; returns when there is work.
    """

    async def waiting() -> int:
        if wait is not None and not did:
            await wait()
        return 0

    did = 1  # the first run waits for nothing
    while True:
        await attempted(waiting, "waiting for background work", otherwise=0)
        began = time.monotonic()
        did = await attempted(work, "background work", otherwise=0)
        looked_s = 0.0 if did else time.monotonic() - began
        pause_s = min(max(interval_s, looked_s / WORK_SHARE), max(interval_s, PAUSE_S_MAX))
        await asyncio.sleep(apart(pause_s, 0.75, 1.25))  # replicas drift apart


async def attempted(
    work: Callable[[], Awaitable[_T]], name: str, *, otherwise: _T, failed: Callable[[], object] = lambda: None
) -> _T:
    """Do work once, and return its result. A failure is logged.

    Args:
        work: The work to do. Its cancellation is passed on and not counted as a failure.
        name: Name of the work, for the log.
        otherwise: The value to return if the work fails.
        failed: Called when the work has failed.
    """
    try:
        return await work()
    except ContextKeepError as error:
        _log.warning("%s failed", name, extra={"work": repr(work), "error": str(error)})
    except Exception:
        _log.exception("%s failed", name, extra={"work": repr(work)})
    failed()
    return otherwise


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("background work ended", exc_info=task.exception(), extra={"work": repr(task.get_coro())})
