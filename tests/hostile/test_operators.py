"""Operators: what is done for all tenants is done for keys that live and have the scope, whatever the role asks for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from context_service.operations.rules.jobs import Jobs
from context_service.operations.rules.operators import check_operator
from context_service.operations.rules.tenants import Tenants
from context_service.operations.rules.work import Work
from contextkeep.errors import InvalidArgument, JobNotFound, JobRunning, PermissionDenied
from service_runtime.auth import keys
from service_runtime.auth.derived_keys import DerivedKeys
from service_runtime.auth.keys import KeyAdministration, NewKey, StoredKeys
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.inputs.pages import PageRequest
from service_runtime.postgres import Database
from service_runtime.rpc.principal import Principal
from tests.conftest import Urls, cloned

OPERATOR = NewKey(tenant="default", subject="operator", scopes=("admin", "operator"))
FIRST = PageRequest(size=0, token="")


@pytest.fixture(scope="module")
def urls(postgres: EmbeddedPostgres) -> Iterator[Urls]:
    with cloned(postgres) as made:
        yield made


@pytest.fixture
async def database(urls: Urls) -> AsyncIterator[Database]:
    async with Database.open(urls.service, connections_max=2, name="operators") as opened:
        yield opened


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is remembered."""
    monkeypatch.setattr(keys, "CACHE_S", -1.0)


@pytest.fixture
async def operator(database: Database, urls: Urls) -> Principal:
    found = await StoredKeys(database).find(KeyAdministration(urls.admin).create(OPERATOR))
    assert found is not None
    return found


async def test_no_key_gives_on_what_only_the_command_line_gives(database: Database, operator: Principal):
    asked = replace(OPERATOR, scopes=("operator",))
    with pytest.raises(InvalidArgument):
        await DerivedKeys(database).make(operator, asked)
    asking = {"asking_id": operator.key_id, "subject": "x", "scopes": ["operator"]}
    with pytest.raises(PermissionDenied):  # as the role may ask by itself, too
        await database.of(operator).query(
            "SELECT access.make_key(%(asking_id)s, gen_random_uuid(), '\\x00', 'p', %(subject)s, %(scopes)s::text[],"
            " '', '', '{}', '', '{}', NULL)",
            asking,
        )


@pytest.mark.parametrize("more", [{"user_id": "ada"}, {"app_ids": ("crm",)}, {"graph_names": ("sales",)}])
def test_an_operators_key_is_bound_to_nothing(urls: Urls, more: dict[str, object]):
    with pytest.raises(InvalidArgument):
        KeyAdministration(urls.admin).create(replace(OPERATOR, **more))


async def test_who_is_no_operator_is_refused_by_the_database(database: Database, urls: Urls, operator: Principal):
    administration = KeyAdministration(urls.admin)
    without = await StoredKeys(database).find(administration.create(replace(OPERATOR, scopes=("read", "admin"))))
    over = await StoredKeys(database).find(administration.create(replace(OPERATOR, lifetime=timedelta(seconds=0.05))))
    assert without is not None
    assert over is not None
    await database.untenanted("SELECT pg_sleep(0.1) IS NULL AS slept")
    jobs = Jobs(database, {})
    # Whatever the service believes of them.
    for asking in (replace(without, scopes=operator.scopes), over, replace(operator, key_id=None)):
        for call in (
            check_operator(database, asking),
            Tenants(database).page(FIRST, principal=asking),
            Tenants(database).set_limits("default", {"records_max": 0}, principal=asking),
            Work(database).queued_work(principal=asking),
            Work(database).retry("index", principal=asking),
            jobs.start("SWEEP", {}, principal=asking),
            jobs.page(FIRST, principal=asking),
        ):
            with pytest.raises(PermissionDenied):
                await call
    with psycopg.connect(urls.superuser) as connection:
        for table in ("context.tenant_limit", "context.job"):
            assert connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (0,)


async def test_what_failed_is_tried_again_and_what_did_not_is_left_alone(
    database: Database, urls: Urls, operator: Principal
):
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO context.outbox (tenant_id, id, topic, subject_id, attempts, last_error, due_at)"
            " SELECT gen_random_uuid(), gen_random_uuid(), 'index', gen_random_uuid(), 7, error, now() + interval '1 h'"
            " FROM unnest(ARRAY['it is away', '']) AS error"
        )
        work = Work(database)
        (owed,) = [one for one in (await work.queued_work(principal=operator)).work if one.kind == "index"]
        assert (owed.owed, owed.failed, owed.last_error) == (2, 1, "it is away")
        assert (await work.retry("index", principal=operator)).count == 1
        rows = connection.execute("SELECT attempts, due_at <= now(), last_error FROM context.outbox ORDER BY 1")
        assert rows.fetchall() == [(0, True, "it is away"), (7, False, "")]


async def test_a_job_says_how_far_it_is_and_one_whose_process_ends_is_lost(
    database: Database, urls: Urls, operator: Principal, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("context_service.operations.rules.jobs.TOLD_S", 0.01)
    go_on = asyncio.Event()

    async def slow(options, tell):
        tell({"done": 1})
        await go_on.wait()
        return {"done": 2}

    async def broken(options, tell):
        raise RuntimeError("a secret of the inside")

    jobs = Jobs(database, {"SWEEP": slow, "FSCK": broken})
    options = {"quick": False, "repair": False}
    async with jobs.running():
        started = await jobs.start("SWEEP", options, principal=operator)
        with pytest.raises(JobRunning) as running:
            await jobs.start("SWEEP", options, principal=operator)
        assert running.value.metadata["job_id"] == str(started.id)
        while (read := await jobs.get(started.id, principal=operator)).progress != {"done": 1}:
            assert read.state == "RUNNING"
        failing = await jobs.start("FSCK", options, principal=operator)
        while (failed := await jobs.get(failing.id, principal=operator)).state == "RUNNING":
            pass
        assert (failed.state, failed.error) == ("FAILED", "unexpected error: see the log of the service")
        go_on.set()
        while (read := await jobs.get(started.id, principal=operator)).state == "RUNNING":
            pass
        assert (read.state, read.progress) == ("DONE", {"done": 2})
        go_on.clear()
        left = await jobs.start("SWEEP", options, principal=operator)
    monkeypatch.setattr("context_service.operations.rules.jobs.SILENT_S", 0.0)
    assert (await jobs.get(left.id, principal=operator)).state == "LOST"
    with pytest.raises(JobNotFound):
        await jobs.get(operator.tenant_id, principal=operator)
