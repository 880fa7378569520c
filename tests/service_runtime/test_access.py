"""How often a principal may call."""

from __future__ import annotations

import dataclasses
import time
from uuid import uuid4

import pytest

from contextkeep.errors import RateLimited
from service_runtime.auth.access import Access
from service_runtime.rpc.principal import ApiKeys, Principal

FIRST = Principal(tenant_id=uuid4(), subject="first")
SECOND = dataclasses.replace(FIRST, subject="second")
ELSEWHERE = Principal(tenant_id=uuid4(), subject="first")
KEYS = ApiKeys({"one": FIRST, "two": SECOND, "elsewhere": ELSEWHERE})


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


async def calls(access: Access, key: str, count: int) -> int:
    """Return how many of so many calls at once are let in."""
    for number in range(count):
        try:
            await access.authenticate([("x-api-key", key)])
        except RateLimited:
            return number
    return count


async def test_a_subject_has_its_burst_and_then_its_rate(clock: list[float]):
    access = Access([KEYS], open_while_empty=None, per_subject=20)

    assert await calls(access, "one", 30) == 20
    clock[0] += 0.25
    assert await calls(access, "one", 30) == 5
    clock[0] += 3600
    assert await calls(access, "one", 30) == 20


async def test_a_slow_rate_still_lets_ten_in_at_once(clock: list[float]):
    access = Access([KEYS], open_while_empty=None, per_subject=0.5)

    assert await calls(access, "one", 30) == 10
    with pytest.raises(RateLimited) as caught:
        await access.authenticate([("x-api-key", "one")])
    assert caught.value.retry_after_s == 2
    assert caught.value.metadata["limit"] == "CALLS_PER_SECOND_OF_KEY"


async def test_subjects_and_tenants_do_not_take_from_each_other():
    access = Access([KEYS], open_while_empty=None, per_subject=20)

    assert [await calls(access, key, 30) for key in ("one", "two", "elsewhere")] == [20, 20, 20]


async def test_a_tenants_subjects_share_its_rate():
    access = Access([KEYS], open_while_empty=None, per_tenant=20)

    assert [await calls(access, key, 15) for key in ("one", "two", "elsewhere")] == [15, 5, 15]


async def test_without_a_limit_there_is_none():
    assert await calls(Access([KEYS], open_while_empty=None), "one", 1000) == 1000
