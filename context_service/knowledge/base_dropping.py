"""What found the documents of knowledge bases that are gone: dropped behind their removal, in steps."""

from __future__ import annotations

from functools import partial

from context_service.knowledge.base_rows import DROP_TOPIC
from context_service.knowledge.document_rows import scope_of
from context_service.retrieval.passages import Passages
from service_runtime import background
from service_runtime.outbox import Outbox
from service_runtime.postgres import Database, Tenant
from service_runtime.tenants import Rounds

INTERVAL_S = 5.0


class BaseDropping:
    """The worker; any number of replicas may run it at once.

    Args:
        database: Where passages and outbox are.
        passages: What is dropped.
    """

    def __init__(self, database: Database, passages: Passages) -> None:
        self._passages = passages
        self._outbox = Outbox("context", DROP_TOPIC)
        self._rounds = Rounds(database, self._drop_one)

    async def keep_dropping(self) -> None:
        """Drop what is due, until cancelled."""
        await background.repeating(self.drop_due, interval_s=INTERVAL_S)

    async def drop_due(self) -> int:
        """Drop what is due, a base of each tenant in turn; return how many bases that were.

        Raises:
            Unavailable: Postgres does not answer.
        """
        return await self._rounds.run()

    async def _drop_one(self, tenant: Tenant) -> tuple[int, bool]:
        async with self._outbox.claimed(tenant, count_max=1) as claimed:
            for owed in claimed:
                await self._passages.drop_scope(tenant.tenant_id, scope_of(owed.subject_id))
                await tenant.transaction(partial(self._outbox.done, owed=owed))
        return len(claimed), bool(claimed)
