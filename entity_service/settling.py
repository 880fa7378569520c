"""Finding out what is below edges that were written without knowing it: see `edge.newest_below`.

An append knows, and so does a small write. What came by the hundred into nodes that were there before (imports, bulk
attachments, all edges from before the column was there) is looked through here, some edges at a time. Until then a walk
to the newest messages visits all that lies above such edges.
"""

from __future__ import annotations

import asyncio
import logging
import time
from uuid import UUID

from contextkeep.errors import ContextKeepError
from service_runtime.postgres import Database, Tenant

_log = logging.getLogger("settling")

INTERVAL_S = 30.0
BATCH_EDGES = 200  # some 20 ms, in which appends below them wait
PASSES_MAX = 10  # of a tenant, before it is the next one's turn
_REST = 9.0  # times as long as it worked

_SETTLE = """
SELECT s.looked_at, s.settled, s.last_node_id, s.last_id
FROM entity.settle_edges(%(edges_max)s, %(before_node_id)s, %(before_id)s) s
"""
_LAST_ID = UUID(int=2**128 - 1)


class EdgeSettling:
    """Settles the edges of all tenants. Replicas may all do it: they take turns with each tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def once(self) -> None:
        """Settle what can be settled; what is in the way of it now is tried again next time."""
        try:
            for tenant in await self._database.tenants(reachable=True):
                for _ in range(PASSES_MAX):
                    # What was settled may have been all that another edge waited for.
                    if not await self._pass(tenant):
                        break
        except ContextKeepError as error:
            _log.warning("edges were not settled", extra={"error": str(error)})

    async def _pass(self, tenant: Tenant) -> int:
        """Look at each edge of a tenant that is not settled, and return how many are now."""
        node_id, edge_id, settled = _LAST_ID, _LAST_ID, 0
        while True:
            started = time.monotonic()
            place = {"before_node_id": node_id, "before_id": edge_id}
            (row,) = await tenant.query(_SETTLE, {"edges_max": BATCH_EDGES, **place})
            settled += int(row.settled)
            if row.looked_at < BATCH_EDGES:
                return settled
            node_id, edge_id = row.last_node_id, row.last_id
            await asyncio.sleep(_REST * (time.monotonic() - started))

    async def keep_settling(self) -> None:
        """Settle now and then, until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            await self.once()
