"""Who does expensive work, and who waits for it."""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_runtime.rpc.admission import Shares
from service_runtime.rpc.fair_queue import BURST, PACE_S, SPACING_S, UNPACED, FairQueue, Turn
from service_runtime.rpc.principal import Principal


def turns_of(at_once: int, *, tenant: float = 1, key: float = 1) -> FairQueue:
    shares = Shares(of_tenant=tenant, of_key=key)
    return FairQueue(at_once, shares)


def caller(tenant: int, key: int = 0) -> Principal:
    return Principal(tenant_id=uuid.UUID(int=tenant), subject=str(key))


async def until_idle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_who_comes_behind_forty_of_one_key_is_next():
    turns = turns_of(2, key=0.5)
    served = []

    async def work(who: Principal) -> None:
        async with Turn(turns, who) as turn:
            await turn.take()
            served.append((who.tenant_id.int, who.subject))
            await asyncio.sleep(0)

    hostile = [asyncio.create_task(work(caller(1, key=1))) for _ in range(40)]
    await asyncio.sleep(0)
    other_key, other_tenant = (asyncio.create_task(work(who)) for who in (caller(1, key=2), caller(2)))
    await asyncio.gather(*hostile, other_key, other_tenant)

    assert served.index((1, "2")) <= 3
    assert served.index((2, "0")) <= 3
    assert len(served) == 42


async def test_who_is_cancelled_leaves_the_queue():
    turns = turns_of(1)
    await turns.take(caller(1))
    waiting = [asyncio.create_task(turns.take(caller(1))) for _ in range(3)]
    await until_idle()
    assert turns.waiting == 3

    waiting[1].cancel()
    await until_idle()

    assert turns.waiting == 2
    turns.give_back(caller(1))
    await until_idle()
    assert [one.done() for one in waiting] == [True, True, False]
    waiting[2].cancel()
    await until_idle()
    turns.give_back(caller(1))
    assert (turns.taken, turns.waiting) == (0, 0)


async def test_a_turn_that_was_given_to_who_was_just_cancelled_goes_on_to_the_next():
    turns = turns_of(1)
    await turns.take(caller(1))
    cancelled, following = (asyncio.create_task(turns.take(caller(tenant))) for tenant in (2, 3))
    await until_idle()

    turns.give_back(caller(1))  # and the next has it, but does not know yet
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await asyncio.wait_for(following, 1)
    assert (turns.taken, turns.waiting) == (1, 0)


async def test_who_waits_for_its_caller_lets_others_work():
    """Else two streams of which a client reads one to write the other wait for each other for ever."""
    turns = turns_of(1)

    async def write() -> None:
        async with Turn(turns, caller(1)) as writing:
            await writing.take()

    async with Turn(turns, caller(1)) as reading:
        await reading.take()
        waiting = asyncio.create_task(write())
        await until_idle()
        assert not waiting.done()
        async with reading.aside():
            await asyncio.wait_for(waiting, 1)
        assert turns.taken == 1
    assert (turns.taken, turns.waiting) == (0, 0)


async def test_a_call_next_to_fifty_cheap_ones_of_another_key_begins_at_once():
    """And another key of their tenant, too; the fifty take turns among themselves."""
    ordinary = turns_of(16, tenant=0.75, key=0.5)
    begun: list[tuple[int, str]] = []
    may_end = asyncio.Event()

    async def call(who: Principal) -> None:
        async with Turn(turns_of(1), who, ordinary) as turn:
            await turn.begin()
            begun.append((who.tenant_id.int, who.subject))
            await may_end.wait()

    flood = [asyncio.create_task(call(caller(1, key=1))) for _ in range(50)]
    await until_idle()
    others = [asyncio.create_task(call(who)) for who in (caller(2), caller(1, key=2))]
    await until_idle()

    assert begun == [(1, "1")] * 8 + [(2, "0"), (1, "2")]
    may_end.set()
    await asyncio.gather(*flood, *others)
    assert (ordinary.taken, ordinary.waiting) == (0, 0)


async def test_a_key_gets_more_paced_turns_only_after_no_call_has_arrived_for_a_moment():
    """Else its calls fill the event loop, and other callers' calls wait in grpc's core."""
    turns = FairQueue(16, Shares(of_tenant=0.75, of_key=0.5), paced=True)
    waiting = [asyncio.create_task(turns.take(caller(1))) for _ in range(10)]
    await until_idle()
    assert (turns.taken, turns.waiting) == (UNPACED, 10 - UNPACED)
    assert turns.take_now(caller(2))  # nor is another key's first one paced

    turns.give_back(caller(1))
    assert turns.taken == UNPACED + 1, "the next call has it at once"
    async with asyncio.timeout(20):
        while turns.waiting > 1:
            await asyncio.sleep(PACE_S)
    assert turns.taken == 8 + 1
    waiting[-1].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_key_gets_more_paced_turns_although_calls_arrive_all_the_time():
    turns = FairQueue(16, Shares(of_tenant=0.75, of_key=0.5), paced=True)
    waiting = [asyncio.create_task(turns.take(caller(1))) for _ in range(8)]
    async with asyncio.timeout(20):
        while turns.taken < 8:
            turns.arrived()
            await asyncio.sleep(0)
    await asyncio.gather(*waiting)


async def test_a_call_that_waits_for_long_leaves_its_ordinary_turn(monkeypatch: pytest.MonkeyPatch):
    """A lock, or a database that is away, must not keep out those who need neither."""
    monkeypatch.setattr("service_runtime.rpc.fair_queue.LEASE_S", 0.01)
    ordinary = turns_of(1)
    async with Turn(turns_of(1), caller(1), ordinary) as waiting, Turn(turns_of(1), caller(2), ordinary) as following:
        await waiting.begin()
        await asyncio.wait_for(following.begin(), 5)
        assert ordinary.taken == 1
    assert (ordinary.taken, ordinary.waiting) == (0, 0)


async def test_a_call_has_an_ordinary_or_an_expensive_turn():
    ordinary, expensive = turns_of(1), turns_of(1)
    async with Turn(expensive, caller(1), ordinary) as turn:
        await turn.begin()
        await turn.begin()
        assert (ordinary.taken, expensive.taken) == (1, 0)
        await turn.take()
        await turn.begin()
        assert (ordinary.taken, expensive.taken) == (0, 1)
    assert (ordinary.taken, expensive.taken) == (0, 0)


async def sliced(turns: FairQueue, calls: int, *, slices: int) -> float:
    """Return how long some calls of one key take for so many slices each that cost nothing."""

    async def work() -> None:
        async with Turn(turns, caller(1)) as turn:
            await turn.take()
            for _ in range(slices):
                await turn.give_way()

    began = time.monotonic()
    await asyncio.gather(*(work() for _ in range(calls)))
    return time.monotonic() - began


async def test_the_slices_of_a_key_are_spaced_while_others_call_and_only_then():
    turns = turns_of(8)
    turns.note_call(caller(1))
    assert await sliced(turns, 4, slices=50) < 150 * SPACING_S
    turns.note_call(caller(2))
    turns.note_call(caller(1))
    assert await sliced(turns, 4, slices=15) >= (60 - BURST - 1) * SPACING_S


async def test_an_ordinary_history_is_not_spaced():
    turns = turns_of(8)
    turns.note_call(caller(2))
    assert await sliced(turns, 1, slices=BURST) < BURST * SPACING_S


async def test_who_works_is_another_however_long_ago_he_called():
    turns = turns_of(8)
    async with Turn(turns, caller(2)) as working:
        await working.take()
        assert await sliced(turns, 1, slices=BURST + 10) >= 9 * SPACING_S


@given(
    at_once=st.integers(1, 5),
    tenant=st.floats(0.1, 1),
    key=st.floats(0.1, 1),
    callers=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), max_size=40),
    seed=st.integers(0, 1000),
)
def test_no_share_is_passed_and_nobody_waits_without_need(
    at_once: int, tenant: float, key: float, callers: list[tuple[int, int]], seed: int
):
    """Whoever comes, works, waits or gives up in whatever order."""
    asyncio.run(mixed(at_once, Shares(of_tenant=tenant, of_key=key), callers, random.Random(seed)))


async def mixed(at_once: int, shares: Shares, callers: list[tuple[int, int]], chance: random.Random) -> None:
    turns = turns_of(at_once, tenant=shares.of_tenant, key=shares.of_key)
    working: Counter[tuple[int, int]] = Counter()
    waiting: Counter[tuple[int, int]] = Counter()

    def may(tenant: int, key: int) -> bool:
        of_tenant = sum(count for who, count in working.items() if who[0] == tenant)
        return of_tenant < shares.tenant_max(at_once) and working[tenant, key] < shares.key_max(at_once)

    async def work(who: tuple[int, int]) -> None:
        async with Turn(turns, caller(*who)) as turn:
            waiting[who] += 1
            try:
                await turn.take()
            finally:
                waiting[who] -= 1
            assert may(*who)
            assert working.total() < at_once
            working[who] += 1
            try:
                for _ in range(chance.randrange(5)):
                    await asyncio.sleep(0)
            finally:
                working[who] -= 1

    tasks = []
    for who in callers:
        tasks.append(asyncio.create_task(work(who)))
        if chance.random() < 0.5:
            await asyncio.sleep(0)
        if chance.random() < 0.3:
            chance.choice(tasks).cancel()
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        if turns.waiting and working.total() == turns.taken < at_once:  # all who were let in know of it
            assert not any(count and may(*who) for who, count in waiting.items())
    for task in tasks:
        if not task.cancelled():
            task.result()
    assert (turns.taken, turns.waiting) == (0, 0)
