"""The tokens of models that a tenant may spend in a day: one count for all replicas, in Postgres."""

from __future__ import annotations

import asyncio
from datetime import date

from context_service.kernel.llm.budget import TokenBudget
from service_runtime.postgres import Database
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL

TODAY, TOMORROW = date(2030, 12, 31), date(2031, 1, 1)


async def test_replicas_share_the_budget_of_a_tenant_and_a_restart_keeps_it(database: Database):
    replicas = [TokenBudget(database, 100, today=lambda: TODAY) for _ in range(4)]

    await asyncio.gather(*(replica.spend(PRINCIPAL, 24) for replica in replicas))
    assert await replicas[0].has_room(PRINCIPAL)
    await replicas[1].spend(PRINCIPAL, 4)

    assert not await TokenBudget(database, 100, today=lambda: TODAY).has_room(PRINCIPAL)
    assert await replicas[0].has_room(OTHER_PRINCIPAL)


async def test_a_day_begins_with_nothing_spent_and_a_clock_that_is_late_takes_nothing_back(database: Database):
    yesterdays, todays = (TokenBudget(database, 100, today=lambda day=day: day) for day in (TODAY, TOMORROW))
    await yesterdays.spend(PRINCIPAL, 5_000_000_000)

    assert not await yesterdays.has_room(PRINCIPAL)
    assert await todays.has_room(PRINCIPAL)
    await todays.spend(PRINCIPAL, 100)
    await yesterdays.spend(PRINCIPAL, 1)

    assert not await todays.has_room(PRINCIPAL)


async def test_without_a_limit_nothing_is_counted(database: Database):
    budget = TokenBudget(database, 0)
    await budget.spend(PRINCIPAL, 7)

    assert await budget.has_room(PRINCIPAL)
    assert await TokenBudget(database, 1).has_room(PRINCIPAL)
