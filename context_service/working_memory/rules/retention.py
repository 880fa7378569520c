"""How long archived records are kept, and how records are purged.

The retention of a record begins when it was archived or when it expired, whichever came first, and depends on its
memory type. It is not stored with the record: a changed setting applies to all records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from context_service.working_memory.store.blobs import blob_rows
from context_service.working_memory.store.retention import LET_GO, LOCK_DUE_RECORDS, PURGE_RECORDS
from context_service.working_memory.store.texts.passages import RecordPassages
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.principal import Principal

SWEEPER = "sweeper"  # the principal of changes that no caller made


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long an archived record is kept, in seconds; infinity keeps it for ever."""

    kept_s: float
    kept_s_by_type: Mapping[str, float] = field(default_factory=dict)


class Purges:
    """Deletes records for good; their action log stays.

    Args:
        database: The database that holds the records.
        passages: The store of passages, from which a record's passages are removed.
        retention: How long archived records are kept.
        blob_grace_s: Seconds that the bytes of a blob stay after its last record is gone.
    """

    def __init__(
        self, database: Database, passages: RecordPassages, *, retention: Retention, blob_grace_s: float
    ) -> None:
        self._database = database
        self._passages = passages
        self._retention = retention
        self._blob_grace_s = blob_grace_s

    async def purge(self, transaction: Transaction, record_ids: Sequence[UUID], *, principal: str, why: str) -> int:
        """Remove records with their vectors and passages, log it, and release blobs that no record needs any more.

        Returns:
            The number of records that were removed.
        """
        parameters = {"ids": list(record_ids), "principal": principal, "why": why}
        purged = await transaction.query(PURGE_RECORDS, parameters)
        if purged:
            await transaction.query(LET_GO, ([row.id for row in purged],))
            await self._passages.remove(transaction, purged)
        blobs = {(row.blob_id, row.owner_user_id) for row in purged if row.blob_id is not None}
        if blobs:
            await blob_rows.release(transaction, sorted(blobs), grace_s=self._blob_grace_s)
        return len(purged)

    async def purge_due(self, tenant: Tenant, *, count_max: int) -> int:
        """Remove up to `count_max` records whose retention is over, and return how many.

        Several replicas may run it at once: each takes different records.
        """
        retention = self._retention
        parameters = {
            "memory_types": list(retention.kept_s_by_type),
            "kept_s": list(retention.kept_s_by_type.values()),
            "kept_s_default": retention.kept_s,
            "count_max": count_max,
        }

        async def work(transaction: Transaction) -> int:
            due = [row.id for row in await transaction.query(LOCK_DUE_RECORDS, parameters)]
            return await self.purge(transaction, due, principal=SWEEPER, why="retention") if due else 0

        # This principal is bound to no user, because passages of records have no owner.
        tenant_rows = self._database.of(Principal(tenant_id=tenant.tenant_id, subject=SWEEPER))
        return await tenant_rows.transaction(work)
