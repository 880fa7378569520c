"""Statistics of the tables of a new database, as soon as they have some rows: `entity.analyze_new_tables` says why."""

from __future__ import annotations

import asyncio

from contextkeep.errors import ContextKeepError
from entity_service.store.counts import ANALYZE_NEW_TABLES
from service_runtime.postgres import Database

INTERVAL_S = 1.0  # a call that writes thousands of rows into an empty database is over by then, and the next is not


class FirstStatistics:
    """Makes Postgres gather statistics of new tables. Several replicas may run it: the first leaves nothing to do."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def once(self) -> bool:
        """Gather missing statistics, if there are rows; return whether the tables have statistics now."""
        try:
            rows = await self._database.everywhere(ANALYZE_NEW_TABLES)
        except ContextKeepError:  # not migrated yet, or Postgres is away: health says so, and once a second is enough
            return False
        return all(row.known for row in rows)

    async def keep_looking(self) -> None:
        """Look until they are known, or until cancelled."""
        while True:
            if await self.once():
                return
            await asyncio.sleep(INTERVAL_S)
