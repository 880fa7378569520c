"""Background work of tenants: whose step is next, and how long the first work of a tenant waits."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import context_service
import entity_service
import service_runtime
from service_runtime.auth import tenants
from service_runtime.auth.tenants import Rounds
from service_runtime.postgres import Tenant

BATCH = 4
ARRIVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 12), st.sampled_from([1, 2, BATCH, 3 * BATCH])), max_size=30
)
# What each of them holds all the time: less than a batch, exactly one, or far more.
FLOODS = st.lists(st.sampled_from([1, BATCH - 1, BATCH, 100]), max_size=3)
STEPS = 120


class Queues:
    """Work of some tenants, of which a step takes a batch."""

    def __init__(self, floods: list[int], arrivals: list[tuple[int, int, int]]) -> None:
        self._floods = dict(enumerate(floods, 100))
        self._arrivals = arrivals
        self.due: Counter[int] = Counter()
        self.steps = 0  # that found work
        self.waits: dict[int, Counter[int]] = {}  # of a tenant with work: the steps of others since that came
        self.longest = 0
        self.most_of_all = 0
        self.tenants = sorted({*self._floods, *(tenant for _, tenant, _ in arrivals)})
        self._arrive()

    def _arrive(self) -> None:
        if self.steps >= STEPS:
            return
        for tenant, count in self._floods.items():
            self._put(tenant, count - self.due[tenant])
        for at, tenant, count in self._arrivals:
            if at == self.steps:
                self._put(tenant, count)

    def _put(self, tenant: int, count: int) -> None:
        if count > 0:
            if not self.due[tenant]:
                self.waits[tenant] = Counter()
            self.due[tenant] += count

    async def among(self) -> list[Tenant]:
        found: list[Any] = [SimpleNamespace(tenant_id=uuid.UUID(int=number)) for number in self.tenants]
        return found

    async def step(self, tenant: Tenant) -> tuple[int, bool]:
        number = tenant.tenant_id.int
        count = min(BATCH, self.due[number])
        if count:
            for other, wait in self.waits.items():
                if other != number:
                    wait[number] += 1
            waited = self.waits.pop(number, Counter())
            self.longest = max([self.longest, *waited.values()])
            self.most_of_all = max(self.most_of_all, waited.total())
            self.due[number] -= count
            self.steps += 1
            self._arrive()
        await asyncio.sleep(0)
        return count, count == BATCH


@given(floods=FLOODS, arrivals=ARRIVALS, at_once=st.sampled_from([1, 2]))
def test_the_first_work_of_a_tenant_waits_for_other_tenants_and_not_for_their_backlog(
    floods: list[int], arrivals: list[tuple[int, int, int]], at_once: int
):
    queues = Queues(floods, arrivals)
    rounds = Rounds(None, queues.step, at_once=at_once)  # type: ignore[arg-type]

    async def run() -> None:
        while await rounds.run(queues.among):
            pass

    asyncio.run(run())

    assert queues.longest <= at_once, "another tenant had more than one step before"
    assert queues.most_of_all <= at_once * len(queues.tenants)
    assert not +queues.due


async def test_a_tenant_whose_step_takes_long_holds_up_nobody():
    """A file that a parser reads for a minute, and work that arrives in the meantime."""
    queues = Queues([], [(0, 1, 1), (1, 2, 1)])
    is_read, served = asyncio.Event(), []

    async def step(tenant: Tenant) -> tuple[int, bool]:
        done, more = await queues.step(tenant)
        if done and tenant.tenant_id.int == 1:
            async with asyncio.timeout(30):
                await is_read.wait()
        elif done:
            served.append(tenant.tenant_id.int)
            is_read.set()
        return done, more

    assert await Rounds(None, step, at_once=2).run(queues.among) == 2  # type: ignore[arg-type]
    assert served == [2]


async def test_a_tenant_whose_step_fails_holds_up_nobody():
    queues = Queues([], [(0, tenant, 2 * BATCH) for tenant in (1, 2, 3)])

    async def step(tenant: Tenant) -> tuple[int, bool]:
        if tenant.tenant_id.int == 1:
            raise ValueError("poison")
        return await queues.step(tenant)

    with pytest.raises(ValueError, match="poison"):
        await Rounds(None, step).run(queues.among)  # type: ignore[arg-type]
    assert +queues.due == Counter({1: 2 * BATCH})


class Away(Exception):
    """What all need is away."""


async def test_a_run_that_an_error_ends_goes_on_with_the_next_tenant():
    """Else a tenant whose texts make an embedder fail would keep all after it from having vectors."""
    queues = Queues([], [(0, tenant, 1) for tenant in (1, 2, 3)])
    tried: list[int] = []

    async def step(tenant: Tenant) -> tuple[int, bool]:
        tried.append(tenant.tenant_id.int)
        raise Away

    rounds = Rounds(None, step, ends_at=Away)  # type: ignore[arg-type]
    for _ in range(4):
        with pytest.raises(Away):
            await rounds.run(queues.among)
    assert tried == [1, 2, 3, 1]


async def test_with_very_many_tenants_work_does_not_wait_for_a_look_at_all(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tenants, "LOOKS_S", 0.0)
    queues = Queues([100], [])
    queues.tenants = [*range(1, 2_000), 100_000]
    queues._floods = {}
    queues.due = Counter({100_000: 10 * BATCH})
    looks: list[int] = []

    def looking(
        step: Callable[[Tenant], Awaitable[tuple[int, bool]]],
    ) -> Callable[[Tenant], Awaitable[tuple[int, bool]]]:
        async def look(tenant: Tenant) -> tuple[int, bool]:
            looks.append(tenant.tenant_id.int)
            return await step(tenant)

        return look

    await Rounds(None, looking(queues.step)).run(queues.among)  # type: ignore[arg-type]
    served = [place for place, tenant in enumerate(looks) if tenant == 100_000]
    assert len(served) == 11
    assert served[9] - served[0] < 1_000


ALONE = {
    # Each looks at all tenants, and does nothing of which a tenant could have more.
    "context_service/contexts/store/backlog.py",
    "service_runtime/postgres/database.py",
    "service_runtime/auth/tenants.py",
    # Operators run them, one at a time.
    "context_service/erasure/rules/replay.py",
    "context_service/commands/maintenance.py",
    "context_service/retrieval/rules/passage_backfill.py",
    "context_service/working_memory/upkeep/vector_backfill.py",
    "context_service/working_memory/upkeep/fsck.py",
    "context_service/working_memory/upkeep/move_blobs.py",
    "context_service/working_memory/upkeep/text_backfill.py",
    "entity_service/replay_erasures.py",
}


def test_all_background_work_goes_by_rounds():
    root = Path(context_service.__file__).parents[1]
    found = {
        str(path.relative_to(root))
        for package in (context_service, entity_service, service_runtime)
        for path in Path(package.__file__ or "").parent.rglob("*.py")
        if "tenants(reachable=True)" in path.read_text() or ".tenants, reachable=True" in path.read_text()
    }
    assert found == ALONE
