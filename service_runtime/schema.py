"""Whether the database is as new as the service that uses it: part of a service's readiness."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from service_runtime.migrate import Migration
from service_runtime.postgres import HOME, Database, Row, SchemaBehind

_log = logging.getLogger("schema")


class SchemaCheck:
    """Asks Postgres for an answer, and which migrations were applied; newer ones do no harm.

    Another database than the home may be away, or behind: its tenants are out, and nobody else. The log says so, once.

    Args:
        database: As the services' role.
        migrations: What the service needs.
    """

    def __init__(self, database: Database, migrations: Sequence[Migration]) -> None:
        self._database = database
        self._newest = {one.schema: one for one in migrations}  # in order: the last of each schema stays
        self._sql = " UNION ALL ".join(
            f"SELECT '{schema}' AS schema, coalesce(max(version), 0) AS version FROM {schema}.migration"  # noqa: S608
            for schema in self._newest
        )
        self._problems: dict[str, str] = {}  # of other databases, as it was said last

    async def ready(self) -> None:
        """Ask.

        Raises:
            Unavailable: there is no answer.
            SchemaBehind: `migrate` is to be run.
        """
        for named, answer in (await self._database.healthy(self._sql)).items():
            problem = answer if isinstance(answer, Exception) else self._behind(answer)
            if named == HOME and problem is not None:
                raise problem
            self._say(named, "" if problem is None else str(problem))
        await self._database.notice_others()

    def _behind(self, rows: Sequence[Row]) -> SchemaBehind | None:
        for row in rows:
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
