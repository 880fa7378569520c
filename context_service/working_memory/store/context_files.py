"""The SQL of the files of contexts: records that belong to a context, with the bytes that its messages hold."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from context_service.blobs.storage import StoredBlob
from service_runtime.postgres import Across, Row, Tenant, Transaction
from service_runtime.statements.sql_files import SqlFile

BLOB_KEY_PREFIX = "blob_"
CONTEXT_FILE = "context_file"  # the memory type of a file that a context owns
MESSAGE_FILE = "message_file"  # the memory type of an upload for a message that is not sent yet

SQL = SqlFile.of(__file__)
_FIND = Across(
    sql=SQL["find_files"],
    contexts=True,
    why="a message names files by their ids; files of contexts that the caller does not see stay hidden",
)
_HOLD_BLOBS = SQL["hold_blobs"]
_INSERT = SQL["insert_files"]
_HOLD = SQL["hold_files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A record that a message names, with the known facts about its bytes."""

    id: UUID
    context_id: UUID | None
    memory_type: str
    content_type: str
    name: str
    size_bytes: int
    sha256: bytes
    metadata_json: str
    blob_id: UUID | None
    stored: StoredBlob | None  # None if the record has no blob


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFile:
    """A file to insert into a context; its blob is live."""

    id: UUID
    blob_id: UUID
    provider: str
    sha256: bytes
    size_bytes: int
    name: str
    description: str
    content_type: str
    metadata_json: str


async def find(tenant: Tenant, record_ids: Sequence[UUID]) -> dict[UUID, FoundFile]:
    """Return the records with some ids that the caller sees, those of all contexts that it sees too."""
    return {row.id: _found(row) for row in await tenant.query(_FIND, {"ids": list(record_ids)})}


async def hold_blobs(transaction: Transaction, blob_ids: Sequence[UUID]) -> set[UUID]:
    """Lock live blobs until the transaction ends, and return the locked ones."""
    return {row.id for row in await transaction.query(_HOLD_BLOBS, {"ids": sorted(set(blob_ids))})}


async def insert(transaction: Transaction, context_id: UUID, files: Sequence[NewFile], *, created_by: str) -> None:
    """Insert files of a context, without those that it has."""
    parameters = {
        "context_id": context_id,
        "created_by": created_by,
        "memory_type": CONTEXT_FILE,
        "ids": [file.id for file in files],
        "blob_ids": [file.blob_id for file in files],
        "blob_keys": [BLOB_KEY_PREFIX + secrets.token_hex(16) for _ in files],
        "providers": [file.provider for file in files],
        "sha256s": [file.sha256 for file in files],
        "sizes": [file.size_bytes for file in files],
        "names": [file.name for file in files],
        "descriptions": [file.description for file in files],
        "content_types": [file.content_type for file in files],
        "metadata": [file.metadata_json for file in files],
    }
    await transaction.query(_INSERT, parameters)


async def hold(transaction: Transaction, context_id: UUID, files: dict[UUID, bytes]) -> set[UUID]:
    """Lock files of a context by their ids and sha256 until the transaction ends, and return the locked ones."""
    parameters = {"context_id": context_id, "ids": list(files), "sha256s": list(files.values())}
    return {row.id for row in await transaction.query(_HOLD, parameters)}


def _found(row: Row) -> FoundFile:
    """Return the file of a row, without a blob if its bytes are gone."""
    stored = None
    if row.key is not None:
        stored = StoredBlob(
            provider=row.provider, key=row.key, size_bytes=row.size_bytes, crc32c=bytes(row.crc32c or b"")
        )
    return FoundFile(
        id=row.id,
        context_id=row.context_id,
        memory_type=row.memory_type,
        content_type=row.content_type,
        name=row.name,
        size_bytes=row.size_bytes,
        sha256=bytes(row.sha256 or b""),
        metadata_json=row.metadata,
        blob_id=row.blob_id,
        stored=stored,
    )
