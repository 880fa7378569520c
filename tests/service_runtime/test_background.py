"""Background work ends with its block."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from contextkeep.errors import Unavailable
from service_runtime.background_work import background
from service_runtime.postgres import Database


async def test_work_that_swallows_a_cancellation_still_ends():
    async def stubborn() -> None:
        for _ in range(3):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                continue
        await asyncio.sleep(60)

    async with asyncio.timeout(30):
        async with background.running(stubborn()):
            await asyncio.sleep(0)


async def test_work_that_always_queries_ends_with_its_block(database: Database):
    async def poll() -> None:
        while True:
            await database.untenanted("SELECT 1")
            await asyncio.sleep(0)

    for turn in range(200):
        async with asyncio.timeout(30):
            async with background.running(poll()):
                await asyncio.sleep(turn % 20 / 10_000)


async def test_work_that_fails_is_logged(caplog: pytest.LogCaptureFixture):
    async def failing() -> None:
        raise ValueError("no")

    with caplog.at_level(logging.ERROR, "background"):
        async with background.running(failing()):
            await asyncio.sleep(0.01)

    assert "background work ended" in caplog.text


async def test_what_repeats_goes_on_after_a_failure_and_leaves_the_time_to_others(caplog):
    """Work that takes long, even if it is only to look, is done the more rarely."""
    times: list[float] = []

    async def work() -> int:
        times.append(time.monotonic())
        await asyncio.sleep(0.02)
        raise [Unavailable("away"), ValueError("odd")][len(times) % 2]

    async with background.running(background.repeating(work, interval_s=0.001)):
        while len(times) < 3:
            await asyncio.sleep(0.01)
    assert all(after - before > 0.02 / background.WORK_SHARE * 0.7 for before, after in pairwise(times))
    assert caplog.text.count("background work failed") >= 2


async def test_what_repeats_goes_on_at_once_while_there_is_work():
    times: list[float] = []

    async def work() -> int:
        times.append(time.monotonic())
        await asyncio.sleep(0.2)
        return 1

    async with background.running(background.repeating(work, interval_s=0.001)):
        while len(times) < 3:
            await asyncio.sleep(0.01)
    assert times[2] - times[0] < 0.2 / background.WORK_SHARE


@asynccontextmanager
async def of_one_task(told: list[str], *, fails: bool = False) -> AsyncIterator[str]:
    opened_in = asyncio.current_task()
    if fails:
        raise RuntimeError("it cannot be opened")
    yield "held"
    assert asyncio.current_task() is opened_in
    told.append("closed")


async def test_what_is_held_is_closed_by_the_task_that_opened_it_whoever_leaves():
    told: list[str] = []
    holding = background.in_task_of_own(of_one_task(told))
    assert await asyncio.create_task(holding.__aenter__()) == "held"
    await asyncio.create_task(holding.__aexit__(None, None, None))
    assert told == ["closed"]


async def test_what_cannot_be_held_says_why():
    with pytest.raises(RuntimeError, match="cannot be opened"):
        async with background.in_task_of_own(of_one_task([], fails=True)):
            pass


async def test_a_fault_in_the_block_closes_what_is_held():
    told: list[str] = []
    with pytest.raises(ValueError, match="of the block"):
        async with background.in_task_of_own(of_one_task(told)):
            raise ValueError("of the block")
    assert told == ["closed"]


async def test_what_breaks_off_is_counted_said_and_does_not_end_what_goes_on(caplog: pytest.LogCaptureFixture):
    async def work() -> int:
        raise failures.pop()

    failures, counted = [Unavailable("away"), ValueError("odd")], []
    for left in (1, 0):
        did = await background.attempted(work, "sweeping", otherwise=7, failed=lambda: counted.append(1))
        assert (did, len(failures), len(counted)) == (7, left, 2 - left)
    assert caplog.text.count("sweeping failed") == 2


async def test_what_is_cancelled_has_not_failed():
    task = asyncio.create_task(background.attempted(lambda: asyncio.sleep(60), "sleeping", otherwise=None))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_loop_that_fails_starts_again_and_one_that_ends_does_not(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    """An outage is no fault: it is a line in the log, and no traceback."""
    monkeypatch.setattr(background, "RESTART_S", 0.001)
    failures = [Unavailable("away"), ValueError("no"), Unavailable("away")]
    started: list[int] = []
    over = asyncio.Event()

    async def loop() -> None:
        started.append(len(started))
        if failures:
            raise failures.pop(0)
        over.set()

    async with background.keeping(loop):
        async with asyncio.timeout(30):
            await over.wait()
        await asyncio.sleep(0.05)

    assert started == [0, 1, 2, 3]
    assert [bool(record.exc_info) for record in caplog.records] == [False, True, False]


async def test_a_lease_is_renewed_again_after_a_renewal_that_failed(caplog: pytest.LogCaptureFixture):
    renewed: list[int] = []
    enough = asyncio.Event()

    async def renew() -> None:
        renewed.append(len(renewed))
        if len(renewed) < 3:
            raise Unavailable("away")
        enough.set()

    async with background.renewing(renew, lease_s=0.03), asyncio.timeout(30):
        await enough.wait()

    assert [record.exc_info for record in caplog.records] == [None, None]
    count = len(renewed)
    await asyncio.sleep(0.05)
    assert len(renewed) == count
