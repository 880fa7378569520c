"""Operators and two databases: all is done where each tenant lives, and a database that is down is named."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import psycopg
import pytest

from context_service.app import migrations
from context_service.operations.rules.tenants import StoredTenant, Tenants
from context_service.operations.rules.work import Work
from contextkeep.errors import PermissionDenied, TenantNotFound, Unavailable
from service_runtime.auth.keys import KeyAdministration, NewKey, StoredKeys
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.databases.schema import SchemaCheck
from service_runtime.inputs.pages import PageRequest
from service_runtime.postgres import HOME, Database, Tenant
from service_runtime.rpc.principal import Principal
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL, Urls
from tests.spread import EAST, Two, two_databases

OURS, THEIRS = PRINCIPAL.tenant_id, OTHER_PRINCIPAL.tenant_id
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"

OWES = """
INSERT INTO context.outbox (tenant_id, id, topic, subject_id, attempts, last_error, due_at)
SELECT %s, gen_random_uuid(), 'index', gen_random_uuid(), 7, 'it is away', now() + interval '1 h'
"""
STORES = "INSERT INTO context.tenant_usage (tenant_id, shard, records, size_bytes) VALUES (%s, 0, %s, %s)"
STATE = "UPDATE access.residence SET state = %s, until = now() + %s::interval WHERE tenant_id = %s"


@pytest.fixture(scope="module")
def two(postgres: EmbeddedPostgres) -> Iterator[Two]:
    """Both with something owed of each tenant: what the other one has left behind at home counts nowhere."""
    with two_databases(postgres) as made:
        run(made.home, OWES, OURS)
        run(made.home, OWES, THEIRS)
        run(made.east, OWES, THEIRS)
        run(made.home, STORES, OURS, 1, 10)
        run(made.home, STORES, THEIRS, 9, 90)
        run(made.east, STORES, THEIRS, 2, 20)
        yield made


@pytest.fixture
async def spread(two: Two) -> AsyncIterator[Database]:
    async with Database.open(two.home.service, others=two.others, connections_max=3, name="test") as opened:
        yield opened


@pytest.fixture
async def half(two: Two) -> AsyncIterator[Database]:
    """Of which the other database is down."""
    async with Database.open(two.home.service, others={EAST: NOWHERE}, connections_max=3, name="half") as opened:
        await SchemaCheck(opened, migrations()).ready()
        yield opened


@pytest.fixture
async def operator(spread: Database, two: Two) -> Principal:
    return await made(spread, two, ("admin", "operator"))


async def made(database: Database, two: Two, scopes: tuple[str, ...]) -> Principal:
    key = KeyAdministration(two.home.admin).create(NewKey(tenant="default", subject="o", scopes=scopes))
    found = await StoredKeys(database).find(key)
    assert found is not None
    return found


def run(urls: Urls, statement: str, *parameters: object) -> list[tuple]:
    with psycopg.connect(urls.superuser) as connection:
        cursor = connection.execute(statement.encode(), parameters)
        return cursor.fetchall() if cursor.description else []


async def listed(database: Database, operator: Principal) -> list[StoredTenant]:
    """Return all, one a page."""
    found, token = [], ""
    while True:
        page, token = await Tenants(database).page(PageRequest(size=1, token=token), principal=operator)
        found += page
        if not token:
            return found


async def test_tenants_of_all_databases_are_listed_in_one_order_with_what_they_store_where_they_live(
    spread: Database, operator: Principal
):
    assert [
        (one.name, one.database, one.is_away, one.records, one.size_bytes) for one in await listed(spread, operator)
    ] == [
        ("default", HOME, False, 1, 10),
        ("other", EAST, False, 2, 20),
    ]


async def test_limits_are_set_where_the_tenant_lives(spread: Database, two: Two, operator: Principal):
    limits = {"records_max": 5, "bytes_max": None}
    for name, tenant_id, there, elsewhere in (
        ("default", OURS, two.home, two.east),
        ("other", THEIRS, two.east, two.home),
    ):
        changed = await Tenants(spread).set_limits(name, limits, principal=operator)
        assert (changed.id, changed.records_max, changed.bytes_max) == (tenant_id, 5, None)
        count = "SELECT count(*) FROM context.tenant_limit WHERE tenant_id = %s AND records_max = 5"
        assert [run(there, count, tenant_id), run(elsewhere, count, tenant_id)] == [[(1,)], [(0,)]]
    with pytest.raises(TenantNotFound):
        await Tenants(spread).set_limits("nobody", limits, principal=operator)


async def test_a_tenant_that_leaves_gets_no_limits_that_would_stay_behind(
    spread: Database, two: Two, operator: Principal
):
    run(two.east, STATE, "LEAVING", "1 min", THEIRS)
    try:
        with pytest.raises(Unavailable) as refused:
            await Tenants(spread).set_limits("other", {"records_max": 77}, principal=operator)
        assert refused.value.retry_after_s is not None
        run(two.east, STATE, "GONE", None, THEIRS)
        with pytest.raises(Unavailable) as refused:
            await Tenants(spread).set_limits("other", {"records_max": 77}, principal=operator)
        assert refused.value.reason == "TENANT_MOVING"
        assert [one.is_away for one in await listed(spread, operator)] == [False, True]
    finally:
        run(two.east, STATE, "HERE", None, THEIRS)
    for urls in (two.home, two.east):
        assert run(urls, "SELECT count(*) FROM context.tenant_limit WHERE records_max = 77") == [(0,)]


async def test_one_that_has_moved_behind_the_list_is_looked_for_again(
    spread: Database, two: Two, operator: Principal, monkeypatch: pytest.MonkeyPatch
):
    looked = []
    untenanted = spread.untenanted

    async def first_old(sql, parameters=(), **how):
        rows = await untenanted(sql, parameters, **how)
        looked.append(sql)
        return [row._replace(database=HOME) for row in rows] if len(looked) == 1 else rows

    monkeypatch.setattr(spread, "untenanted", first_old)
    found, _ = await Tenants(spread).page(PageRequest(size=0, token=""), principal=operator)
    assert [(one.database, one.records) for one in found] == [(HOME, 1), (EAST, 2)]
    assert len(looked) == 2


async def test_what_is_owed_is_told_of_each_database_and_tried_again_in_all(
    spread: Database, two: Two, operator: Principal
):
    work = Work(spread)
    owed = await work.queued_work(principal=operator)
    assert [(one.kind, one.database, one.owed, one.failed) for one in owed.work] == [
        ("index", HOME, 1, 1),
        ("index", EAST, 1, 1),
    ]
    assert owed.databases_away == []
    assert (await work.retry("index", principal=operator)).count == 2
    attempts = "SELECT tenant_id, attempts FROM context.outbox ORDER BY tenant_id"
    assert run(two.home, attempts) == [(OURS, 0), (THEIRS, 7)]
    assert run(two.east, attempts) == [(THEIRS, 0)]


async def test_a_database_that_is_down_is_named_and_takes_out_nobody_else(half: Database, operator: Principal):
    found = await listed(half, operator)
    assert [(one.name, one.database, one.is_away, one.records) for one in found] == [
        ("default", HOME, False, 1),
        ("other", EAST, True, 0),
    ]
    owed = await Work(half).queued_work(principal=operator)
    assert ([one.database for one in owed.work], owed.databases_away) == ([HOME], [EAST])
    retried = await Work(half).retry("index", principal=operator)
    assert retried.databases_away == [EAST]
    await Tenants(half).set_limits("default", {"records_max": None}, principal=operator)
    with pytest.raises(Unavailable):
        await Tenants(half).set_limits("other", {"records_max": None}, principal=operator)


async def test_another_database_does_nothing_for_whom_the_home_refuses(spread: Database, two: Two, operator: Principal):
    """Whatever the service believes of them; and nothing for a transaction that says no key, or another one."""
    without = replace(await made(spread, two, ("read", "admin")), scopes=operator.scopes)
    tenants, work = Tenants(spread), Work(spread)
    for call in (
        tenants.page(PageRequest(size=0, token=""), principal=without),
        tenants.set_limits("other", {"records_max": 88}, principal=without),
        work.queued_work(principal=without),
        work.retry("index", principal=without),
    ):
        with pytest.raises(PermissionDenied):
            await call
    door = spread._pools[EAST].connection
    asked = "SELECT * FROM context.owed_work(%(key)s)"
    for said in ("", str(without.key_id)):
        with pytest.raises(PermissionDenied):
            await Tenant(door, OURS, operator=said).query(asked, {"key": operator.key_id})
    with pytest.raises(PermissionDenied):
        await Tenant(door, OURS).query(asked, {"key": None})
    assert run(two.east, "SELECT count(*) FROM context.tenant_limit WHERE records_max = 88") == [(0,)]
