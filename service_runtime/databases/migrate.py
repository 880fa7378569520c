"""Migrations: numbered SQL files, applied once each, in order, by one process at a time.

A schema's files are `NNNN_what.sql`. Each file is applied in a transaction of its own: a migration that was killed
changed nothing, and is run again. A file whose first line is `-- no transaction` is applied without one, so that
`CREATE INDEX CONCURRENTLY` can run. Then each statement, up to a semicolon at the end of a line, is committed by itself
and must do no harm when it is repeated. Such a file begins with `DROP INDEX CONCURRENTLY IF EXISTS`, to remove an index
that a kill left half-built.

Each applied migration is a row of `<schema>.migration` with the file's checksum: a file that was edited afterwards is
an error. Replicas that start at the same time wait for each other on an advisory lock. Each tries it in a loop, and the
session holds it outside of any transaction.

The first file of a schema may be a baseline: it replaces an earlier series of migrations, and says so in three lines
(`_BASELINE`). A database that has the whole series, which the checksums of its rows show, is carried over: the text
above those lines is applied, and one row for the baseline replaces the rows of the series, in one transaction. A
database that has only a part of the series is refused.

`:"service_role"` is the role of the services, in psql's notation, so that psql can run the files too.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import errors as pg
from psycopg import sql

from contextkeep.errors import FailedPrecondition
from service_runtime.postgres.administration import administering

LOCK_TIMEOUT_S = 60.0
_LOCK_POLL_S = 0.05
_LOCK_KEY = 0x636F6E74657874  # "context"; one lock for all schemas, since one of them is shared
_FILE_NAME = re.compile(r"(\d{4})_\w+\.sql")
_NO_TRANSACTION = "-- no transaction"
_END_OF_STATEMENT = re.compile(r";\s*\n(?=.)", re.DOTALL)
_BASELINE = re.compile(
    r"^-- replaces the migrations of commit (?P<commit>\w+): (?P<counts>\w+ \d+(?:, \w+ \d+)*)\n"
    r"-- sha256 of the first: (?P<first>[0-9a-f]{64})\n"
    r"-- sha256 of all: (?P<all>[0-9a-f]{64})$",
    re.MULTILINE,
)


class MigrationFailed(FailedPrecondition):
    """A migration cannot be applied, or an applied one differs from its file."""

    reason = "MIGRATION_FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One migration file of a schema."""

    schema: str
    version: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        """Checksum of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def replaced(self) -> Replaced | None:
        """Return the series that this file replaces if it is a baseline, or None if it is not."""
        if self.version != 1 or (match := _BASELINE.search(self.text)) is None:
            return None
        counts = (pair.split() for pair in match["counts"].split(", "))
        return Replaced(
            commit=match["commit"],
            counts={schema: int(count) for schema, count in counts},
            first_sha256=match["first"],
            sha256=match["all"],
            missing=self.text[: match.start()],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """The series of migrations that a baseline replaces."""

    commit: str  # the last commit with the series: its `migrate` brings a database to the end of the series
    counts: dict[str, int]  # number of migrations in the series, by schema
    first_sha256: str  # checksum of the first migration: it tells the series from the baseline, also number 1
    sha256: str  # checksum of the whole series: of one line `version sha256` for each migration
    missing: str  # the SQL that a database with the whole series still lacks


def load(schema: str, folder: Path) -> list[Migration]:
    """Return the migrations of a folder, oldest first.

    Raises:
        MigrationFailed: the numbers have a gap or repeat.
    """
    migrations = [
        Migration(schema=schema, version=int(match[1]), name=path.name, text=path.read_text("utf-8"))
        for path in sorted(folder.glob("*.sql"))
        if (match := _FILE_NAME.fullmatch(path.name))
    ]
    if [migration.version for migration in migrations] != list(range(1, len(migrations) + 1)):
        raise MigrationFailed(f"the migrations of {schema} are not numbered 1, 2, 3, ...")
    return migrations


def access_migrations() -> list[Migration]:
    """Return the migrations of the schema that both services share. Apply them before those of a service."""
    return load("access", Path(__file__).parents[1] / "migrations")


def migrate(admin_url: str, migrations: list[Migration], *, service_role: str) -> list[Migration]:
    """Apply the missing migrations, and return them.

    Args:
        admin_url: URL of the role that owns the tables.
        migrations: Migrations of one or more schemas; those of each schema in order.
        service_role: The services' role; it gets the grants that it needs and owns nothing.

    Raises:
        MigrationFailed: a file was changed after it was applied, its SQL failed, the database has only a part of the
            series that a baseline replaces, or another process kept the lock.
        CannotAdminister: Postgres does not answer, or the role may not make tables.
    """
    applied_now = []
    with administering(admin_url, autocommit=True) as connection, _lock(connection):
        # Otherwise Postgres would finish the statement of a killed migration, and keep the lock for as long.
        connection.execute("SET client_connection_check_interval = '1s'")
        for schema in dict.fromkeys(migration.schema for migration in migrations):
            _make_table(connection, schema)
        for migration in migrations:
            if _carry_over(connection, migration, service_role):
                applied_now.append(migration)
                continue
            if _is_applied(connection, migration):
                continue
            _run(connection, migration, migration.text, service_role)
            applied_now.append(migration)
        for schema in dict.fromkeys(migration.schema for migration in migrations):
            _let_read_version(connection, schema, service_role)
    return applied_now


def require_applied(admin_url: str, migrations: list[Migration]) -> None:
    """Check that `migrate` would have nothing to do.

    Raises:
        MigrationFailed: there are migrations to apply, a file was changed after it was applied, or the database has the
            series that a baseline replaces.
        CannotAdminister: Postgres does not answer, or it does not let this role in.
    """
    with administering(admin_url, autocommit=True) as connection:
        there = {
            schema
            for schema in {migration.schema for migration in migrations}
            if _scalar(connection, "SELECT to_regclass(%s)", f"{schema}.migration") is not None
        }
        missing = [
            migration
            for migration in migrations
            if migration.schema not in there
            or _has_whole_series(connection, migration)
            or not _is_applied(connection, migration)
        ]
    if missing:
        names = ", ".join(f"{migration.schema} {migration.name}" for migration in missing)
        raise MigrationFailed(f"not applied yet: {names}; run `migrate`")


@contextmanager
def _lock(connection: psycopg.Connection) -> Iterator[None]:
    """Hold the lock of migrations for the block. If the process dies, the end of the session releases the lock.

    Raises:
        MigrationFailed: another process held the lock for `LOCK_TIMEOUT_S`.
    """
    give_up_at = time.monotonic() + LOCK_TIMEOUT_S
    # Try the lock in a loop. A statement that waited for it would hold a snapshot, and CREATE INDEX CONCURRENTLY of the
    # other process waits for old snapshots to end: a deadlock.
    while not _scalar(connection, "SELECT pg_try_advisory_lock(%s)", _LOCK_KEY):
        if time.monotonic() > give_up_at:
            raise MigrationFailed(f"another migration has held the lock for {LOCK_TIMEOUT_S:.0f} s")
        time.sleep(_LOCK_POLL_S)
    try:
        yield
    finally:
        if not connection.broken:
            connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK_KEY,))


def _make_table(connection: psycopg.Connection, schema: str) -> None:
    """Create a schema and its table of applied migrations, unless they exist."""
    # The search path stays as it is: every name in our SQL carries its schema.
    # Look first: CREATE SCHEMA IF NOT EXISTS needs the right to create, even if the schema exists.
    if _scalar(connection, "SELECT to_regnamespace(%s)", schema) is None:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    connection.execute(
        sql.SQL(
            "CREATE TABLE IF NOT EXISTS {}.migration (version integer PRIMARY KEY, name text NOT NULL, "
            "sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())"
        ).format(sql.Identifier(schema))
    )


def _let_read_version(connection: psycopg.Connection, schema: str, service_role: str) -> None:
    """Let the services read which migrations are applied: a service is not ready before all of them are."""
    if not _scalar(connection, "SELECT has_table_privilege(%s, %s, 'SELECT')", service_role, f"{schema}.migration"):
        connection.execute(
            sql.SQL("GRANT SELECT ON {}.migration TO {}").format(sql.Identifier(schema), sql.Identifier(service_role))
        )


def _has_whole_series(connection: psycopg.Connection, migration: Migration) -> bool:
    """Say whether the database has the whole series that a baseline replaces; False if the file is not a baseline.

    Raises:
        MigrationFailed: the database has only a part of the series, or migrations beyond it.
    """
    replaced = migration.replaced()
    if replaced is None:
        return False
    rows = connection.execute(
        sql.SQL("SELECT version, sha256, name FROM {}.migration ORDER BY version").format(
            sql.Identifier(migration.schema)
        )
    ).fetchall()
    if not rows or rows[0][1] != replaced.first_sha256:
        return False
    lines = "".join(f"{version} {sha256}\n" for version, sha256, _ in rows)
    if hashlib.sha256(lines.encode()).hexdigest() == replaced.sha256:
        return True
    raise MigrationFailed(
        f"{migration.schema} is at {rows[-1][2]}, migration {len(rows)} of the {replaced.counts[migration.schema]}"
        f" that {migration.name} replaces; {_what_to_do(replaced)}",
        schema=migration.schema,
        version=rows[-1][0],
    )


def _carry_over(connection: psycopg.Connection, migration: Migration, service_role: str) -> bool:
    """Replace the series in the database by its baseline, and return whether that was done.

    It returns False if the file is not a baseline, or if the database does not have the series.

    Raises:
        MigrationFailed: the database has only a part of the series, or another schema is not at the end of its series.
    """
    replaced = migration.replaced()
    if replaced is None or not _has_whole_series(connection, migration):
        return False
    # The first schema is shared by both services. Once it is carried over, the old commits can no longer migrate the
    # other schemas to the end of their series. So all other schemas must have reached the end, that of the other
    # service included.
    shared, *others = replaced.counts
    for schema in others if migration.schema == shared else ():
        if _scalar(connection, "SELECT to_regclass(%s)", f"{schema}.migration") is None:
            continue
        newest = sql.SQL("SELECT max(version) FROM {}.migration").format(sql.Identifier(schema))
        version = _scalar(connection, newest)
        if version not in (None, replaced.counts[schema]):
            raise MigrationFailed(
                f"{schema} is at migration {version} of the {replaced.counts[schema]} that its baseline replaces;"
                f" {_what_to_do(replaced)}",
                schema=schema,
            )
    rows = sql.SQL("DELETE FROM {}.migration").format(sql.Identifier(migration.schema))
    _run(connection, migration, replaced.missing, service_role, before=rows)
    return True


def _what_to_do(replaced: Replaced) -> str:
    """Return the end of an error's text: how to bring a database to the end of the series."""
    return (
        f"run `migrate` of both services of commit {replaced.commit}, the last one with these migrations, and then of"
        " this version"
    )


def _is_applied(connection: psycopg.Connection, migration: Migration) -> bool:
    """Say whether a migration is applied.

    Raises:
        MigrationFailed: the file of the migration was changed after it was applied.
    """
    applied = _scalar(
        connection,
        sql.SQL("SELECT sha256 FROM {}.migration WHERE version = %s").format(sql.Identifier(migration.schema)),
        migration.version,
    )
    if applied is not None and applied != migration.sha256:
        raise MigrationFailed(
            f"{migration.name} of {migration.schema} was changed after it was applied; add a new migration instead",
            schema=migration.schema,
            version=migration.version,
        )
    return applied is not None


def _run(
    connection: psycopg.Connection,
    migration: Migration,
    text: str,
    service_role: str,
    *,
    before: sql.Composed | None = None,
) -> None:
    """Run SQL and note the migration as applied, in one transaction unless the text begins with `-- no transaction`.

    Args:
        connection: A connection as the owner of the tables.
        migration: The migration that is noted as applied.
        text: SQL of the migration, or a part of it.
        service_role: Name that replaces `:"service_role"` in the text.
        before: A statement to run first, in the same transaction.

    Raises:
        MigrationFailed: the SQL failed.
    """
    role = sql.Identifier(service_role).as_string(connection)
    text = text.replace(':"service_role"', role)
    note = sql.SQL("INSERT INTO {}.migration (version, name, sha256) VALUES (%s, %s, %s)").format(
        sql.Identifier(migration.schema)
    )
    values = (migration.version, migration.name, migration.sha256)
    try:
        if text.startswith(_NO_TRANSACTION):
            for statement in _END_OF_STATEMENT.split(text):
                connection.execute(statement.encode())
            connection.execute(note, values)
            return
        with connection.transaction():
            if before is not None:
                connection.execute(before)
            connection.execute(text.encode())
            connection.execute(note, values)
    except psycopg.Error as error:
        hint = ""
        if isinstance(error, pg.UndefinedObject) and "halfvec" in str(error):
            hint = (
                "; an operator must install pgvector 0.7 or newer in this database with `CREATE EXTENSION vector`, or"
                " update an older one with `ALTER EXTENSION vector UPDATE`"
            )
        raise MigrationFailed(
            f"{migration.name} of {migration.schema} failed: {error.diag.message_primary or error}{hint}",
            schema=migration.schema,
            version=migration.version,
        ) from error


def _scalar(connection: psycopg.Connection, statement: str | sql.Composed, *values: object) -> object:
    query = statement.encode() if isinstance(statement, str) else statement
    row = connection.execute(query, values).fetchone()
    return row[0] if row else None
