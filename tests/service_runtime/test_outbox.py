"""Work that is owed: a worker that lives keeps what it has claimed, and what a killed one had is taken up soon."""

from __future__ import annotations

import asyncio
from functools import partial
from uuid import UUID

import pytest

from contextkeep.errors import LimitExceeded
from service_runtime.background_work import outbox
from service_runtime.background_work.outbox import Outbox, QueuedItem
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from service_runtime.values.ids import new_id
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL

WORK = Outbox("context", "tests")
ALL = "SELECT due_at > now() + interval '1 minute' AS is_late FROM context.outbox ORDER BY 1"


@pytest.fixture
async def tenant(database: Database, monkeypatch: pytest.MonkeyPatch) -> Tenant:
    monkeypatch.setattr(outbox, "LEASE_S", 0.6)
    tenant = database.tenant(DEFAULT_TENANT_ID)
    for _ in range(3):
        await tenant.transaction(partial(WORK.put, subject_id=new_id()))
    return tenant


async def test_a_living_worker_keeps_its_work_for_longer_than_a_lease(tenant: Tenant):
    async with WORK.claimed(tenant, count_max=3) as work:
        assert len(work) == 3
        for _ in range(8):
            await asyncio.sleep(0.2)
            assert await WORK.claim(tenant, count_max=3) == []
        assert await tenant.transaction(partial(WORK.hold, owed=work[0]))


async def test_what_a_killed_worker_had_is_taken_up_after_a_lease(tenant: Tenant):
    """At most: 300 s was what a document waited whose worker had no more memory."""
    assert len(await WORK.claim(tenant, count_max=3)) == 3
    async with asyncio.timeout(30):
        while not (again := await WORK.claim(tenant, count_max=3)):
            await asyncio.sleep(0.05)
    assert [one.attempts for one in again] == [2, 2, 2]


async def test_what_was_postponed_or_claimed_by_another_is_not_renewed(tenant: Tenant):
    async with WORK.claimed(tenant, count_max=3) as (late, done, kept):
        await tenant.transaction(partial(WORK.postpone, owed=late, delay_s=3600, error="x"))
        await tenant.transaction(partial(WORK.done, owed=done))
        await asyncio.sleep(1.0)
        assert [row.is_late for row in await tenant.query(ALL)] == [False, True]
        assert await WORK.claim(tenant, count_max=3) == []
        assert await tenant.transaction(partial(WORK.hold, owed=kept))


async def test_a_step_ends_after_an_item_that_takes_long(tenant: Tenant):
    """So another tenant waits for one file, and not for all that were claimed together with it."""
    done: list[UUID] = []

    async def work(owed: QueuedItem) -> None:
        done.append(owed.id)
        await asyncio.sleep(0.05)
        await tenant.transaction(partial(WORK.done, owed=owed))

    assert await WORK.each_due(tenant, work, for_s=0.01) == (1, True)
    assert len(await tenant.query(ALL)) == 2
    assert await WORK.each_due(tenant, work, for_s=60) == (2, False)
    assert len(set(done)) == 3


async def test_a_tenant_queues_so_many_items_and_is_told_the_limit(database: Database):
    """More is refused when it is written, and other tenants are not."""
    few = Outbox("context", "tests", queued_max=5)

    async def write(tenant_id: UUID) -> None:
        async def work(transaction: Transaction) -> None:
            await few.take_room(transaction)
            await few.put(transaction, new_id())

        await database.tenant(tenant_id).transaction(work)

    for _ in range(5):
        await write(PRINCIPAL.tenant_id)
    with pytest.raises(LimitExceeded) as refused:
        await write(PRINCIPAL.tenant_id)
    assert refused.value.metadata == {"limit": "queued_items", "limit_max": "5", "value": "6"}
    await write(OTHER_PRINCIPAL.tenant_id)

    tenant = database.tenant(PRINCIPAL.tenant_id)
    (owed,) = await few.claim(tenant, count_max=1)
    await tenant.transaction(partial(few.done, owed=owed))
    await write(PRINCIPAL.tenant_id)


@pytest.mark.parametrize(("items", "let_in"), [(1, 10), (3, 9), (11, 0)])
async def test_items_that_come_together_are_let_in_together_or_refused(database: Database, items: int, let_in: int):
    few, tenant = Outbox("context", "tests", queued_max=10), database.tenant(PRINCIPAL.tenant_id)

    async def write(transaction: Transaction) -> None:
        await few.take_room(transaction, items=items)
        for _ in range(items):
            await few.put(transaction, new_id())

    with pytest.raises(LimitExceeded):
        for _ in range(20):
            await tenant.transaction(write)
    assert len(await tenant.query(ALL)) == let_in
