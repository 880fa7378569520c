"""Idle workers poll together: one statement for all queues and tenants, which passes over backlogs."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Iterator
from functools import partial

import psycopg
import pytest

from service_runtime.auth.tenants import Rounds
from service_runtime.background_work.due_work import Queue
from service_runtime.background_work.outbox import Outbox, QueuedItem
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database, Row, Tenant
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from service_runtime.values.ids import new_id
from tests.conftest import OTHER_PRINCIPAL, Urls, cloned

TOPICS = ("folds", "texts", "vectors")
MESSAGES = Queue(schema="context", topic="records of messages")
PUT = (
    "INSERT INTO context.outbox (tenant_id, id, topic, subject_id, due_at)"
    " SELECT %s, uuidv7(), %s, gen_random_uuid(), now() + %s * interval '1 s' FROM generate_series(1, %s)"
)
POINT = (
    "INSERT INTO context.message_record (tenant_id, context_id, ancestors, seq, part, owner_user_id, app_id,"
    " agent_bundle_id, due_at, state, record_id)"
    " VALUES (%s, gen_random_uuid(), '{}', 1, 1, '', '', '', now() + %s * interval '1 s', %s, %s)"
)
DUE = "SELECT topic, tenant_id FROM context.due_work()"


@pytest.fixture
def urls(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    """One database, which the tests write themselves."""
    with cloned(postgres, is_alone=True) as made:
        yield made


def listed(connection: psycopg.Connection, count: int) -> list[uuid.UUID]:
    """Add tenants, and return all."""
    added = [uuid.uuid4() for _ in range(count)]
    for tenant_id in added:
        connection.execute("INSERT INTO access.tenant (id, name) VALUES (%s, %s)", (tenant_id, str(tenant_id)))
    return [DEFAULT_TENANT_ID, OTHER_PRINCIPAL.tenant_id, *added]


@pytest.mark.parametrize("seed", range(3))
def test_a_poll_finds_the_queues_that_a_whole_look_finds(urls: Urls, seed: int):
    drawn = random.Random(seed)
    expected = set()
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")  # no foreign keys
        for tenant_id in listed(connection, 6):
            for topic in TOPICS:
                delays = [drawn.choice((-100, 0, 3600)) for _ in range(drawn.choice((0, 0, 1, 4)))]
                for delay_s in delays:
                    connection.execute(PUT, (tenant_id, topic, delay_s, 2))
                if min(delays, default=1) <= 0:
                    expected.add((topic, tenant_id))
            delay_s, state = drawn.choice((-5, 3600)), drawn.choice(("PENDING", "FAILED"))
            record_id = drawn.choice((None, uuid.uuid4()))
            connection.execute(POINT, (tenant_id, delay_s, state, record_id))
            if delay_s < 0 and (state == "PENDING" or record_id is None):
                expected.add((MESSAGES.topic, tenant_id))
        connection.execute(PUT, (uuid.uuid4(), "texts", -1, 1))  # of nobody who is listed

    with psycopg.connect(urls.service) as connection:
        assert sorted(connection.execute(DUE).fetchall()) == sorted(expected)


def test_a_poll_costs_the_same_however_long_a_backlog_is(urls: Urls):
    """Also by a plan that was made while the queue was empty."""
    read = "SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_user_tables WHERE schemaname = 'context'"
    looked = []
    with psycopg.connect(urls.service, autocommit=True) as worker, psycopg.connect(urls.superuser) as connection:
        worker.execute(DUE)
        for count in (10, 10_000):
            connection.execute(PUT, (DEFAULT_TENANT_ID, "texts", -1, count))
            connection.execute(PUT, (OTHER_PRINCIPAL.tenant_id, "folds", 3600, count))
            connection.commit()
            with worker.transaction():
                assert worker.execute(DUE).fetchall() == [("texts", DEFAULT_TENANT_ID)]
                looked.append(worker.execute(read).fetchone()[0])  # type: ignore[index]
    assert looked[1] <= looked[0] + 5, looked


async def test_queues_that_wait_share_each_poll_and_begin_when_another_process_queues_work(
    urls: Urls, database: Database, monkeypatch: pytest.MonkeyPatch
):
    """Ten queues of 50 tenants: each once asked for each tenant."""
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        listed(connection, 48)
    asked: list[str] = []
    everywhere = database.everywhere

    async def counting(sql: str) -> list[Row]:
        asked.append(sql)
        return await everywhere(sql)

    served: list[uuid.UUID] = []
    outboxes = [Outbox("context", f"tests {number}") for number in range(10)]

    def worker(outbox: Outbox) -> Rounds:
        async def step(tenant: Tenant) -> tuple[int, bool]:
            async def done(item: QueuedItem) -> None:
                served.append(tenant.tenant_id)
                await outbox.settle(tenant, item)

            return await outbox.each_due(tenant, done, for_s=0)

        return Rounds(database, step, queue=outbox.queue)

    monkeypatch.setattr(database, "everywhere", counting)
    rounds = [worker(outbox) for outbox in outboxes]
    tasks = [asyncio.create_task(one.keep_running(one.run, interval_s=0.2)) for one in rounds]
    await asyncio.sleep(0.5)
    asked.clear()
    await asyncio.sleep(1.0)
    assert len(asked) <= 8
    async with Database.open(urls.service, connections_max=1, name="another process") as other:
        await other.tenant(DEFAULT_TENANT_ID).transaction(partial(outboxes[3].put, subject_id=new_id()))
    async with asyncio.timeout(30):
        while not served:
            await asyncio.sleep(0.02)
    assert served == [DEFAULT_TENANT_ID]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
