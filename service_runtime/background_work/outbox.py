"""The transactional outbox: work that a write enqueues, done after its commit.

The write inserts a row for the work in its own transaction, so the row is there exactly if the write is committed. A
worker claims the row, renews its claim as long as it lives, and deletes the row in the transaction of the result. If a
worker is killed, its row comes due within `LEASE_S`. If a newer write replaced the row meanwhile, the worker finds that
its row is gone, and drops its result.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from service_runtime.background_work import background
from service_runtime.background_work.due_work import Queue
from service_runtime.background_work.queue_room import QUEUED_MAX, QueueRoom
from service_runtime.postgres import Tenant, Transaction
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied
from service_runtime.values.ids import new_id

SQL = SqlFile.of(__file__)

_DOUBLED_MAX = 20  # a delay is doubled this often at most, so that it stays a number
LEASE_S = 30.0  # seconds that a claim lasts; a worker that lives renews it


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedItem:
    """Work that was claimed."""

    id: UUID  # id of this row; a newer row for the same subject has another one
    subject_id: UUID
    attempts: int  # number of attempts, with this one
    leased_until: datetime

    def delay_s(self, *, first_s: float, max_s: float) -> float:
        """Return the seconds until the next attempt: `first_s` at first, doubled after each further one."""
        return min(first_s * 2.0 ** min(self.attempts - 1, _DOUBLED_MAX), max_s)


class Outbox:
    """The rows of one topic in the table `outbox` of one schema.

    A subject has one row at most: a newer row replaces it.

    Args:
        schema: Name of the schema that has the table.
        topic: Name of the kind of work.
        queued_max: About how many items of a tenant `take_room` lets in: each replica counts by itself.
    """

    def __init__(self, schema: str, topic: str, *, queued_max: int = QUEUED_MAX) -> None:
        self.queue = Queue(schema=schema, topic=topic)
        self._topic = topic
        counting = SQL.filled("counting", schema=schema)
        self._room = QueueRoom(counting, topic=topic, queued_max=queued_max)
        self._put = SQL.filled("put", schema=schema)
        self._drop = SQL.filled("drop", schema=schema)
        self._claim = SQL.filled("claim", schema=schema)
        self._renew = SQL.filled("renew", schema=schema)
        self._hold = SQL.filled("hold", schema=schema)
        self._due = SQL.filled("due", schema=schema)
        self._done = SQL.filled("done", schema=schema)
        self._postpone = SQL.filled("postpone", schema=schema)

    async def put(self, transaction: Transaction, subject_id: UUID) -> None:
        """Enqueue the work of a subject; an older row of the subject is replaced."""
        await transaction.query(self._put, (transaction.tenant_id, new_id(), self._topic, subject_id))

    async def take_room(self, connection: Tenant | Transaction, *, items: int = 1) -> None:
        """Check that a tenant's queue has room for more items; calls that write do so before `put`.

        Raises:
            LimitExceeded: the tenant would have more than `queued_max` items in the queue.
        """
        if items:
            await self._room.take(connection, items=items)

    async def drop(self, transaction: Transaction, subject_id: UUID) -> None:
        """Remove the work that is queued for a subject."""
        await transaction.query(self._drop, (transaction.tenant_id, self._topic, subject_id))

    async def is_below(self, connection: Tenant | Transaction, *, due_max: int) -> bool:
        """Say whether fewer than `due_max` items of a tenant are due; background work asks before it queues items."""
        (row,) = await connection.query(self._due, (connection.tenant_id, self._topic))
        return int(row.due) < due_max

    async def wait_for_room(self, tenant: Tenant, *, due_max: int, poll_s: float) -> None:
        """Return when fewer than `due_max` items of a tenant are due, so that others come between."""
        while True:
            if await self.is_below(tenant, due_max=due_max):
                return
            await asyncio.sleep(poll_s)

    @asynccontextmanager
    async def claimed(self, tenant: Tenant, *, count_max: int) -> AsyncIterator[list[QueuedItem]]:
        """Take work that is due, for the block: no other worker gets it, unless this process dies."""
        work = await self.claim(tenant, count_max=count_max)
        if not work:
            yield work
            return
        named = {
            "tenant_id": tenant.tenant_id,
            "ids": [owed.id for owed in work],
            "lease": timedelta(seconds=LEASE_S),
            "leased_until": work[0].leased_until,  # of all: they were claimed in one statement
        }

        async def renew() -> None:
            for row in await tenant.query(self._renew, named):
                named["leased_until"] = row.leased_until

        async with background.renewing(renew, lease_s=LEASE_S):
            yield work

    async def each_due(
        self, tenant: Tenant, work: Callable[[QueuedItem], Awaitable[None]], *, for_s: float
    ) -> tuple[int, bool]:
        """Do the due items of a tenant, one after the other, as a step of `Rounds`.

        Args:
            tenant: The tenant whose due items are done.
            work: Does the work of one item.
            for_s: No item is begun after this time; so a step takes no longer than this and one item.

        Returns:
            How many items were done, and whether there may be more.
        """
        until, done = time.monotonic() + for_s, 0
        while True:
            async with self.claimed(tenant, count_max=1) as claimed:
                if not claimed:
                    return done, False
                await work(claimed[0])
            done += 1
            if time.monotonic() >= until:
                return done, True

    async def claim(self, tenant: Tenant, *, count_max: int) -> list[QueuedItem]:
        """Take work that is due; no other worker gets it for `LEASE_S`."""
        parameters = {
            "tenant_id": tenant.tenant_id,
            "topic": self._topic,
            "count_max": count_max,
            "lease": timedelta(seconds=LEASE_S),
        }
        return [copied(QueuedItem, row) for row in await tenant.query(self._claim, parameters)]

    async def hold(self, transaction: Transaction, owed: QueuedItem) -> bool:
        """Renew the claim of work that is done in steps; return False if another claim has replaced it."""
        return bool(await transaction.query(self._hold, (transaction.tenant_id, owed.id, owed.attempts)))

    async def done(self, transaction: Transaction, owed: QueuedItem) -> bool:
        """Delete the row of finished work. If it returns False, the row is gone, and the result must not be stored."""
        return bool(await transaction.query(self._done, (transaction.tenant_id, owed.id)))

    async def settle(
        self, tenant: Tenant, owed: QueuedItem, *, again_in_s: float | None = None, error: str = ""
    ) -> bool:
        """Delete the row of finished work in a transaction of its own, or queue the work again.

        Args:
            tenant: The tenant of the work.
            owed: The work.
            again_in_s: The seconds after which the work is due again; None if it is finished.
            error: Why it must be done again, if it failed.

        Returns:
            False if the row is gone, as `done` says.
        """
        if again_in_s is None:
            return await tenant.transaction(partial(self.done, owed=owed))
        return await tenant.transaction(partial(self.postpone, owed=owed, delay_s=again_in_s, error=error))

    async def postpone(self, transaction: Transaction, owed: QueuedItem, *, delay_s: float, error: str) -> bool:
        """Queue work again in `delay_s`; return False as `done` does."""
        parameters = (timedelta(seconds=delay_s), error, transaction.tenant_id, owed.id)
        return bool(await transaction.query(self._postpone, parameters))
