"""The SQL of resumable uploads: the upload, and its parts, which are blobs in the state `part`.

The row of the upload is the lock: adding a part, joining the parts and giving the upload up lock it first. Their next
statement reads the parts, and sees those that were committed while it waited.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from context_service.blobs.storage import Declared, Digest, StoredBlob
from context_service.kernel.embedding import Embedding
from context_service.working_memory.pure.fields import RecordInput
from contextkeep.errors import Aborted, UploadNotFound
from service_runtime.postgres import Tenant, Transaction
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

SQL = SqlFile.of(__file__)
_START_UPLOAD = SQL["start_upload"]
_FIND_UPLOAD = SQL["find_upload"]
_RENEW_UPLOAD = SQL["renew_upload"]
_LOCK_UPLOAD = SQL["lock_upload"]
_LIST_PARTS = SQL["list_parts"]
_ADD_PART = SQL["add_part"]
_REMOVE_UPLOAD = SQL["remove_upload"]
_GIVE_UP_UPLOADS = SQL["give_up_uploads"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenUpload:
    """An upload that is not finished."""

    id: UUID
    draft: RecordInput
    declared: Declared
    offset_bytes: int  # the end of its last part
    parts: int
    due_at: datetime  # aware, UTC


async def start(
    transaction: Transaction, upload_id: UUID, draft: RecordInput, declared: Declared, *, lease_s: float
) -> datetime:
    """Insert an upload without parts, and return when it expires."""
    lease = timedelta(seconds=lease_s)
    record = Jsonb(_json_of(draft))
    parameters = (transaction.tenant_id, upload_id, lease, declared.size_bytes, declared.sha256, record)
    (row,) = await transaction.query(_START_UPLOAD, parameters)
    due_at: datetime = row.due_at.astimezone(UTC)
    return due_at


async def find(connection: Tenant | Transaction, upload_id: UUID) -> OpenUpload | None:
    """Return an upload; None if there is none."""
    for row in await connection.query(_FIND_UPLOAD, (connection.tenant_id, upload_id)):
        return OpenUpload(
            id=upload_id,
            draft=_input_of(row.record),
            declared=Declared(size_bytes=row.size_bytes, sha256=None if row.sha256 is None else bytes(row.sha256)),
            offset_bytes=row.offset_bytes,
            parts=row.parts,
            due_at=row.due_at.astimezone(UTC),
        )
    return None


async def lock(transaction: Transaction, upload_id: UUID) -> bool:
    """Lock an upload until the transaction ends; False if there is none."""
    return bool(await transaction.query(_LOCK_UPLOAD, (transaction.tenant_id, upload_id)))


async def renew(tenant: Tenant, upload_id: UUID, *, lease_s: float) -> bool:
    """Renew the lease of an upload; False if there is none."""
    return bool(await tenant.query(_RENEW_UPLOAD, (timedelta(seconds=lease_s), tenant.tenant_id, upload_id)))


async def parts(transaction: Transaction, upload_id: UUID) -> Sequence[StoredBlob]:
    """Return the stored parts of a locked upload, in order."""
    return [
        copied(StoredBlob, row, crc32c=bytes(row.crc32c))
        for row in await transaction.query(_LIST_PARTS, (transaction.tenant_id, upload_id))
    ]


async def add_part(
    transaction: Transaction, upload: OpenUpload, blob_id: UUID, digest: Digest, *, lease_s: float
) -> datetime | None:
    """Make a written blob the next part of a locked upload, and return when the upload expires.

    Returns:
        When the upload expires; None if a sweeper took the blob, because no byte had arrived for too long.
    """
    parameters = {
        "upload_id": upload.id,
        "blob_id": blob_id,
        "offset_bytes": upload.offset_bytes,
        "number": upload.parts + 1,
        "size_bytes": digest.size_bytes,
        "sha256": digest.sha256,
        "crc32c": digest.crc32c,
        "lease": timedelta(seconds=lease_s),
    }
    for row in await transaction.query(_ADD_PART, parameters):
        due_at: datetime = row.due_at.astimezone(UTC)
        return due_at
    return None


async def end(transaction: Transaction, upload: OpenUpload) -> None:
    """Delete an upload whose parts were joined, and hand the parts' blobs to the sweeper.

    Raises:
        UploadNotFound: the upload had ended before.
        Aborted: a part was added to it meanwhile.
    """
    if not await lock(transaction, upload.id):
        raise upload_not_found(upload.id)
    (row,) = await transaction.query(_REMOVE_UPLOAD, {"id": upload.id})
    if row.size_bytes != upload.offset_bytes:
        raise Aborted("a part was added while the parts were joined; call FinishUpload again", upload_id=upload.id)


async def give_up_due(tenant: Tenant, *, count_max: int) -> int:
    """Remove up to `count_max` expired uploads, hand their parts to the sweeper, and return how many."""
    return len(await tenant.query(_GIVE_UP_UPLOADS, {"count_max": count_max}))


def upload_not_found(upload_id: UUID) -> UploadNotFound:
    """Return the error for an upload that does not exist, or that has ended."""
    return UploadNotFound(f"upload {upload_id} does not exist, or has expired; start a new one")


def _json_of(draft: RecordInput) -> dict[str, Any]:
    """Return the input of a record as JSON, for the row of its upload."""
    values = dataclasses.asdict(draft)
    del values["content_text"]  # an upload has none, and a replica of the previous version does not know the field
    for name in ("id", "entity_node_id"):
        values[name] = values[name] and str(values[name])
    values["expires_at"] = draft.expires_at and draft.expires_at.isoformat()
    return values


def _input_of(values: dict[str, Any]) -> RecordInput:
    """Return the record of an upload, as it was stored when the upload began."""
    values = dict(values)
    for name in ("id", "entity_node_id"):
        values[name] = values[name] and UUID(values[name])
    values["expires_at"] = values["expires_at"] and datetime.fromisoformat(values["expires_at"])
    values["tags"] = tuple(values["tags"])
    if embedding := values["embedding"]:
        values["embedding"] = Embedding(values=tuple(embedding["values"]), model=embedding["model"])
    return RecordInput(**values)
