"""Whether the database is the one that is meant, and as new as the service that uses it: part of readiness."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from contextkeep.errors import ContextKeepError, Unavailable
from service_runtime.migrate import Migration
from service_runtime.postgres import HOME, Database, Row, SchemaBehind

_log = logging.getLogger("schema")


class SchemaCheck:
    """Asks Postgres for an answer, what it is named, and which migrations were applied; newer ones do no harm.

    Another database than the home may be away, behind, or another one than DATABASE_URLS says: its tenants are out, and
    nobody else. The log says so, once.

    Args:
        database: As the services' role.
        migrations: What the service needs.
        first: What the database that was opened first is named: the home database has no name.
    """

    def __init__(self, database: Database, migrations: Sequence[Migration], *, first: str = HOME) -> None:
        self._database = database
        self._first = first
        self._newest = {one.schema: one for one in migrations}  # in order: the last of each schema stays
        self._sql = " UNION ALL ".join(
            f"SELECT '{schema}' AS schema, coalesce(max(version), 0) AS version,"  # noqa: S608
            f" coalesce((SELECT name FROM access.this_database), '{HOME}') AS named FROM {schema}.migration"
            for schema in self._newest
        )
        self._problems: dict[str, str] = {}  # of other databases, as it was said last

    async def ready(self) -> None:
        """Ask.

        Raises:
            Unavailable: there is no answer, or it is of another database than the URL should lead to.
            SchemaBehind: `migrate` is to be run.
        """
        for named, problem in (await self._database.healthy(self._sql, problem=self._problem)).items():
            self._say(named, "" if problem is None else str(problem))
        await self._database.notice_others()

    def _problem(self, named: str, rows: Sequence[Row]) -> ContextKeepError | None:
        meant = named or self._first
        for row in rows:
            if row.named != meant:
                return Unavailable(f"this is {_called(row.named)}, not {_called(meant)}: are URLs swapped?")
            newest = self._newest[row.schema]
            if row.version < newest.version:
                return SchemaBehind(f"{newest.name} of {newest.schema} is not applied: run `migrate`")
        return None

    def _say(self, named: str, problem: str) -> None:
        if self._problems.get(named, "") != problem:
            self._problems[named] = problem
            if problem:
                _log.error("database does not serve its tenants", extra={"database": named, "error": problem})
            else:
                _log.warning("database serves its tenants again", extra={"database": named})


def _called(named: str) -> str:
    return f"the database {named}" if named else "the home database"
