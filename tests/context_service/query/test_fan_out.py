"""Asking many at once: nobody waits for who is late, and what goes on is kept and bounded."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from context_service.query.rules.fan_out import LINGERING_MAX, Busy, Late, ProviderCall, Reaper, ask_all


def part(provider_id, search, deadline_s=0.2):
    return ProviderCall(provider_id=provider_id, deadline_s=deadline_s, search=search)


async def test_all_are_asked_at_once_and_each_ends_by_its_deadline():
    all_asked = asyncio.Barrier(20)

    async def waits():
        await all_asked.wait()
        return "asked with all others"

    outcomes = await ask_all([part(str(number), waits, 60.0) for number in range(20)], Reaper())
    assert {one.result for one in outcomes.values()} == {"asked with all others"}


async def test_who_is_late_is_cancelled_and_never_completes():
    completed, cancelled = [], []

    async def late():
        try:
            await asyncio.sleep(0.5)
        except asyncio.CancelledError:
            cancelled.append(1)
            raise
        completed.append(1)

    outcomes = await ask_all([part("late", late, 0.05)], reaper := Reaper())
    assert isinstance(outcomes["late"].error, Late)
    await asyncio.sleep(0.6)
    assert (completed, cancelled, reaper.lingering) == ([], [1], 0)


async def test_when_the_caller_goes_away_all_are_cancelled():
    ended = []

    async def waits():
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    reaper = Reaper()
    asking = asyncio.create_task(ask_all([part("a", waits, 5.0), part("b", waits, 5.0)], reaper))
    await asyncio.sleep(0.02)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await reaper.end(wait_s=1.0)
    assert ended == ["cancelled", "cancelled"]


async def test_nobody_waits_for_what_does_not_end_and_it_is_bounded():
    let_go = asyncio.Event()

    async def stubborn():
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    async def quick():
        return 1

    reaper = Reaper()
    try:
        for _ in range(LINGERING_MAX):
            await ask_all([part("stubborn", stubborn, 0.01)], reaper)
        assert reaper.lingering == LINGERING_MAX
        outcomes = await ask_all([part("stubborn", stubborn), part("other", quick)], reaper)
        assert isinstance(outcomes["stubborn"].error, Busy)
        assert outcomes["other"].result == 1, "others are asked as before"
    finally:
        let_go.set()
    await reaper.end(wait_s=2.0)
    assert reaper.lingering == 0 and not reaper.is_full("stubborn")


async def test_a_blocking_search_blocks_its_thread_only_and_hung_threads_are_bounded():
    let_go = threading.Event()
    reaper = Reaper()

    async def in_thread():
        return await reaper.in_thread("blocking", lambda: let_go.wait(20))

    async def ticks():
        count = 0
        until = time.monotonic() + 0.1
        while time.monotonic() < until:
            await asyncio.sleep(0.005)
            count += 1
        return count

    try:
        for _ in range(LINGERING_MAX):
            outcomes = await ask_all([part("blocking", in_thread, 0.02), part("ticks", ticks, 2.0)], reaper)
            assert isinstance(outcomes["blocking"].error, Late)
            assert outcomes["ticks"].result > 3
        assert isinstance((await ask_all([part("blocking", in_thread)], reaper))["blocking"].error, Busy)
    finally:
        let_go.set()
    until = time.monotonic() + 5
    while reaper.is_full("blocking") and time.monotonic() < until:
        await asyncio.sleep(0.01)
    assert not reaper.is_full("blocking")


@pytest.mark.parametrize("raised", [ValueError("x"), SystemExit("x"), KeyboardInterrupt(), StopIteration()])
async def test_whatever_a_search_raises_is_its_own_failure(raised):
    reaper = Reaper()

    async def raises():
        raise raised

    def raises_in_thread():
        raise raised

    async def in_thread():
        return await reaper.in_thread("b", raises_in_thread)

    outcomes = await ask_all([part("a", raises), part("b", in_thread)], reaper)
    assert all(isinstance(one.error, Exception) for one in outcomes.values())


async def test_one_that_cancels_itself_has_failed():
    async def gives_up():
        raise asyncio.CancelledError

    outcomes = await ask_all([part("a", gives_up)], Reaper())
    assert isinstance(outcomes["a"].error, RuntimeError)


async def test_nobody_asked_is_no_answer():
    assert await ask_all([], Reaper()) == {}
