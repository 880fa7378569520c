"""Migrations: applied once, in order, by one process at a time; and the schemas that they make."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time

import psycopg
import pytest

import context_service.app
import entity_service.app
from service_runtime.databases.embedded_postgres import SERVICE_ROLE
from service_runtime.databases.migrate import Migration, MigrationFailed, migrate
from tests.conftest import Urls

EVERYTHING = [*entity_service.app.migrations(), *context_service.app.migrations()]
# And each schema's `migration`. The services' role cannot read what is a context's key.
TENANT_FREE = {
    "access.api_key",
    "access.context_key",
    "access.move",
    "access.residence",
    "access.tenant",
    "access.this_database",
    "context.mapping_revision",
}


def one(version: int, text: str) -> Migration:
    return Migration(schema="extra", version=version, name=f"{version:04}_extra.sql", text=text)


def test_migrating_again_does_nothing(urls: Urls):
    assert migrate(urls.admin, EVERYTHING, service_role=SERVICE_ROLE) == []


def test_a_migration_that_was_changed_after_it_was_applied_is_refused(urls: Urls):
    migrate(urls.admin, [one(1, "SELECT 1")], service_role=SERVICE_ROLE)

    with pytest.raises(MigrationFailed, match="changed after it was applied"):
        migrate(urls.admin, [one(1, "SELECT 2")], service_role=SERVICE_ROLE)


def test_a_failed_migration_leaves_nothing_and_can_be_mended(urls: Urls):
    with pytest.raises(MigrationFailed, match="no_such_table"):
        migrate(
            urls.admin,
            [one(1, "CREATE TABLE extra.half (); SELECT FROM no_such_table")],
            service_role=SERVICE_ROLE,
        )

    assert len(migrate(urls.admin, [one(1, "CREATE TABLE extra.half ()")], service_role=SERVICE_ROLE)) == 1


def test_an_index_can_be_made_concurrently(urls: Urls):
    text = "-- no transaction\nCREATE INDEX CONCURRENTLY extra_index ON entity.node (tenant_id, modified_at)"

    assert len(migrate(urls.admin, [one(1, text)], service_role=SERVICE_ROLE)) == 1


INDEX = """\
-- no transaction
DROP INDEX CONCURRENTLY IF EXISTS entity.extra_index;
CREATE INDEX CONCURRENTLY extra_index ON entity.node (tenant_id, modified_at);
"""
MIGRATE = """
import sys
from service_runtime.databases.migrate import Migration, migrate

migrate(
    sys.argv[1],
    [Migration(schema="extra", version=1, name="0001_extra.sql", text=sys.argv[2])],
    service_role="contextkeep_service",
)
"""


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        (INDEX, "SELECT count(*) > 0 FROM pg_index WHERE NOT indisvalid"),
        (
            "CREATE TABLE extra.half (); LOCK TABLE entity.node; CREATE TABLE extra.other_half ()",
            "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        ),
    ],
    ids=["without a transaction", "in a transaction"],
)
def test_a_killed_migration_is_run_again(urls: Urls, text: str, begun: str):
    """Somebody writes to the table all the time, so the migration waits in the middle; there it is killed."""
    with (
        psycopg.connect(urls.superuser) as writing,
        psycopg.connect(urls.superuser, autocommit=True) as watching,
        subprocess.Popen([sys.executable, "-c", MIGRATE, urls.admin, text]) as migrating,
    ):
        writing.execute("LOCK TABLE entity.node IN ROW EXCLUSIVE MODE")
        while watching.execute(begun).fetchone() != (True,):
            assert migrating.poll() is None
            time.sleep(0.01)
        migrating.kill()
        while watching.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted").fetchone() != (
            0,
        ):
            time.sleep(0.01)  # Postgres notices within a second, though the table is still busy
        writing.rollback()

        assert len(migrate(urls.admin, [one(1, text)], service_role=SERVICE_ROLE)) == 1

        assert watching.execute("SELECT count(*) FROM pg_index WHERE NOT indisvalid").fetchone() == (0,)


def test_statements_without_a_transaction_can_be_repeated():
    """A kill between the last of them and the row that says so would else block every later migration."""
    for migration in EVERYTHING:
        if migration.text.startswith("-- no transaction"):
            for statement in migration.text.split(";\n"):
                # An update sets again what it has set.
                repeatable = "EXISTS" in statement or re.search("^UPDATE ", statement, re.MULTILINE)
                assert not statement.strip() or repeatable, migration.name


def test_replicas_that_migrate_at_once_apply_each_file_once(urls: Urls):
    migrations = [one(version, f"CREATE TABLE extra.table_{version} ()") for version in range(1, 6)]
    applied: list[Migration] = []

    def replica() -> None:
        applied.extend(migrate(urls.admin, migrations, service_role=SERVICE_ROLE))

    threads = [threading.Thread(target=replica) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(migration.version for migration in applied) == [1, 2, 3, 4, 5]


def test_the_service_role_owns_nothing_and_cannot_change_the_action_log(urls: Urls):
    with psycopg.connect(urls.service, autocommit=True) as connection:
        (owned,) = connection.execute("SELECT count(*) FROM pg_tables WHERE tableowner = current_user").fetchone()
        assert owned == 0
        for statement in ("UPDATE context.action SET kind = 'updated'", "DELETE FROM context.action"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


def test_every_table_with_a_tenant_has_a_policy_and_leads_its_keys_with_it(urls: Urls):
    with psycopg.connect(urls.superuser, autocommit=True) as connection:
        tables = connection.execute(
            """
            SELECT n.nspname || '.' || c.relname, c.relrowsecurity,
                EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind = 'r' AND n.nspname IN ('access', 'context', 'entity') AND c.relname <> 'migration'
            """
        ).fetchall()
        unprotected = {name for name, secured, policy in tables if not (secured and policy)}
        assert unprotected == TENANT_FREE

        indexes = connection.execute(
            """
            SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid, 1, true) FROM pg_index
            JOIN pg_class c ON c.oid = indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname IN ('context', 'entity') AND c.relname NOT IN ('migration', 'mapping_revision')
            """
        ).fetchall()
        # Inverted indexes take no uuid without an extension: what they find is filtered, or the tenant or the
        # scope is in each number.
        assert {name for name, first in indexes if first != "tenant_id"} == {
            "context.memory_taught_by",
            "context.passage_terms",
            "context.wm_record_metadata",
            "context.wm_record_terms",
            "entity.node_data",
        }
