"""The SQL of an operator's work on blobs: where they are stored, moves, and damage.

It sees keys, and several rows of the same content, which callers never see. Uploads and the sweeper use `blob_rows.py`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from psycopg.types.json import Jsonb

from context_service.blobs.storage import StoredBlob
from service_runtime.copying import copied
from service_runtime.postgres import Row, Tenant, Transaction

_PAGE = 100

# `part` is a piece of an unfinished upload; the other two states promise nothing.
_LIST_BLOBS = """
SELECT b.id, b.provider, b.key, b.state, b.size_bytes, b.sha256, b.crc32c, b.damaged_at IS NOT NULL AS damaged
FROM context.blob b
WHERE b.tenant_id = %(tenant_id)s AND b.id > %(behind)s AND b.state IN ('live', 'part')
    AND (b.state = 'live' OR %(with_parts)s) AND (%(provider)s = '' OR b.provider = %(provider)s)
ORDER BY b.id
LIMIT %(count_max)s
"""

_COUNT_BLOBS = """
SELECT count(*) AS blobs, coalesce(sum(size_bytes), 0)::bigint AS size_bytes
FROM context.blob
WHERE tenant_id = %(tenant_id)s AND state IN ('live', 'part') AND (state = 'live' OR %(with_parts)s)
    AND (%(provider)s = '' OR provider = %(provider)s)
"""

_KNOWN_KEYS = "SELECT key FROM context.blob WHERE tenant_id = %s AND provider = %s AND key = ANY (%s)"

_RECORDS_OF_BLOB = """
SELECT id FROM context.wm_record WHERE tenant_id = %s AND blob_id = %s ORDER BY id LIMIT %s
"""

_IS_NEEDED = "SELECT id FROM context.blob WHERE tenant_id = %s AND id = %s AND state IN ('live', 'part')"

# Sound or not yet looked at, on any provider; also what is only waiting to be removed.
_SAME_CONTENT = """
SELECT id, provider, key, state, size_bytes, sha256, crc32c, false AS damaged
FROM context.blob
WHERE tenant_id = %(tenant_id)s AND sha256 = %(sha256)s AND size_bytes = %(size_bytes)s AND id <> %(id)s
    AND damaged_at IS NULL AND crc32c IS NOT NULL
    AND (state = 'live' OR (state = 'deleting' AND due_at > now() + interval '1 hour'))
ORDER BY state DESC, id
"""

_HOLD_SAME_CONTENT_THERE = """
SELECT id FROM context.blob
WHERE tenant_id = %(tenant_id)s AND provider = %(provider)s AND sha256 = %(sha256)s AND size_bytes = %(size_bytes)s
    AND state = 'live' AND damaged_at IS NULL AND id <> %(id)s
FOR KEY SHARE
"""

# The records first, as a purge locks them; then the blob, so that nothing new points to it until the end.
_LOCK_RECORDS_OF_BLOB = """
SELECT id FROM context.wm_record WHERE tenant_id = %s AND blob_id = %s ORDER BY id FOR NO KEY UPDATE
"""
_LOCK_LIVE_BLOB = "SELECT id FROM context.blob WHERE tenant_id = %s AND id = %s AND state = 'live' FOR UPDATE"

# Where the bytes are is no part of what the caller said of the record, so its version stays.
_MOVE_RECORDS = """
WITH moved AS (
    UPDATE context.wm_record SET blob_id = %(to_id)s, provider = %(provider)s
    WHERE tenant_id = %(tenant_id)s AND blob_id = %(from_id)s
    RETURNING id, entity_node_id
), logged AS (
    INSERT INTO context.action (tenant_id, record_id, entity_node_id, created_at, kind, principal, details)
    SELECT %(tenant_id)s, id, entity_node_id, clock_timestamp(), 'moved', %(principal)s, %(details)s FROM moved
)
SELECT count(*) AS records FROM moved
"""

_LET_GO = """
UPDATE context.blob SET state = 'deleting', due_at = now() + %s WHERE tenant_id = %s AND id = %s AND state = 'live'
"""

_LET_GO_UNREFERENCED = """
UPDATE context.blob b SET state = 'deleting', due_at = now() + %s
WHERE b.tenant_id = %s AND b.id = %s AND b.state = 'live'
    AND NOT EXISTS (SELECT FROM context.wm_record r WHERE r.tenant_id = b.tenant_id AND r.blob_id = b.id)
RETURNING b.id
"""

_MARK_DAMAGED = """
UPDATE context.blob SET damaged_at = coalesce(damaged_at, now()) WHERE tenant_id = %s AND id = %s
"""

# Another blob of the same content may have become live meanwhile; then the mark stays.
_MARK_SOUND = """
UPDATE context.blob b SET damaged_at = NULL
WHERE b.tenant_id = %(tenant_id)s AND b.id = %(id)s AND NOT EXISTS (
    SELECT FROM context.blob o
    WHERE o.tenant_id = b.tenant_id AND o.provider = b.provider AND o.sha256 = b.sha256
        AND o.size_bytes = b.size_bytes AND o.state = 'live' AND o.damaged_at IS NULL
)
RETURNING b.id
"""

_ADOPT = """
INSERT INTO context.blob (tenant_id, id, provider, key, state, due_at, size_bytes)
VALUES (%s, %s, %s, %s, 'deleting', now() + %s, %s)
ON CONFLICT (tenant_id, provider, key) DO NOTHING
RETURNING id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobRow:
    """The row of a blob that has bytes."""

    id: UUID
    provider: str
    key: str
    state: str
    size_bytes: int
    sha256: bytes
    crc32c: bytes
    damaged: bool

    def stored(self) -> StoredBlob:
        """Return the value with which `BlobStorage` reads the blob."""
        return copied(StoredBlob, self)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobCount:
    """A number of blobs and their bytes."""

    blobs: int = 0
    size_bytes: int = 0

    def __add__(self, other: BlobCount) -> BlobCount:
        return BlobCount(blobs=self.blobs + other.blobs, size_bytes=self.size_bytes + other.size_bytes)


async def rows(tenant: Tenant, *, provider: str = "", with_parts: bool = False) -> AsyncGenerator[BlobRow, None]:
    """Yield the blobs that have bytes, in order of ids, page by page.

    Args:
        tenant: The tenant.
        provider: Where they are stored; empty: anywhere.
        with_parts: Also the parts of unfinished uploads.
    """
    after = UUID(int=0)
    while True:
        parameters = {"provider": provider, "with_parts": with_parts, "behind": after, "count_max": _PAGE}
        page = [_blob_row(row) for row in await tenant.query(_LIST_BLOBS, parameters)]
        for blob in page:
            yield blob
        if len(page) < _PAGE:
            return
        after = page[-1].id


async def count(tenant: Tenant, *, provider: str = "", with_parts: bool = False) -> BlobCount:
    """Count the blobs that `rows` yields, and their bytes."""
    parameters = {"provider": provider, "with_parts": with_parts}
    (row,) = await tenant.query(_COUNT_BLOBS, parameters)
    return BlobCount(blobs=row.blobs, size_bytes=row.size_bytes)


async def known_keys(tenant: Tenant, provider: str, keys: Collection[str]) -> set[str]:
    """Return the keys that have a row, in any state."""
    return {row.key for row in await tenant.query(_KNOWN_KEYS, (tenant.tenant_id, provider, list(keys)))}


async def is_needed(tenant: Tenant, blob_id: UUID) -> bool:
    """Tell whether a blob still promises its bytes."""
    return bool(await tenant.query(_IS_NEEDED, (tenant.tenant_id, blob_id)))


async def records_of(tenant: Tenant, blob_id: UUID, *, count_max: int) -> list[UUID]:
    """Return the ids of up to `count_max` records that point to the blob."""
    return [row.id for row in await tenant.query(_RECORDS_OF_BLOB, (tenant.tenant_id, blob_id, count_max))]


async def same_content(tenant: Tenant, blob: BlobRow) -> list[BlobRow]:
    """Return other blobs of the same content that are not known to be damaged, those that are in use first."""
    parameters = {"id": blob.id, "sha256": blob.sha256, "size_bytes": blob.size_bytes}
    return [_blob_row(row) for row in await tenant.query(_SAME_CONTENT, parameters)]


async def hold_same_content(transaction: Transaction, blob: BlobRow, *, provider: str) -> UUID | None:
    """Return another live blob of the same content at the provider, locked until the transaction ends; or None."""
    parameters = {"id": blob.id, "provider": provider, "sha256": blob.sha256, "size_bytes": blob.size_bytes}
    for row in await transaction.query(_HOLD_SAME_CONTENT_THERE, parameters):
        same_id: UUID = row.id
        return same_id
    return None


async def lock(transaction: Transaction, blob_id: UUID) -> bool:
    """Lock a live blob and its records until the transaction ends; False if it is not live any more."""
    key = (transaction.tenant_id, blob_id)
    await transaction.query(_LOCK_RECORDS_OF_BLOB, key)
    return bool(await transaction.query(_LOCK_LIVE_BLOB, key))


async def move_records(
    transaction: Transaction,
    from_id: UUID,
    to_id: UUID,
    *,
    provider: str,
    principal: str,
    details: dict[str, str],
    grace_s: float,
) -> int:
    """Point the records of a locked blob to another blob, log it, and hand the old one to the sweeper after `grace_s`.

    Returns:
        The number of records.
    """
    parameters = {
        "from_id": from_id,
        "to_id": to_id,
        "provider": provider,
        "principal": principal,
        "details": Jsonb(details),
    }
    (row,) = await transaction.query(_MOVE_RECORDS, parameters)
    await transaction.query(_LET_GO, (timedelta(seconds=grace_s), transaction.tenant_id, from_id))
    moved: int = row.records
    return moved


async def let_go(tenant: Tenant, blob_id: UUID, *, grace_s: float) -> bool:
    """Hand a live blob to the sweeper if no record points to it; False if one does."""

    async def work(transaction: Transaction) -> bool:
        await transaction.query(_LOCK_LIVE_BLOB, (transaction.tenant_id, blob_id))
        grace = timedelta(seconds=grace_s)
        return bool(await transaction.query(_LET_GO_UNREFERENCED, (grace, transaction.tenant_id, blob_id)))

    return await tenant.transaction(work)


async def mark_damaged(tenant: Tenant, blob_id: UUID) -> None:
    """Keep new uploads of the same content away from a blob."""
    await tenant.query(_MARK_DAMAGED, (tenant.tenant_id, blob_id))


async def mark_sound(tenant: Tenant, blob_id: UUID) -> bool:
    """Remove the mark of damage; False if another blob of the same content is in use by now."""
    return bool(await tenant.query(_MARK_SOUND, {"id": blob_id}))


async def adopt(tenant: Tenant, blob_id: UUID, *, provider: str, key: str, size_bytes: int, grace_s: float) -> bool:
    """Insert a row for stored bytes that have none, so that the sweeper removes them after `grace_s`."""
    parameters = (tenant.tenant_id, blob_id, provider, key, timedelta(seconds=grace_s), size_bytes)
    return bool(await tenant.query(_ADOPT, parameters))


def _blob_row(row: Row) -> BlobRow:
    return copied(BlobRow, row, sha256=bytes(row.sha256), crc32c=bytes(row.crc32c))
