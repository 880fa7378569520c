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
from context_service.working_memory.store.blobs.blob_rows import SQL as BLOB_ROWS_SQL
from service_runtime.postgres import Row, Tenant, Transaction
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

_PAGE = 100

SQL = SqlFile.of(__file__, blob_rows=BLOB_ROWS_SQL)
_LIST_BLOBS = SQL["list_blobs"]
_COUNT_BLOBS = SQL["count_blobs"]
_KNOWN_KEYS = SQL["known_keys"]
_RECORDS_OF_BLOB = SQL["records_of_blob"]
_IS_NEEDED = SQL["is_needed"]
_SAME_CONTENT = SQL["same_content"]
_HOLD_SAME_CONTENT_THERE = SQL["hold_same_content_there"]
_LOCK_RECORDS_OF_BLOB = SQL["lock_records_of_blob"]
_LOCK_LIVE_BLOB = SQL["lock_live_blob"]
_MOVE_RECORDS = SQL["move_records"]
_LET_GO_UNREFERENCED = SQL["let_go_unreferenced"]
_MARK_DAMAGED = SQL["mark_damaged"]
_MARK_SOUND = SQL["mark_sound"]
_ADOPT = SQL["adopt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobRow:
    """The row of a blob whose bytes are stored."""

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
        tenant: The tenant that owns the blobs.
        provider: The storage provider of the blobs; empty means all providers.
        with_parts: Also yield the parts of unfinished uploads.
    """
    after = UUID(int=0)
    while True:
        parameters = {"provider": provider, "with_parts": with_parts, "after": after, "count_max": _PAGE}
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
    """Say whether a record or an upload still needs the bytes of a blob."""
    return bool(await tenant.query(_IS_NEEDED, (tenant.tenant_id, blob_id)))


async def records_of(tenant: Tenant, blob_id: UUID, *, count_max: int) -> list[UUID]:
    """Return the ids of up to `count_max` records that point to the blob."""
    return [row.id for row in await tenant.query(_RECORDS_OF_BLOB, (tenant.tenant_id, blob_id, count_max))]


async def same_content(tenant: Tenant, blob: BlobRow) -> list[BlobRow]:
    """Return other blobs with the same content that are not marked as damaged; blobs in use come first."""
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
        "grace": timedelta(seconds=grace_s),
    }
    (row,) = await transaction.query(_MOVE_RECORDS, parameters)
    moved: int = row.records
    return moved


async def let_go(tenant: Tenant, blob_id: UUID, *, grace_s: float) -> bool:
    """Hand a live blob to the sweeper; return False if a record points to it."""

    async def work(transaction: Transaction) -> bool:
        await transaction.query(_LOCK_LIVE_BLOB, (transaction.tenant_id, blob_id))
        grace = timedelta(seconds=grace_s)
        return bool(await transaction.query(_LET_GO_UNREFERENCED, (grace, transaction.tenant_id, blob_id)))

    return await tenant.transaction(work)


async def mark_damaged(tenant: Tenant, blob_id: UUID) -> None:
    """Mark a blob as damaged, so that new uploads of the same content do not use it."""
    await tenant.query(_MARK_DAMAGED, (tenant.tenant_id, blob_id))


async def mark_sound(tenant: Tenant, blob_id: UUID) -> bool:
    """Remove the damage mark of a blob; return False if another blob with the same content is in use by now."""
    return bool(await tenant.query(_MARK_SOUND, {"id": blob_id}))


async def adopt(tenant: Tenant, blob_id: UUID, *, provider: str, key: str, size_bytes: int, grace_s: float) -> bool:
    """Insert a row for stored bytes that have none, so that the sweeper removes them after `grace_s`."""
    parameters = (tenant.tenant_id, blob_id, provider, key, timedelta(seconds=grace_s), size_bytes)
    return bool(await tenant.query(_ADOPT, parameters))


def _blob_row(row: Row) -> BlobRow:
    return copied(BlobRow, row, sha256=bytes(row.sha256), crc32c=bytes(row.crc32c))
