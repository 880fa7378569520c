"""Which tenants have due work, in all queues of a schema: one statement, which the workers of a process share.

Each worker would otherwise ask for each tenant, every second or two: ten queues of 1,000 tenants are thousands of
statements a second for nothing. The schema's function `due_work` reads one index entry for each tenant of a queue,
however long the queue is.
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass
from uuid import UUID
from weakref import WeakKeyDictionary

from service_runtime.background_work import background
from service_runtime.postgres import Database, Tenant
from service_runtime.statements.sql_files import SqlFile

POLL_S = 0.5  # seconds between two polls of an idle process

SQL = SqlFile.of(__file__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A kind of background work."""

    schema: str  # the schema that has the function `due_work`
    topic: str  # its name in the answer of this function

    async def tenants(self, database: Database) -> list[Tenant]:
        """Return the tenants that have due work now, in the order of their ids.

        Raises:
            Unavailable: Postgres does not answer.
        """
        due = await self._polls(database).poll(database)
        return await database.tenants(reachable=True, among=due.get(self.topic, []))

    async def wait(self, database: Database, *, pause_s: float) -> None:
        """Return when a tenant has due work; a poll notices it within `POLL_S`, or within `pause_s` if that is shorter.

        Raises:
            Unavailable: Postgres does not answer.
        """
        polls, pause_s = self._polls(database), min(pause_s, POLL_S)
        while self.topic not in await polls.newest(database, age_s_max=pause_s):  # noqa: ASYNC110 - others queue work, too
            await asyncio.sleep(background.apart(max(pause_s, polls.took_s / background.WORK_SHARE), 0.75, 1.25))

    def _polls(self, database: Database) -> _Polls:
        of_database = _POLLS.setdefault(database, {})
        if self.schema not in of_database:
            of_database[self.schema] = _Polls(self.schema)
        return of_database[self.schema]


class _Polls:
    """The polls of one schema; all queues that wait share each of them."""

    def __init__(self, schema: str) -> None:
        self.took_s = 0.0  # of the last poll
        self._statement = SQL.filled("due_work", schema=schema)
        self._due: dict[str, list[UUID]] = {}
        self._polled_at = -math.inf
        self._polling = asyncio.Lock()

    async def newest(self, database: Database, *, age_s_max: float) -> dict[str, list[UUID]]:
        """Return the answer of the last poll, or of a new one if that is too old."""
        async with self._polling:
            is_old = time.monotonic() - self._polled_at > age_s_max
            return await self.poll(database) if is_old else self._due

    async def poll(self, database: Database) -> dict[str, list[UUID]]:
        """Return the tenants with due work, by topic."""
        began = time.monotonic()
        due: dict[str, list[UUID]] = {}
        for row in await database.everywhere(self._statement):
            due.setdefault(row.topic, []).append(row.tenant_id)
        self._due, self._polled_at = due, time.monotonic()
        self.took_s = self._polled_at - began
        return due


_POLLS: WeakKeyDictionary[Database, dict[str, _Polls]] = WeakKeyDictionary()
