"""Baselines: databases of the series that they replace are carried over or refused, and never served by mistake."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

import context_service.app
import entity_service.app
from service_runtime.databases.embedded_postgres import SERVICE_ROLE, EmbeddedPostgres
from service_runtime.databases.migrate import Migration, MigrationFailed, migrate, require_applied
from service_runtime.databases.schema import SchemaCheck
from service_runtime.postgres import Database, SchemaBehind
from tests.conftest import Urls
from tests.migrations.schema import dump

BASELINES = {
    migration.schema: migration
    for migration in (*entity_service.app.migrations(), *context_service.app.migrations())
    if migration.version == 1
}

# A series of two schemas, of which `shared` comes first, and the baselines that replace it.
TABLE = {"shared": "CREATE TABLE shared.thing (id integer, name text);\n", "own": "CREATE TABLE own.thing ();\n"}
SERIES = {
    schema: [
        Migration(schema=schema, version=number, name=f"{number:04}_{schema}.sql", text=text)
        for number, text in enumerate(texts, 1)
    ]
    for schema, texts in {
        "shared": ["CREATE TABLE shared.thing (id integer)", "ALTER TABLE shared.thing ADD COLUMN name text"],
        "own": ["SELECT 1", "CREATE TABLE own.thing ()", "SELECT 3"],
    }.items()
}
NEW = "CREATE FUNCTION shared.new() RETURNS integer LANGUAGE sql RETURN 1;\n"
SHARED, OWN = (
    Migration(
        schema=schema,
        version=1,
        name=f"0001_{schema}.sql",
        text=f"-- Things.\n{new}-- replaces the migrations of commit 1234abcd: shared 2, own 3\n"
        f"-- sha256 of the first: {SERIES[schema][0].sha256}\n"
        "-- sha256 of all: "
        + hashlib.sha256("".join(f"{m.version} {m.sha256}\n" for m in SERIES[schema]).encode()).hexdigest()
        + f"\n\n{TABLE[schema]}",
    )
    for schema, new in (("shared", NEW), ("own", ""))
)


def run(urls: Urls, *migrations: Migration) -> list[str]:
    return [migration.name for migration in migrate(urls.admin, list(migrations), service_role=SERVICE_ROLE)]


def rows(urls: Urls, schema: str) -> list[Any]:
    with psycopg.connect(urls.admin) as connection:
        return connection.execute(
            f"SELECT version, sha256 FROM {schema}.migration ORDER BY version".encode()
        ).fetchall()


def functions(urls: Urls) -> list[Any]:
    with psycopg.connect(urls.admin) as connection:
        return connection.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace::regnamespace::text = 'shared'"
        ).fetchall()


def test_a_new_database_gets_the_whole_baseline(urls: Urls):
    assert run(urls, SHARED, OWN) == ["0001_shared.sql", "0001_own.sql"]

    assert run(urls, SHARED, OWN) == []
    assert rows(urls, "own") == [(1, OWN.sha256)]


def test_a_database_with_the_whole_series_is_carried_over(urls: Urls):
    run(urls, *SERIES["shared"], *SERIES["own"])
    with pytest.raises(MigrationFailed, match=r"not applied yet: shared 0001_shared.sql, own 0001_own.sql"):
        require_applied(urls.admin, [SHARED, OWN])
    with psycopg.connect(urls.admin) as connection:
        connection.execute("INSERT INTO shared.thing VALUES (1, 'kept')")

    assert run(urls, SHARED) == ["0001_shared.sql"]  # as one service does, and then the other
    assert run(urls, SHARED, OWN) == ["0001_own.sql"]

    assert run(urls, SHARED, OWN) == []
    require_applied(urls.admin, [SHARED, OWN])
    assert rows(urls, "shared") == [(1, SHARED.sha256)]
    assert functions(urls) == [("new",)]
    with psycopg.connect(urls.admin) as connection:
        assert connection.execute("SELECT name FROM shared.thing").fetchall() == [("kept",)]


def test_migrations_after_the_baseline_follow_at_once(urls: Urls):
    run(urls, *SERIES["shared"])
    second = Migration(
        schema="shared", version=2, name="0002_shared.sql", text="ALTER TABLE shared.thing ADD later text"
    )

    assert run(urls, SHARED, second) == ["0001_shared.sql", "0002_shared.sql"]


@pytest.mark.parametrize("count", [1, 2])
def test_a_part_of_the_series_is_refused_with_what_to_do(urls: Urls, count: int):
    run(urls, *SERIES["shared"], *SERIES["own"][:count])
    before = rows(urls, "shared"), rows(urls, "own")

    with pytest.raises(
        MigrationFailed,
        match=f"own is at migration {count} of the 3 .* run `migrate` of both services of commit 1234abcd",
    ):
        run(urls, SHARED)  # it would keep the other schema from the end of its series
    with pytest.raises(MigrationFailed, match="commit 1234abcd"):
        run(urls, SHARED, OWN)
    with pytest.raises(
        MigrationFailed, match=f"own is at 000{count}_own.sql, migration {count} of the 3 that 0001_own.sql"
    ):
        require_applied(urls.admin, [SHARED, OWN])

    assert (rows(urls, "shared"), rows(urls, "own")) == before
    assert functions(urls) == []
    run(urls, *SERIES["own"])  # what it says to do
    assert run(urls, SHARED, OWN) == ["0001_shared.sql", "0001_own.sql"]


def test_a_series_with_more_or_other_migrations_is_refused(urls: Urls):
    more = replace(SERIES["own"][2], version=4, name="0004_own.sql")
    run(urls, *SERIES["own"], more)
    with pytest.raises(MigrationFailed, match="migration 4 of the 3"):
        run(urls, OWN)

    with psycopg.connect(urls.admin) as connection:
        connection.execute("UPDATE own.migration SET sha256 = 'other' WHERE version = 3")
        connection.execute("DELETE FROM own.migration WHERE version = 4")
    with pytest.raises(MigrationFailed, match="migration 3 of the 3"):
        run(urls, OWN)


def test_a_baseline_that_was_changed_after_it_was_applied_is_refused(urls: Urls):
    run(urls, OWN)

    with pytest.raises(MigrationFailed, match="changed after it was applied"):
        run(urls, replace(OWN, text=OWN.text + "-- more"))


@contextmanager
def broken(urls: Urls) -> Iterator[None]:
    """Let the carry-over fail at its last statement."""
    with psycopg.connect(urls.admin, autocommit=True) as connection:
        check = f"ALTER TABLE shared.migration ADD CONSTRAINT no CHECK (sha256 <> '{SHARED.sha256}')"
        connection.execute(check.encode())
        yield
        connection.execute("ALTER TABLE shared.migration DROP CONSTRAINT no")


def test_a_carry_over_that_fails_leaves_the_series_as_it_was(urls: Urls):
    run(urls, *SERIES["shared"])
    before = rows(urls, "shared")

    with broken(urls), pytest.raises(MigrationFailed, match=r"0001_shared.sql of shared failed"):
        run(urls, SHARED)

    assert (rows(urls, "shared"), functions(urls)) == (before, [])
    assert run(urls, SHARED) == ["0001_shared.sql"]


async def test_a_service_is_not_ready_on_a_database_of_the_series_whatever_its_number(urls: Urls):
    """The series had higher numbers than the baseline: numbers alone would pass."""
    run(urls, *SERIES["own"])
    with psycopg.connect(urls.admin) as connection:
        connection.execute(f"GRANT USAGE ON SCHEMA own TO {SERVICE_ROLE}".encode())
    async with Database.open(urls.service, connections_max=1, name="check") as opened:
        check = SchemaCheck(opened, [OWN])
        with pytest.raises(SchemaBehind, match=r"0001_own.sql of own is not applied: run `migrate`"):
            await check.ready()

        run(urls, OWN)
        await check.ready()

        run(urls, OWN, replace(OWN, version=2, name="0002_later.sql", text="SELECT 2"))  # of a newer version
        await check.ready()


def test_our_baselines_say_what_they_replace(postgres: EmbeddedPostgres, urls: Urls):
    """The text above the three lines makes everything that a database of the series lacks."""
    whole = dump(postgres, urls.admin)
    with psycopg.connect(urls.admin) as connection:
        connection.execute("DROP FUNCTION access.policy, access.policy_kinds, access.policy_view")
        for schema, baseline in BASELINES.items():
            replaced = baseline.replaced()
            assert replaced is not None
            assert list(replaced.counts) == ["access", "context", "entity"]
            connection.execute(f"DELETE FROM {schema}.migration".encode())
            connection.execute(replaced.missing.encode())
            connection.execute(
                f"INSERT INTO {schema}.migration (version, name, sha256) VALUES (1, %s, %s)".encode(),
                (baseline.name, baseline.sha256),
            )

    assert dump(postgres, urls.admin) == whole
