"""The two doors to Postgres."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import psycopg
import pytest

from contextkeep.errors import DeadlineExceeded, InvalidArgument, Overloaded, Unavailable
from service_runtime.postgres import Database, SchemaBehind, Tenant, TextArray, Transaction, UnsafeRole
from service_runtime.postgres import tenant as tenant_module
from service_runtime.rpc import calls
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.conftest import OTHER_PRINCIPAL, Urls

SETTINGS = "SELECT current_setting('app.tenant', true) AS tenant, current_setting('statement_timeout') AS timeout"


async def test_a_query_runs_with_its_tenant_and_a_timeout(database: Database):
    (row,) = await database.tenant(DEFAULT_TENANT_ID).query(SETTINGS)

    assert (row.tenant, row.timeout) == (str(DEFAULT_TENANT_ID), "59500ms")


async def test_nothing_of_a_tenant_stays_on_the_connection(urls: Urls):
    async with Database.open(urls.service, connections_max=1, name="one") as database:
        await database.tenant(DEFAULT_TENANT_ID).query("SELECT 1")

        (row,) = await database.untenanted(SETTINGS)

        assert (row.tenant, row.timeout) == ("", "0")


async def test_the_statement_timeout_is_what_is_left_of_the_call(database: Database):
    token = calls.current_call.set(calls.Call(call_id="1", method="/x/Y", deadline=time.monotonic() + 1))
    try:
        with pytest.raises(DeadlineExceeded):
            await database.tenant(DEFAULT_TENANT_ID).query("SELECT pg_sleep(5)")
    finally:
        calls.current_call.reset(token)


async def test_the_end_of_a_short_call_is_no_outage_of_postgres(urls: Urls):
    """Postgres has no time to answer the cancellation: nothing is known of it, and other connections need no proof."""
    async with Database.open(urls.service, connections_max=3, name="three") as database:
        tenant = database.tenant(DEFAULT_TENANT_ID)
        await asyncio.gather(*(tenant.query("SELECT pg_sleep(0.2)") for _ in range(3)))
        for left_ms in (1, 2, 5, 10, 20, 50, 100):
            token = calls.current_call.set(
                calls.Call(call_id="1", method="/x/Y", deadline=time.monotonic() + left_ms / 1000)
            )
            try:
                with pytest.raises((DeadlineExceeded, Overloaded)):  # none may be free
                    await tenant.query("SELECT pg_sleep(5)")
            finally:
                calls.current_call.reset(token)
        assert database._home._silent_at == 0.0


@pytest.mark.parametrize("ad_hoc", [False, True])
async def test_no_statement_is_compiled(urls: Urls, ad_hoc: bool):
    async with Database.open(f"{urls.service}?options=-cjit%3Don", connections_max=1, name="compiling") as database:
        sql = "SELECT current_setting('jit') AS jit"
        (row,) = await database.tenant(DEFAULT_TENANT_ID).query(sql, ad_hoc=ad_hoc)
        assert row.jit == "off"
        (row,) = await database.untenanted(sql)
        assert row.jit == "on"  # as the database has it


async def test_a_statement_without_rows_returns_none_of_them(database: Database):
    assert await database.tenant(DEFAULT_TENANT_ID).query("DELETE FROM entity.node") == []


@pytest.mark.parametrize("texts", [[], [""], ["a", None, "{,}", '"\\', "ü\U0001f600"], ["x" * 70_000, "y"], [None]])
async def test_an_array_of_texts_arrives_as_it_is(database: Database, texts: list[str | None]):
    (row,) = await database.tenant(DEFAULT_TENANT_ID).query("SELECT %s::text[] AS texts", (TextArray(texts),))

    assert row.texts == texts


@pytest.mark.parametrize("count", [4_999, 5_000, 5_001, 12_345])
async def test_many_rows_come_whole_and_in_their_order(database: Database, count: int):
    """They are made in slices, for the sake of other calls."""
    rows = await database.tenant(DEFAULT_TENANT_ID).query(
        "SELECT n FROM generate_series(1, %s) AS n", (count,), named=False
    )

    assert rows == [(n,) for n in range(1, count + 1)]


async def test_a_statement_of_one_call_is_not_kept_and_can_only_read(urls: Urls):
    async with Database.open(urls.service, connections_max=1, name="one") as database:
        tenant = database.tenant(DEFAULT_TENANT_ID)
        for _ in range(10):
            await tenant.query("SELECT count(*) FROM entity.node", ad_hoc=True)

        with pytest.raises(Unavailable):  # what a standby says, and a server that is failing over
            await tenant.query("DELETE FROM entity.node", ad_hoc=True)

        (row,) = await tenant.query(
            "SELECT count(*) AS kept FROM pg_prepared_statements WHERE position('entity' IN statement) > 0"
        )
        assert row.kept == 0
        assert await tenant.query("DELETE FROM entity.node") == []  # nothing of it stays


async def test_a_failed_transaction_leaves_nothing(database: Database):
    tenant = database.tenant(DEFAULT_TENANT_ID)

    async def insert_then_fail(transaction: Transaction) -> None:
        await transaction.query(
            "INSERT INTO context.outbox (tenant_id, id, topic, subject_id) VALUES (%s, %s, 't', %s)",
            (DEFAULT_TENANT_ID, uuid.uuid4(), uuid.uuid4()),
        )
        raise InvalidArgument("no")

    with pytest.raises(InvalidArgument):
        await tenant.transaction(insert_then_fail)
    assert await tenant.query("SELECT id FROM context.outbox") == []


async def test_a_deadlock_is_tried_once_more(database: Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        tenant_module, "AGAIN_AFTER_S", 1.0
    )  # the survivor may wake up late, and would be deadlocked again
    tenant = database.tenant(DEFAULT_TENANT_ID)
    ids = [uuid.uuid4(), uuid.uuid4()]
    for one in ids:
        await tenant.query(
            "INSERT INTO context.outbox (tenant_id, id, topic, subject_id) VALUES (%s, %s, 't', %s)",
            (DEFAULT_TENANT_ID, one, one),
        )
    both_hold_one = asyncio.Barrier(2)
    runs = []

    def touch(first: uuid.UUID, second: uuid.UUID):
        async def work(transaction: Transaction) -> None:
            runs.append(first)
            await transaction.query("UPDATE context.outbox SET attempts = attempts + 1 WHERE id = %s", (first,))
            if len(runs) <= 2:
                await both_hold_one.wait()
            await transaction.query("UPDATE context.outbox SET attempts = attempts + 1 WHERE id = %s", (second,))

        return work

    await asyncio.gather(tenant.transaction(touch(*ids)), tenant.transaction(touch(*reversed(ids))))

    rows = await tenant.query("SELECT attempts FROM context.outbox")
    assert [row.attempts for row in rows] == [2, 2]
    assert len(runs) == 3


async def test_row_level_security_hides_rows_that_the_query_does_not_filter(database: Database):
    mine = database.tenant(DEFAULT_TENANT_ID)
    await mine.query(
        "INSERT INTO context.outbox (tenant_id, id, topic, subject_id) VALUES (%s, %s, 't', %s)",
        (DEFAULT_TENANT_ID, uuid.uuid4(), uuid.uuid4()),
    )

    theirs = database.tenant(OTHER_PRINCIPAL.tenant_id)

    assert len(await mine.query("SELECT id FROM context.outbox")) == 1
    assert await theirs.query("SELECT id FROM context.outbox") == []
    assert await database.untenanted("SELECT id FROM context.outbox") == []
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        await theirs.query(
            "INSERT INTO context.outbox (tenant_id, id, topic, subject_id) VALUES (%s, %s, 't', %s)",
            (DEFAULT_TENANT_ID, uuid.uuid4(), uuid.uuid4()),
        )


@pytest.mark.parametrize(
    "lacked",
    ["SELECT 1 FROM entity.later", "SELECT later FROM entity.node", "SELECT entity.later()", "SELECT later.x()"],
)
async def test_what_only_a_newer_schema_has_is_told_as_such(database: Database, lacked: str):
    with pytest.raises(SchemaBehind):
        await database.tenant(DEFAULT_TENANT_ID).query(lacked)


async def test_a_mistake_in_a_statement_is_not_taken_for_an_older_schema(database: Database):
    with pytest.raises(psycopg.errors.UndefinedFunction):
        await database.tenant(DEFAULT_TENANT_ID).query("SELECT 1::integer = ''::text")


@pytest.mark.parametrize("role", ["admin", "superuser"])
async def test_a_role_that_passes_the_policies_is_refused(urls: Urls, role: str):
    with pytest.raises(UnsafeRole):
        async with Database.open(getattr(urls, role), connections_max=1, name="unsafe"):
            pass


async def backend(database: Database) -> int:
    (row,) = await database.untenanted("SELECT pg_backend_pid() AS pid")
    pid: int = row.pid
    return pid


async def one_statement(tenant: Tenant) -> None:
    await tenant.query("SELECT pg_sleep(5)")


async def a_transaction(tenant: Tenant) -> None:
    async def work(transaction: Transaction) -> None:
        await transaction.query("SELECT pg_sleep(5)")

    await tenant.transaction(work)


@pytest.mark.parametrize("running", [one_statement, a_transaction])
async def test_whoever_is_cancelled_twice_leaves_a_connection_that_lives(
    urls: Urls, running: Callable[[Tenant], Coroutine[Any, Any, None]], caplog: pytest.LogCaptureFixture
):
    """Its client and its deadline cancel a call together. psycopg hung up, and printed what nobody could act on."""
    async with Database.open(urls.service, connections_max=1, name="one") as database:
        before = await backend(database)
        for gap_s in (0.0, 0.0005, 0.001, 0.002, 0.005) * 4:
            task = asyncio.create_task(running(database.tenant(DEFAULT_TENANT_ID)))
            await asyncio.sleep(0.03)
            task.cancel()
            await asyncio.sleep(gap_s)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        gc.collect()  # a generator that was left half-way would say so now, and fail the test

        assert await backend(database) == before
    assert not [record.getMessage() for record in caplog.records if record.name.startswith("psycopg")]


@pytest.mark.parametrize("running", [one_statement, a_transaction])
async def test_whoever_is_cancelled_before_postgres_has_read_what_it_asks_leaves_a_connection_that_lives(
    urls: Urls, running: Callable[[Tenant], Coroutine[Any, Any, None]]
):
    """A backend that waits for a statement forgets a cancellation: on a busy machine it came before what it was for."""
    async with Database.open(urls.service, connections_max=1, name="one") as database:
        before = await backend(database)
        os.kill(before, signal.SIGSTOP)
        try:
            task = asyncio.create_task(running(database.tenant(DEFAULT_TENANT_ID)))
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.sleep(0.2)
        finally:
            os.kill(before, signal.SIGCONT)
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await backend(database) == before


async def test_a_connection_that_is_silent_costs_none_of_those_that_answer(urls: Urls):
    """On a busy machine a short call gave a connection up, and the next one waited for a new one: all were dropped."""

    async def backends(database: Database) -> set[int]:
        rows = await asyncio.gather(
            *(database.untenanted("SELECT pg_backend_pid() AS pid, pg_sleep(0.3)") for _ in range(3))
        )
        return {row.pid for (row,) in rows}

    async with Database.open(urls.service, connections_max=3, name="three") as database:
        before = await backends(database)
        sleeping = asyncio.create_task(database.untenanted("SELECT pg_sleep(60)", timeout_s=2))
        async with await psycopg.AsyncConnection.connect(urls.superuser, autocommit=True) as connection:
            sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'three' AND query LIKE '%%pg_sleep(60)'"
            while not (row := await (await connection.execute(sql)).fetchone()):
                await asyncio.sleep(0.01)
        silent: int = row[0]
        os.kill(silent, signal.SIGSTOP)
        try:
            with pytest.raises(Unavailable):
                await sleeping
        finally:
            os.kill(silent, signal.SIGCONT)

        assert before - await backends(database) == {silent}
