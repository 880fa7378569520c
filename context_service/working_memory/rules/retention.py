"""How long archived records are kept, and how records are purged.

The retention of a record begins when it was archived or when it expired, whichever came first, and depends on its
memory type. It is not stored with the record: a changed setting applies to all records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from context_service.working_memory.store import blob_rows
from context_service.working_memory.store.passages import RecordPassages
from service_runtime.auth import Principal
from service_runtime.postgres import Database, Tenant, Transaction

SWEEPER = "sweeper"  # the principal of changes that no caller made

# One memory type after the other, hopping through the index, because each has its own time: those that are kept for
# years are not looked at again by every sweep. Below a policy an index takes no bound that a function makes, hence the
# materialized times. What somebody else has locked is left to him, or to the next sweep. An interval of more than
# three centuries stands for ever; Postgres 16 has no infinite ones.
_LOCK_DUE_RECORDS = """
WITH RECURSIVE archived_type (name) AS (
    SELECT min(memory_type) FROM context.wm_record
    WHERE tenant_id = %(tenant_id)s AND least(archived_at, expires_at) IS NOT NULL
    UNION ALL
    SELECT (
        SELECT min(r.memory_type) FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND least(r.archived_at, r.expires_at) IS NOT NULL AND r.memory_type > t.name
    )
    FROM archived_type t WHERE t.name IS NOT NULL
), due_type AS MATERIALIZED (
    SELECT t.name, CASE WHEN kept.s < 1e10 THEN now() - make_interval(secs => kept.s) ELSE '-infinity' END AS until
    FROM archived_type t CROSS JOIN LATERAL (
        SELECT coalesce(
            (
                SELECT own.kept_s FROM unnest(%(memory_types)s::text[], %(kept_s)s::float8[]) AS own (name, kept_s)
                WHERE own.name = t.name
            ),
            %(kept_s_default)s::float8
        ) AS s
    ) kept
    WHERE t.name IS NOT NULL
)
SELECT due.id
FROM due_type t CROSS JOIN LATERAL (
    SELECT r.id FROM context.wm_record r
    WHERE r.tenant_id = %(tenant_id)s AND r.memory_type = t.name AND least(r.archived_at, r.expires_at) <= t.until
    ORDER BY least(r.archived_at, r.expires_at)
    LIMIT %(count_max)s
    FOR UPDATE SKIP LOCKED
) due
LIMIT %(count_max)s
"""

_PURGE_RECORDS = """
WITH purged AS (
    DELETE FROM context.wm_record WHERE tenant_id = %(tenant_id)s AND id = ANY (%(ids)s)
    RETURNING id, seq, entity_node_id, blob_id, memory_type, size_bytes, passage_count
), vectors AS (
    DELETE FROM context.embedding
    WHERE tenant_id = %(tenant_id)s AND owner_kind = 'record' AND owner_id = ANY (%(ids)s)
), owed AS (
    DELETE FROM context.outbox
    WHERE tenant_id = %(tenant_id)s AND topic IN ('embedding', 'text') AND subject_id = ANY (%(ids)s)
), logged AS (
    INSERT INTO context.action (tenant_id, record_id, entity_node_id, created_at, kind, principal, details)
    SELECT %(tenant_id)s, id, entity_node_id, clock_timestamp(), 'purged', %(principal)s,
        jsonb_build_object('why', %(why)s::text, 'memory_type', memory_type, 'size_bytes', size_bytes)
    FROM purged
)
SELECT id, seq, entity_node_id, blob_id, passage_count FROM purged
"""

# A statement behind that one: it sees who pointed at a record while that one waited for it.
_LET_GO = "SELECT context.let_go_of_records(%s::uuid[])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long an archived record is kept, in seconds; infinity keeps it for ever."""

    kept_s: float
    kept_s_by_type: Mapping[str, float] = field(default_factory=dict)


class Purges:
    """Removes records for good.

    Args:
        database: Where they are.
        passages: Removes their passages.
        retention: How long archived records are kept.
        blob_grace_s: How long the bytes of a blob stay after its last record is gone.
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
            How many of them there were.
        """
        parameters = {"ids": list(record_ids), "principal": principal, "why": why}
        purged = await transaction.query(_PURGE_RECORDS, parameters)
        if purged:
            await transaction.query(_LET_GO, ([row.id for row in purged],))
            await self._passages.remove(transaction, purged)
        blob_ids = {row.blob_id for row in purged if row.blob_id is not None}
        if blob_ids:
            await blob_rows.release(transaction, sorted(blob_ids), grace_s=self._blob_grace_s)
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
            due = [row.id for row in await transaction.query(_LOCK_DUE_RECORDS, parameters)]
            return await self.purge(transaction, due, principal=SWEEPER, why="retention") if due else 0

        # As a principal that is bound to no user: passages of records have no owner.
        door = self._database.of(Principal(tenant_id=tenant.tenant_id, subject=SWEEPER))
        return await door.transaction(work)
