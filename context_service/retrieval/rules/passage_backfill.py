"""Queues vectors for passages that have none of the current model: they are older, or have one of another model.

A backfill queues the work scope by scope, as a write queues it, and the services do it. Only a few scopes are queued at
a time, so that new writes do not wait for many. It can be stopped at any time; a new start continues with the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from context_service.retrieval.model import Backfilled
from context_service.retrieval.store.passage_backfill import LACKING, OWE
from context_service.retrieval.store.vector_outbox import owing_topic
from service_runtime.background_work.outbox import Outbox
from service_runtime.postgres import Database, Tenant

BATCH = 100  # scopes that one statement reads
WAITING_MAX = 8  # queued scopes of a tenant; more are added as the services finish them
POLL_S = 0.5

_FIRST_ID = UUID(int=0)


class PassageBackfill:
    """Queues the embedding of all passages without a vector, for one kind of scope and all tenants.

    Args:
        database: The database that holds the passages and the queue.
        kind: The kind of scope whose passages are embedded.
        model: The name of the embedder's model. Vectors of another model are made again.
    """

    def __init__(self, database: Database, kind: str, *, model: str) -> None:
        self._database = database
        self._outbox = Outbox("context", owing_topic(kind))
        self._parameters = {"scope_kind": kind, "topic": owing_topic(kind), "model": model}

    async def run(self, *, dry_run: bool, on_progress: Callable[[Backfilled], None]) -> Backfilled:
        """Queue every missing vector; return when the last one is queued.

        Args:
            dry_run: Count the vectors and queue none.
            on_progress: Called after each scope, with the counts so far.

        Raises:
            Unavailable: Postgres does not answer.
        """
        tenants = await self._database.tenants(reachable=True)
        lacking = [(tenant, *scope) for tenant in tenants for scope in await self._lacking(tenant)]
        to_do = sum(passages for _, _, passages, _ in lacking)
        done = Backfilled(to_do=to_do, databases_away=self._database.away)
        if dry_run:
            return done
        for tenant, scope_id, passages, owed in lacking:
            on_progress(done)
            named = {**self._parameters, "scope_id": scope_id, "owed": owed}
            await self._outbox.wait_for_room(tenant, due_max=WAITING_MAX, poll_s=POLL_S)
            await tenant.query(OWE, named)
            done = replace(done, owed=done.owed + passages)
        on_progress(done)
        return done

    async def _lacking(self, tenant: Tenant) -> list[tuple[UUID, int, str]]:
        """Return how many vectors the scopes of a tenant lack, and which scopes these are (`owed_vectors`)."""
        scopes: list[tuple[UUID, int, str]] = []
        last_id = _FIRST_ID
        while rows := await tenant.query(LACKING, {**self._parameters, "after": last_id, "count_max": BATCH}):
            scopes += [(row.scope_id, row.passages, row.owed) for row in rows if row.passages]
            last_id = rows[-1].scope_id
        return scopes
