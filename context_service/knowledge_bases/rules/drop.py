"""Remove the passages of deleted knowledge bases in the background, in steps."""

from __future__ import annotations

import time

from context_service.knowledge_bases.store.bases import DROP_TOPIC
from context_service.knowledge_bases.store.documents import scope_of
from context_service.retrieval.room import Passages
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work.outbox import Outbox
from service_runtime.postgres import Database, Tenant

INTERVAL_S = 5.0
STEP_S = 1.0  # time for one tenant before the next tenant's turn


class BaseDropping:
    """The worker that removes passages of deleted bases; any number of replicas may run it at once.

    Args:
        database: The database that holds the passages and the queue of deleted bases.
        passages: The search index that has the passages.
    """

    def __init__(self, database: Database, passages: Passages) -> None:
        self._passages = passages
        self._outbox = Outbox("context", DROP_TOPIC)
        self._rounds = Rounds(database, self._drop_some, queue=self._outbox.queue)

    async def keep_dropping(self) -> None:
        """Remove due passages until cancelled."""
        await self._rounds.keep_running(self.drop_due, interval_s=INTERVAL_S)

    async def drop_due(self) -> int:
        """Remove due passages, of each tenant in turn; return the number of bases without passages.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await self._rounds.run()

    async def _drop_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Remove passages of one deleted base for `STEP_S`; return 1 if none is left, and whether there was a base."""
        gone = 0
        async with self._outbox.claimed(tenant, count_max=1) as claimed:
            for item in claimed:
                scope, until = scope_of(item.subject_id), time.monotonic() + STEP_S
                is_gone = (await self._passages.drop_scope(tenant.tenant_id, scope, until=until)).is_all
                await self._outbox.settle(tenant, item, again_in_s=None if is_gone else 0)
                gone += is_gone
        return gone, bool(claimed)
