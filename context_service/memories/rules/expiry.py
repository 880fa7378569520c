"""Deletes expired memories in the background. No call returns them meanwhile, so it may take its time."""

from __future__ import annotations

import asyncio

from context_service.memories.rules.memories import Memories
from context_service.memories.store.memories import MemoryRows
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work import background
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.principal import Principal

STEP_MEMORIES = 100  # memories that a step of a tenant deletes
_SUBJECT = "memory-expiry"  # the principal of changes that no caller made


class MemoryExpiry:
    """Deletes expired memories of all tenants, a step of each in turn.

    Args:
        database: The database that holds the memories.
        rows: The store of memories.
        memories: Deletes memories.
    """

    def __init__(self, database: Database, rows: MemoryRows, memories: Memories) -> None:
        self._rounds = Rounds(database, self._delete_some)
        self._rows = rows
        self._memories = memories

    async def keep_deleting(self, interval_s: float) -> None:
        """Delete expired memories until cancelled, at random intervals, so that replicas drift apart."""
        while True:
            await asyncio.sleep(background.apart(interval_s, 0.5, 1.0))
            await background.attempted(self.delete_due, "deletion of expired memories", otherwise=0)

    async def delete_due(self) -> int:
        """Delete all expired memories, and return how many."""
        return await self._rounds.run()

    async def _delete_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Delete some expired memories of a tenant; return how many, and whether there may be more."""
        user_ids = await self._rows.users_with_expired(tenant, count=STEP_MEMORIES)
        deleted = 0
        for user_id in user_ids:
            principal = Principal(tenant_id=tenant.tenant_id, subject=_SUBJECT, user_id=user_id)
            deleted += await self._memories.delete_expired(principal, count=STEP_MEMORIES)
            if deleted >= STEP_MEMORIES:
                return deleted, True
        return deleted, len(user_ids) == STEP_MEMORIES
