"""Whether the database is the right one, and has every migration of the service that uses it: part of readiness."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from contextkeep.errors import ContextKeepError, Unavailable
from service_runtime.databases.migrate import Migration
from service_runtime.postgres import HOME, Database, Row, SchemaBehind

_log = logging.getLogger("schema")


class SchemaCheck:
    """Reads Postgres's name and the applied migrations; newer migrations than ours do no harm.

    Migrations are compared by number and checksum: a database of an earlier series has higher numbers than a baseline.

    Another database than the home may be away, lack migrations, or have another name than in DATABASE_URLS: then only
    its own tenants are not served. The log says so, once.

    Args:
        database: The database, opened as the services' role.
        migrations: All migrations that the service needs.
        first: The name of the database that was opened first: the home database has no name.
    """

    def __init__(self, database: Database, migrations: Sequence[Migration], *, first: str = HOME) -> None:
        self._database = database
        self._first = first
        self._needed = tuple(migrations)
        self._sql = " UNION ALL ".join(
            f"SELECT '{schema}' AS schema, coalesce(string_agg(version || ' ' || sha256, ','), '') AS applied,"  # noqa: S608
            f" coalesce((SELECT name FROM access.this_database), '{HOME}') AS named FROM {schema}.migration"
            for schema in dict.fromkeys(migration.schema for migration in migrations)
        )
        self._problems: dict[str, str] = {}  # of other databases, as last logged

    async def ready(self) -> None:
        """Check that Postgres answers, is the right one, and has all migrations.

        Raises:
            Unavailable: there is no answer, or it is of another database than the URL should lead to.
            SchemaBehind: a migration is missing; `migrate` must be run.
        """
        for named, problem in (await self._database.healthy(self._sql, problem=self._problem)).items():
            self._say(named, "" if problem is None else str(problem))
        await self._database.notice_others()

    def _problem(self, named: str, rows: Sequence[Row]) -> ContextKeepError | None:
        """Return the problem of a database from its answer: another name than expected, or a missing migration."""
        meant = named or self._first
        for row in rows:
            if row.named != meant:
                return Unavailable(f"this is {_called(row.named)}, not {_called(meant)}: are URLs swapped?")
        applied = {row.schema: frozenset(row.applied.split(",")) for row in rows}
        for migration in self._needed:
            if f"{migration.version} {migration.sha256}" not in applied[migration.schema]:
                return SchemaBehind(f"{migration.name} of {migration.schema} is not applied: run `migrate`")
        return None

    def _say(self, named: str, problem: str) -> None:
        """Log that a database began or stopped to serve its tenants, once for each change."""
        if self._problems.get(named, "") != problem:
            self._problems[named] = problem
            if problem:
                _log.error("database does not serve its tenants", extra={"database": named, "error": problem})
            else:
                _log.warning("database serves its tenants again", extra={"database": named})


def _called(named: str) -> str:
    return f"the database {named}" if named else "the home database"
