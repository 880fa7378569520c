"""Whether the database is as new as the service that uses it: part of a service's readiness."""

from __future__ import annotations

from collections.abc import Sequence

from service_runtime.migrate import Migration
from service_runtime.postgres import Database, SchemaBehind


class SchemaCheck:
    """Asks Postgres for an answer, and which migrations were applied; newer ones do no harm.

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

    async def ready(self) -> None:
        """Ask.

        Raises:
            Unavailable: there is no answer.
            SchemaBehind: `migrate` is to be run.
        """
        for row in await self._database.healthy(self._sql):
            newest = self._newest[row.schema]
            if row.version < newest.version:
                raise SchemaBehind(f"{newest.name} of {newest.schema} is not applied: run `migrate`")
