"""The calls of the last hour, kept in memory of a fixed size."""

from __future__ import annotations

import uuid

import pytest

from service_runtime.rpc import recent_calls
from service_runtime.rpc.recent_calls import RecentCalls

OURS, OTHERS = uuid.uuid4(), uuid.uuid4()


class Clock:
    def __init__(self) -> None:
        self.s = 1_800_000_000.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recent(clock: Clock) -> RecentCalls:
    return RecentCalls("a-service", now=clock)


def test_a_minute_says_how_many_what_came_of_them_and_how_long_they_took(recent: RecentCalls):
    for place in range(100):
        recent.ended(OURS, "OK", 0.010 if place < 90 else 0.5)
    recent.ended(OURS, "NOT_FOUND", 0.001)
    recent.ended(OURS, "UNAVAILABLE", None)
    (minute,) = recent.minutes(OURS)
    assert (minute.calls, minute.refused, minute.failed) == (102, 1, 1)
    assert minute.p50_s == pytest.approx(0.010, rel=0.2)
    assert minute.p95_s == pytest.approx(0.5, rel=0.2)


def test_lengths_that_are_no_length_are_counted_too(recent: RecentCalls):
    for duration_s in (0.0, 1e-9, 60.0, 3600.0):
        recent.ended(OURS, "OK", duration_s)
    (minute,) = recent.minutes(OURS)
    assert minute.calls == 4
    assert 0 < minute.p50_s < minute.p95_s < 100


def test_an_hour_is_kept_and_no_minute_more(recent: RecentCalls, clock: Clock):
    for _ in range(100):
        recent.ended(OURS, "OK", 0.01)
        clock.s += 60
    clock.s -= 60
    minutes = recent.minutes(OURS)
    assert len(minutes) == 60
    assert [one.begins_at for one in minutes] == sorted(one.begins_at for one in minutes)
    clock.s += 59 * 60
    assert len(recent.minutes(OURS)) == 1
    clock.s += 60
    assert recent.minutes(OURS) == []


def test_a_tenant_sees_its_own_and_who_called_longest_ago_gives_way(recent: RecentCalls):
    recent.ended(OURS, "OK", 0.01)
    assert recent.minutes(OTHERS) == []
    for _ in range(recent_calls.TENANTS_MAX - 1):
        recent.ended(uuid.uuid4(), "OK", 0.01)
    recent.ended(OURS, "OK", 0.01)
    for _ in range(recent_calls.TENANTS_MAX - 1):
        recent.ended(uuid.uuid4(), "OK", 0.01)
    assert len(recent.minutes(OURS)) == 1
    recent.ended(OTHERS, "OK", 0.01)
    assert recent.minutes(OURS) == []
