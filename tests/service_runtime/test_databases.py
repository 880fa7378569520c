"""Tenants over two databases: each is served by the one where it lives, and by no other."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from context_service.app import migrations
from contextkeep.client._base import RETRIES
from contextkeep.errors import Unavailable
from service_runtime.auth.derived_keys import end_context_keys_elsewhere, make_context_key
from service_runtime.auth.keys import StoredKeys
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.databases.placement import Databases, WrongDatabase
from service_runtime.databases.schema import SchemaCheck
from service_runtime.postgres import Database, SchemaBehind, Transaction
from service_runtime.postgres import directory as directory_module
from service_runtime.rpc.principal import Principal
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL, Urls
from tests.spread import EAST, Two, two_databases

OURS, THEIRS = PRINCIPAL.tenant_id, OTHER_PRINCIPAL.tenant_id

WRITE = """
INSERT INTO context.request (tenant_id, request_id, rpc, fingerprint, answer)
VALUES (%(tenant_id)s, gen_random_uuid(), 'X', '', '1')
"""
COUNT = "SELECT count(*) AS count FROM context.request"


@pytest.fixture
def two(postgres: EmbeddedPostgres) -> Iterator[Two]:
    with two_databases(postgres) as made:
        yield made


@pytest.fixture
async def spread(two: Two) -> AsyncIterator[Database]:
    async with Database.open(two.home.service, others=two.others, connections_max=3, name="test") as opened:
        yield opened


def rows_of(urls: Urls, tenant_id: uuid.UUID) -> int:
    with psycopg.connect(urls.superuser) as connection:
        (count,) = connection.execute(
            "SELECT count(*) FROM context.request WHERE tenant_id = %s", (tenant_id,)
        ).fetchone()
        return count


def is_now(urls: Urls, state: str, *, until: timedelta | None = None, tenant_id: uuid.UUID = THEIRS) -> None:
    with psycopg.connect(urls.admin) as connection:
        connection.execute(
            "UPDATE access.residence SET state = %s, until = now() + %s::interval WHERE tenant_id = %s",
            (state, until, tenant_id),
        )


async def test_each_tenant_s_rows_are_where_it_lives(spread: Database, two: Two):
    for tenant_id in (OURS, THEIRS):
        await spread.tenant(tenant_id).query(WRITE, {"tenant_id": tenant_id})
        await spread.tenant(tenant_id).transaction(lambda t: t.query(WRITE, {"tenant_id": t.tenant_id}))
        (row,) = await spread.tenant(tenant_id).query(COUNT)
        assert row.count == 2

    assert [rows_of(two.home, OURS), rows_of(two.home, THEIRS)] == [2, 0]
    assert [rows_of(two.east, OURS), rows_of(two.east, THEIRS)] == [0, 2]
    assert [tenant.tenant_id for tenant in await spread.tenants()] == [OURS, THEIRS]


async def test_a_tenant_that_nobody_knows_is_at_home(spread: Database, two: Two):
    stranger = uuid.uuid4()

    await spread.tenant(stranger).query(WRITE, {"tenant_id": stranger})

    assert rows_of(two.home, stranger) == 1


@pytest.mark.parametrize("lived", [directory_module.HOME, EAST])
async def test_an_old_answer_of_the_directory_is_never_served(spread: Database, two: Two, lived: str):
    """Both ways, in a statement and in a transaction; the work of a transaction does not even begin."""
    tenant_id = THEIRS if lived == directory_module.HOME else OURS
    two.databases.place(OURS, "default", directory_module.HOME)
    right, wrong = (two.east, two.home) if tenant_id == THEIRS else (two.home, two.east)
    begun = 0

    async def work(transaction: Transaction) -> None:
        nonlocal begun
        begun += 1
        await transaction.query(WRITE, {"tenant_id": tenant_id})

    for write in (
        lambda: spread.tenant(tenant_id).query(WRITE, {"tenant_id": tenant_id}),
        lambda: spread.tenant(tenant_id).transaction(work),
    ):
        spread._directory.remember(tenant_id, lived)
        await write()

    assert begun == 1
    assert [rows_of(right, tenant_id), rows_of(wrong, tenant_id)] == [2, 0]


@pytest.mark.parametrize("state", ["ARRIVING", "GONE"])
async def test_a_tenant_on_its_way_is_served_nowhere_and_told_to_come_again(spread: Database, two: Two, state: str):
    is_now(two.east, state)

    door = spread.tenant(THEIRS)
    for ask in (lambda: door.query(COUNT), lambda: door.snapshot(lambda t: t.query(COUNT))):
        with pytest.raises(Unavailable) as refused:
            await ask()
        assert refused.value.reason == "TENANT_MOVING"
        assert refused.value.retry_after_s is not None


async def test_a_statement_that_was_to_be_prepared_as_its_tenant_was_refused_works_again(two: Two):
    """Postgres never saw it, and psycopg takes it for prepared: whoever had the connection next would fail."""
    async with Database.open(two.home.service, others=two.others, connections_max=1, name="test") as database:
        for times in range(8):  # psycopg prepares what has run five times; the others have run before by one more
            statement = f"{COUNT} -- {times}"
            for _ in range(times):
                await database.tenant(THEIRS).query(statement)
            is_now(two.east, "GONE")
            with pytest.raises(Unavailable):
                await database.tenant(THEIRS).query(statement)
            is_now(two.east, "HERE")
            (row,) = await database.tenant(THEIRS).query(statement)
            assert row.count == 0


async def test_a_tenant_that_leaves_is_read_and_not_written(spread: Database, two: Two):
    await spread.tenant(THEIRS).query(WRITE, {"tenant_id": THEIRS})
    is_now(two.east, "LEAVING", until=timedelta(minutes=1))

    (row,) = await spread.tenant(THEIRS).query(COUNT)
    assert row.count == 1
    (row,) = await spread.tenant(THEIRS).query(COUNT, ad_hoc=True)
    assert row.count == 1
    for write in (
        lambda: spread.tenant(THEIRS).query(WRITE, {"tenant_id": THEIRS}),
        lambda: spread.of(OTHER_PRINCIPAL).transaction(lambda t: t.query(WRITE, {"tenant_id": THEIRS})),
    ):
        with pytest.raises(Unavailable) as refused:
            await write()
        assert refused.value.retry_after_s is not None
        assert refused.value.retry_after_s * RETRIES >= 5, "a client waits as long as the writes of a big tenant"
    await spread.tenant(OURS).query(WRITE, {"tenant_id": OURS})


async def test_a_tenant_stays_when_whoever_moves_it_is_not_heard_of(spread: Database, two: Two):
    is_now(two.east, "LEAVING", until=timedelta(seconds=-1))

    (row,) = await spread.tenant(THEIRS).snapshot(lambda t: t.query(COUNT))
    assert row.count == 0
    await spread.tenant(THEIRS).query(WRITE, {"tenant_id": THEIRS})

    with psycopg.connect(two.east.admin) as connection:
        assert connection.execute(
            "SELECT state, until FROM access.residence WHERE tenant_id = %s", (THEIRS,)
        ).fetchone() == ("HERE", None)


async def test_a_process_that_is_told_of_no_other_database_refuses_who_lives_in_one(two: Two):
    async with Database.open(two.home.service, connections_max=2, name="alone") as alone:
        await SchemaCheck(alone, migrations()).ready()

        with pytest.raises(Unavailable, match="east"):
            await alone.tenant(THEIRS).query(COUNT)
        await alone.tenant(OURS).query(WRITE, {"tenant_id": OURS})


async def test_a_database_that_is_down_takes_out_its_own_tenants(two: Two):
    nowhere = "postgresql://nobody@127.0.0.1:1/nothing"
    async with Database.open(two.home.service, others={EAST: nowhere}, connections_max=2, name="half") as half:
        await SchemaCheck(half, migrations()).ready()

        async with asyncio.timeout(1):  # and does not wait for it
            with pytest.raises(Unavailable):
                await half.tenant(THEIRS).query(COUNT)
            await half.tenant(OURS).query(WRITE, {"tenant_id": OURS})
            assert [tenant.tenant_id for tenant in await half.tenants(reachable=True)] == [OURS]
            assert len(await half.everywhere("SELECT 1 AS one")) == 1
        assert [tenant.tenant_id for tenant in await half.tenants()] == [OURS, THEIRS]


@pytest.mark.parametrize("is_old", [False, True])
async def test_so_does_one_that_is_another_one_or_not_migrated(two: Two, is_old: bool):
    newer = [*migrations(), replace(migrations()[-1], version=9_999)]
    url = two.east.service if is_old else two.home.service
    async with Database.open(two.home.service, others={EAST: url}, connections_max=2, name="half") as half:
        with suppress(SchemaBehind):  # of home, which is as old
            await SchemaCheck(half, newer if is_old else migrations()).ready()

        assert half.away == (EAST,)
        with pytest.raises(Unavailable):
            await half.tenant(THEIRS).query(COUNT)
        assert [tenant.tenant_id for tenant in await half.tenants(reachable=True)] == [OURS]
        await SchemaCheck(half, migrations()).ready()
        assert half.away == (() if is_old else (EAST,))


async def test_the_home_database_being_away_keeps_no_known_tenant_out(
    spread: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(directory_module, "REMEMBERED_S", 0.0)
    await spread.tenant(THEIRS).query(COUNT)

    async def away(*_: object, **__: object) -> None:
        raise Unavailable("away")

    monkeypatch.setattr(spread._home, "untenanted", away)
    await spread.tenant(THEIRS).query(COUNT)
    with pytest.raises(Unavailable):
        await spread.tenant(uuid.uuid4()).query(COUNT)


async def test_keys_of_contexts_are_at_home_wherever_the_tenant_lives(spread: Database, two: Two):
    context_id = uuid.uuid4()
    principal = Principal(tenant_id=THEIRS, subject="s", scopes=frozenset({"read"}))

    async def issue(transaction: Transaction) -> str:
        made = await make_context_key(transaction, principal, context_id, scopes=(), lifetime=timedelta(minutes=5))
        return made.key

    key = await spread.of(principal, context_id=context_id).transaction(issue)
    found = await StoredKeys(spread).find(key)
    assert found is not None
    assert (found.tenant_id, found.context_id) == (THEIRS, context_id)

    assert await end_context_keys_elsewhere(spread.tenant(THEIRS), context_id) == 1
    assert await StoredKeys(spread).find(key) is None


def test_a_database_is_taken_for_no_other_one(two: Two):
    databases = two.databases
    databases.claim(EAST)  # again
    with pytest.raises(WrongDatabase, match="known as east"):
        Databases(two.home.admin, {"west": two.east.admin}).claim("west")
    with pytest.raises(WrongDatabase, match="home database"):
        Databases(two.home.admin, {"west": two.home.admin}).claim("west")
    with pytest.raises(WrongDatabase, match="no database"):
        databases.url_of("west")


def test_a_database_with_keys_of_its_own_is_not_claimed(two: Two, urls: Urls):
    with pytest.raises(WrongDatabase, match="of its own"):
        Databases(two.home.admin, {"west": urls.admin}).claim("west")
