"""Queues vectors for records that have none of the embedder's model: older ones, and those of another model.

They go into the same outbox as those of a write, only a few at a time, so that newly written records do not wait for
long. An interrupted run loses nothing: start it again for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from context_service.retrieval.model import Backfilled
from context_service.working_memory.store.records import EMBEDDING_TOPIC
from context_service.working_memory.store.texts.vector_backfill import COUNT, LOCK, OWE
from service_runtime.background_work.outbox import Outbox
from service_runtime.postgres import Database, Tenant, Transaction

BATCH = 200
WAITING_MAX = 1_000  # queued vectors of a tenant; more are added when the services have made some
POLL_S = 0.5

_FIRST_ID = UUID(int=0)


class Backfill:
    """Queues the embedding of texts that have no vector, for all tenants.

    Args:
        database: The database that holds the records and the queue.
        model: The name of the embedder's model. Vectors of another model are made again.
    """

    def __init__(self, database: Database, *, model: str) -> None:
        self._database = database
        self._outbox = Outbox("context", EMBEDDING_TOPIC)
        self._parameters = {"topic": EMBEDDING_TOPIC, "model": model}

    async def run(self, *, dry_run: bool, on_progress: Callable[[Backfilled], None]) -> Backfilled:
        """Queue every missing vector; return when the last is queued.

        Args:
            dry_run: Count the vectors and queue none.
            on_progress: Called after each batch, with the counts so far.

        Raises:
            Unavailable: Postgres does not answer.
        """
        tenants = await self._database.tenants(reachable=True)
        to_do = sum([await self._count(tenant) for tenant in tenants])
        done = Backfilled(to_do=to_do, databases_away=self._database.away)
        if dry_run:
            return done
        for tenant in tenants:
            after: UUID | None = _FIRST_ID
            while after is not None:
                on_progress(done)
                await self._outbox.wait_for_room(tenant, due_max=WAITING_MAX, poll_s=POLL_S)
                after, owed = await self._owe_batch(tenant, after)
                done = replace(done, owed=done.owed + owed)
        on_progress(done)
        return done

    async def _owe_batch(self, tenant: Tenant, after: UUID) -> tuple[UUID | None, int]:
        """Return the last record of the batch (None at the end), and how many vectors were queued."""
        parameters = {**self._parameters, "after": after, "count_max": BATCH}

        async def work(transaction: Transaction) -> tuple[UUID | None, int]:
            ids = [row.id for row in await transaction.query(LOCK, parameters)]
            if not ids:
                return None, 0
            return ids[-1], len(await transaction.query(OWE, {**parameters, "ids": ids}))

        return await tenant.transaction(work)

    async def _count(self, tenant: Tenant) -> int:
        (row,) = await tenant.query(COUNT, {**self._parameters})
        return int(row.records)
