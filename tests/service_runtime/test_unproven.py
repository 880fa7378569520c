"""Calls without a valid credential share a budget, and addresses take turns."""

from __future__ import annotations

import asyncio

import pytest

from service_runtime.rpc import unproven
from service_runtime.rpc.unproven import UNITS_AT_ONCE, Unproven, address_of


async def flood(queue: Unproven, peer: str, count: int) -> list[asyncio.Task[bool]]:
    """Let so many calls of a peer wait, after those that the budget lets through at once."""
    tasks = [asyncio.create_task(queue.take(peer)) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


UNITS_PER_S = 100.0


class Clock:
    """The time of queues, which stands still."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    async def gain(self, queue: Unproven, units: float) -> None:
        """Let so much time pass that a queue gains units, and wait until it has given them."""
        self.now += units / UNITS_PER_S + 1e-9
        queue._look()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    stopped = Clock()
    monkeypatch.setattr(unproven, "time", stopped)
    return stopped


async def emptied(*, waiting_max: int = 2000) -> Unproven:
    queue = Unproven(units_per_s=UNITS_PER_S, waiting_max=waiting_max)
    for _ in range(int(UNITS_AT_ONCE)):
        assert await queue.take("ipv4:127.0.0.1:1")
    return queue


async def end(tasks: list[asyncio.Task[bool]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def answered(tasks: list[asyncio.Task[bool]]) -> int:
    return sum(task.done() and task.result() for task in tasks)


async def test_no_more_calls_are_answered_than_the_budget_has(clock: Clock):
    queue = await emptied()
    tasks = await flood(queue, "ipv4:10.0.0.1:1", 500)
    assert answered(tasks) == 0
    for count in (5, 20):
        await clock.gain(queue, count - answered(tasks))
        assert answered(tasks) == count
    await end(tasks)
    assert queue.waiting == 0


async def test_another_address_waits_for_one_call_of_each_other_address_only(clock: Clock):
    queue = await emptied()
    floods = [await flood(queue, f"ipv4:10.0.0.{number}:{number}", 100) for number in range(3)]
    probe = asyncio.create_task(queue.take("ipv4:10.0.0.9:1"))
    await asyncio.sleep(0)
    for _ in range(4):
        assert not probe.done()
        await clock.gain(queue, 1)
    assert probe.result()
    assert list(map(answered, floods)) == [1, 1, 1]
    for tasks in floods:
        await end(tasks)


async def test_when_too_many_wait_the_address_with_the_most_loses_a_call():
    queue = await emptied(waiting_max=50)
    tasks = await flood(queue, "ipv4:10.0.0.1:1", 60)
    assert [task.result() for task in tasks if task.done()] == [False] * 10
    probe = asyncio.create_task(queue.take("ipv4:10.0.0.2:1"))
    assert await probe
    assert queue.waiting <= 50
    await end(tasks)


async def test_another_connection_of_an_address_waits_for_one_call_of_each_connection_only(clock: Clock):
    """The probes of a proxy have the address of all callers."""
    queue = await emptied(waiting_max=100)
    floods = [await flood(queue, f"ipv4:10.0.0.1:{port}", 50) for port in range(3)]
    assert queue.waiting <= 100
    before = sum(map(answered, floods))
    probe = asyncio.create_task(queue.take("ipv4:10.0.0.1:9"))
    await asyncio.sleep(0)
    await clock.gain(queue, 4)
    assert probe.result()
    assert sum(map(answered, floods)) - before <= 3
    assert all(any(not task.done() for task in tasks) for tasks in floods)  # none has lost all its places to others
    for tasks in floods:
        await end(tasks)


async def test_callers_that_leave_take_nothing_of_the_budget():
    queue = await emptied()
    await end(await flood(queue, "ipv4:10.0.0.1:1", 1000))
    assert queue.waiting == 0
    assert await asyncio.wait_for(queue.take("ipv4:10.0.0.1:1"), 5)


async def test_a_clock_that_is_set_back_takes_nothing_of_the_budget(clock: Clock):
    queue = await emptied()
    clock.now -= 7200
    queue._refill()
    clock.now += 1
    assert await asyncio.wait_for(queue.take("ipv4:10.0.0.1:1"), 5)


async def test_a_call_that_costs_more_takes_more(clock: Clock):
    queue = await emptied()
    calls = [asyncio.create_task(queue.take("ipv4:10.0.0.1:1", units=10)) for _ in range(5)]
    await asyncio.sleep(0)
    await clock.gain(queue, 1)  # the first one goes as soon as there is one unit
    for count in range(1, 6):
        assert answered(calls) == count
        await clock.gain(queue, 9)
        assert answered(calls) == count
        await clock.gain(queue, 1)


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:127.0.0.1:50000", "127.0.0.1"),
        ("ipv6:[2001:db8:1:2:3:4:5:6]:50000", "20010db800010002".lstrip("0")),
        ("ipv6:%5B2001:db8:1:2::9%5D:1", "20010db800010002".lstrip("0")),
        ("ipv6:%5Bfe80::1%25eth0%5D:1", "fe80000000000000"),
        ("unix:/run/socket", ""),
        ("", ""),
    ],
)
def test_connections_of_one_caller_have_one_address(peer: str, address: str):
    assert address_of(peer) == address
