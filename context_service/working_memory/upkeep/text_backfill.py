"""Queues the texts of records that were never read: files of older versions, and long texts without passages.

They go into the same outbox as those of a write, only a few at a time, so that the services read newly written records
before them. An interrupted run loses nothing: start it again for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from context_service.retrieval.model import Backfilled
from context_service.working_memory.pure.fields import content_type_of_name
from context_service.working_memory.rules.file_texts import owes_text
from context_service.working_memory.store.records import TEXT_TOPIC
from context_service.working_memory.store.texts.text_backfill import LOCK, OWE, PAGE
from service_runtime.background_work.outbox import Outbox
from service_runtime.postgres import Database, Row, Tenant, Transaction

BATCH = 200
WAITING_MAX = 100  # queued texts of a tenant; more are added when the services have read some
POLL_S = 0.5

_FIRST_ID = UUID(int=0)


class TextBackfill:
    """Queues the reading of texts that were never read, for all tenants.

    Args:
        database: The database that holds the records and the queue.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._outbox = Outbox("context", TEXT_TOPIC)

    async def run(self, *, dry_run: bool, on_progress: Callable[[Backfilled], None]) -> Backfilled:
        """Queue every text that was never read; return when the last is queued.

        Args:
            dry_run: Count the texts and queue none.
            on_progress: Called after each batch, with the counts so far.

        Raises:
            Unavailable: Postgres does not answer.
        """
        tenants = await self._database.tenants(reachable=True)
        done = Backfilled(databases_away=self._database.away)
        for tenant in tenants:
            after: UUID | None = _FIRST_ID
            while after is not None:
                after, ids = await self._unread(tenant, after)
                done = replace(done, to_do=done.to_do + len(ids))
        if dry_run:
            return done
        for tenant in tenants:
            after = _FIRST_ID
            while after is not None:
                on_progress(done)
                await self._outbox.wait_for_room(tenant, due_max=WAITING_MAX, poll_s=POLL_S)
                after, ids = await self._unread(tenant, after)
                done = replace(done, owed=done.owed + await self._owe(tenant, ids))
        on_progress(done)
        return done

    async def _unread(self, tenant: Tenant, after: UUID) -> tuple[UUID | None, list[UUID]]:
        """Return the last record of the page (None at the end), and the records of the page that must be read."""
        rows = await tenant.query(PAGE, {**self._parameters(tenant), "after": after, "count_max": BATCH})
        return (rows[-1].id if rows else None), [row.id for row in rows if _owes(row)]

    async def _owe(self, tenant: Tenant, ids: list[UUID]) -> int:
        """Queue the texts that are still unread, and return how many."""

        async def work(transaction: Transaction) -> int:
            still = [row.id for row in await transaction.query(LOCK, {**self._parameters(tenant), "ids": ids})]
            await transaction.query(OWE, {**self._parameters(tenant), "ids": still})
            return len(still)

        return await tenant.transaction(work) if ids else 0

    def _parameters(self, tenant: Tenant) -> dict[str, object]:
        return {"tenant_id": tenant.tenant_id, "topic": TEXT_TOPIC}


def _owes(row: Row) -> bool:
    types = [row.content_type, content_type_of_name(row.name), row.memory_type]
    return owes_text(types, row.name, size_bytes=row.size_bytes, is_inline=row.is_inline)
