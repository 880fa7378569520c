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
from service_runtime.outbox import Outbox
from service_runtime.postgres import Database, Tenant, Transaction

BATCH = 200
WAITING_MAX = 1_000  # queued vectors of a tenant; more are added when the services have made some
POLL_S = 0.5

_FIRST_ID = UUID(int=0)

# An embedding from the caller has no `text_sha256`. What is owed already has its row.
_LACKING = """
    r.tenant_id = %(tenant_id)s
    AND NOT EXISTS (
        SELECT FROM context.embedding e
        WHERE e.tenant_id = %(tenant_id)s AND e.owner_kind = 'record' AND e.owner_id = r.id AND e.name = ''
            AND (e.text_sha256 IS NULL OR e.model = %(model)s)
    )
    AND NOT EXISTS (
        SELECT FROM context.outbox o
        WHERE o.tenant_id = %(tenant_id)s AND o.topic = %(topic)s AND o.subject_id = r.id
    )
"""

_COUNT = f"SELECT count(*) AS records FROM context.wm_record r WHERE {_LACKING}"  # noqa: S608 - a constant

_LOCK = f"""
SELECT r.id FROM context.wm_record r
WHERE {_LACKING} AND r.id > %(behind)s
ORDER BY r.id LIMIT %(count_max)s
FOR NO KEY UPDATE OF r
"""  # noqa: S608

# A statement of its own: it sees what others did to the records before they were locked.
_OWE = f"""
WITH owed AS (
    INSERT INTO context.outbox (tenant_id, id, topic, subject_id)
    SELECT r.tenant_id, gen_random_uuid(), %(topic)s, r.id FROM context.wm_record r
    WHERE {_LACKING} AND r.id = ANY (%(ids)s)
    RETURNING subject_id
)
UPDATE context.wm_record r SET index_state = 'PENDING', index_error = ''
FROM owed WHERE r.tenant_id = %(tenant_id)s AND r.id = owed.subject_id
RETURNING r.id
"""  # noqa: S608


class Backfill:
    """Queues vectors of all tenants.

    Args:
        database: Where records and outbox are.
        model: The embedder's model. Vectors of another model are made again.
    """

    def __init__(self, database: Database, *, model: str) -> None:
        self._database = database
        self._outbox = Outbox("context", EMBEDDING_TOPIC)
        self._parameters = {"topic": EMBEDDING_TOPIC, "model": model}

    async def run(self, *, dry_run: bool, on_progress: Callable[[Backfilled], None]) -> Backfilled:
        """Queue every missing vector; return when the last is queued.

        Args:
            dry_run: Only count.
            on_progress: Called after each batch.

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
        """Return the last record of the batch, None at the end, and how many vectors were queued."""
        parameters = {**self._parameters, "behind": after, "count_max": BATCH}

        async def work(transaction: Transaction) -> tuple[UUID | None, int]:
            ids = [row.id for row in await transaction.query(_LOCK, parameters)]
            if not ids:
                return None, 0
            return ids[-1], len(await transaction.query(_OWE, {**parameters, "ids": ids}))

        return await tenant.transaction(work)

    async def _count(self, tenant: Tenant) -> int:
        (row,) = await tenant.query(_COUNT, {**self._parameters})
        return int(row.records)
