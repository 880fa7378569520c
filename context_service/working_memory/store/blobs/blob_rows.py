"""The rows of blobs. A row is inserted before its bytes and deleted after them, so that no bytes are without a row.

`writing` has a lease; `part` and `live` promise the bytes; `deleting` hands them to the sweeper. A change together with
other rows takes the caller's transaction; a single statement takes the tenant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeVar
from uuid import UUID

import psycopg

from context_service.blobs.storage import Digest
from service_runtime.postgres import Across, Tenant, Transaction
from service_runtime.statements.optimistic import RowsChanged, until_written
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

_T = TypeVar("_T")

SQL = SqlFile.of(__file__)
_START = SQL["start"]
_RENEW = SQL["renew"]
_HOLD_SAME_CONTENT = SQL["hold_same_content"]
_PUBLISH = SQL["publish"]
_GIVE_UP = SQL["give_up"]
_IS_USED = SQL["is_used"]
_LOCK = SQL["lock"]
_RELEASE = SQL["release"]
_CLAIM_DUE = SQL["claim_due"]
_FORGET = SQL["forget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DueBlob:
    """A blob whose bytes must be removed; its row is leased to the sweeper that claimed it."""

    id: UUID
    provider: str
    key: str
    was_abandoned: bool  # an upload that was never finished; otherwise a blob that no record needs


async def start(tenant: Tenant, blob_id: UUID, *, provider: str, key: str, lease_s: float) -> None:
    """Insert the row of a blob before its first byte is written."""
    await tenant.query(_START, (tenant.tenant_id, blob_id, provider, key, timedelta(seconds=lease_s)))


async def renew(tenant: Tenant, blob_id: UUID, *, lease_s: float) -> bool:
    """Renew the lease of an upload; False if a sweeper has taken it already."""
    return bool(await tenant.query(_RENEW, (timedelta(seconds=lease_s), tenant.tenant_id, blob_id)))


async def publish(transaction: Transaction, blob_id: UUID, *, provider: str, digest: Digest) -> UUID | None:
    """Make a written blob live, or use a live blob of the same content instead, and lock the live one.

    If there is a live blob of the same content, the written one is handed to the sweeper.

    Returns:
        The id of the live blob; None if a sweeper took the written one, because no byte had arrived for too long.

    Raises:
        RowsChanged: a concurrent call made the same content live; run the transaction again.
    """
    content = {
        "id": blob_id,
        "provider": provider,
        "sha256": digest.sha256,
        "size_bytes": digest.size_bytes,
        "crc32c": digest.crc32c,
    }
    for row in await transaction.query(_HOLD_SAME_CONTENT, content):
        await give_up(transaction, blob_id)
        same_id: UUID = row.id
        return same_id
    try:
        published = await transaction.query(_PUBLISH, content)
    except psycopg.errors.UniqueViolation as error:
        raise RowsChanged from error
    return blob_id if published else None


async def hold_content(
    connection: Tenant | Transaction, *, provider: str, sha256: bytes, size_bytes: int
) -> UUID | None:
    """Return the live blob with this content, locked if called in a transaction; None if there is none."""
    content = {"provider": provider, "sha256": sha256, "size_bytes": size_bytes}
    for row in await connection.query(_HOLD_SAME_CONTENT, content):
        same_id: UUID = row.id
        return same_id
    return None


async def give_up(connection: Tenant | Transaction, blob_id: UUID) -> bool:
    """Hand a blob that was being written to the sweeper; return False if its state is no longer `writing`."""
    return bool(await connection.query(_GIVE_UP, (connection.tenant_id, blob_id)))


async def is_used(tenant: Tenant, blob_id: UUID) -> bool:
    """Tell whether a record or an unfinished upload may point to the blob."""
    return bool(await tenant.query(_IS_USED, (tenant.tenant_id, blob_id)))


async def release(transaction: Transaction, blobs: Sequence[tuple[UUID, str]], *, grace_s: float) -> int:
    """Hand to the sweeper, due after `grace_s`, the blobs that no record points to; return how many.

    Args:
        transaction: The transaction that removed the records.
        blobs: The ids of blobs, each with the owner of a record that pointed to it; an empty owner is nobody.
        grace_s: Seconds that the bytes stay.
    """
    ids = [blob_id for blob_id, _ in blobs]
    await transaction.query(_LOCK, (transaction.tenant_id, ids))
    parameters = {"ids": ids, "owners": [owner for _, owner in blobs], "grace": timedelta(seconds=grace_s)}
    return len(await transaction.query(_RELEASE, parameters))


async def claim_due(tenant: Tenant, *, count_max: int, lease_s: float) -> list[DueBlob]:
    """Claim blobs that are due; no other sweeper gets them for `lease_s`."""
    parameters = {"count_max": count_max, "lease": timedelta(seconds=lease_s)}
    return [copied(DueBlob, row) for row in await tenant.query(_CLAIM_DUE, parameters)]


async def forget(tenant: Tenant, blob_ids: Sequence[UUID]) -> None:
    """Remove the rows of blobs whose bytes are gone."""
    await tenant.query(_FORGET, (tenant.tenant_id, list(blob_ids)))


async def publishing(
    tenant: Tenant, work: Callable[[Transaction], Awaitable[_T]], *, across: Across | None = None
) -> _T:
    """Run a transaction that publishes a blob; retry while concurrent calls make the same content live first.

    Args:
        tenant: The tenant whose blob is published.
        work: The steps of the transaction; called again for each retry.
        across: See the argument of `Tenant.transaction`, to which it is passed.

    Raises:
        Aborted: in each retry, another call made the same content live first.
        Errors of `work`: they are raised unchanged.
    """
    return await until_written(partial(tenant.transaction, work, across=across), what="the same content")
