"""Compute `edge.newest_below` of edges that were written without it.

An append knows the value, and so does a small write. Edges that are written by the hundred into existing nodes
(imports, bulk attachments) do not; this task computes their values, some edges at a time. Until then a walk to the
newest messages visits everything above such edges.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace
from uuid import UUID

from contextkeep.errors import ContextKeepError
from entity_service.store.edges import SETTLE_EDGES
from service_runtime.auth.tenants import Rounds
from service_runtime.postgres import Database, Tenant

_log = logging.getLogger("settling")

INTERVAL_S = 30.0

BATCH_EDGES = 200  # edges of one batch: some 20 ms; appends below these edges wait for as long

PASSES_MAX = 10  # over the edges of a tenant, at once

_REST = 9.0  # length of the pause after a batch, as a multiple of the batch's time

_LAST_ID = UUID(int=2**128 - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """How far the task has read a tenant's edges."""

    node_id: UUID = _LAST_ID
    edge_id: UUID = _LAST_ID
    settled: int = 0
    number: int = 1  # number of this reading in the pass


class EdgeSettling:
    """Settles the edges of all tenants. Replicas may all do it: they take turns with each tenant."""

    def __init__(self, database: Database) -> None:
        self._rounds = Rounds(database, self._settle_some)
        self._readings: dict[UUID, _Reading] = {}  # by tenant, of those that are not at their end

    async def once(self) -> None:
        """Settle the edges that can be settled; others are tried again in the next round."""
        try:
            await self._rounds.run()
        except ContextKeepError as error:
            _log.warning("edges were not settled", extra={"error": str(error)})

    async def _settle_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Settle a batch of a tenant's edges, as far as possible; return how many, and whether to go on."""
        started = time.monotonic()
        reading = self._readings.pop(tenant.tenant_id, _Reading())
        place = {"before_node_id": reading.node_id, "before_id": reading.edge_id}
        (row,) = await tenant.query(SETTLE_EDGES, {"edges_max": BATCH_EDGES, **place})
        settled = int(row.settled)
        if row.looked_at == BATCH_EDGES:
            reading = replace(reading, node_id=row.last_node_id, edge_id=row.last_id, settled=reading.settled + settled)
            await asyncio.sleep(_REST * (time.monotonic() - started))
        elif reading.settled + settled and reading.number < PASSES_MAX:
            # Another edge may have waited only for one that is settled now.
            reading = _Reading(number=reading.number + 1)
        else:
            return settled, False
        self._readings[tenant.tenant_id] = reading
        return settled, True

    async def keep_settling(self) -> None:
        """Settle now and then, until cancelled."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            await self.once()
