"""The SQL of working memory: records, their vectors and their log.

A record's inline content is `json`, not `jsonb`, so it comes back byte for byte. A change of several rows takes the
caller's transaction; a single statement takes the tenant.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from pgvector import HalfVector
from psycopg.types.json import Jsonb

from context_service.blobs.storage import StoredBlob
from context_service.kernel.embedding import Embedding
from context_service.kernel.parts import File
from context_service.working_memory.pure.fields import RecordFilter
from context_service.working_memory.pure.record_terms import TERMS_VERSION
from context_service.working_memory.store.record_columns import (
    READ,
    STORED,
    Record,
    record_of,
    stored,
)
from context_service.working_memory.store.record_columns import SQL as RECORD_COLUMNS_SQL
from context_service.working_memory.store.record_filters import ACTIVE, filter_parameters
from context_service.working_memory.store.record_filters import SQL as RECORD_FILTERS_SQL
from context_service.working_memory.store.texts.record_index import index_records, terms_of
from service_runtime.postgres import Across, Database, Row, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.requests import Request, answer_parameters
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import fields_of
from service_runtime.values.ids import new_id

INLINE_PROVIDER = "postgres"
# Topics of the outbox, the work queue in Postgres.
EMBEDDING_TOPIC = "embedding"  # the work: make a vector of the record's text
TEXT_TOPIC = "text"  # the work: read the record's content, and make it searchable


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPage:
    """Records, newest first, and whether more follow."""

    records: list[Record]
    has_more: bool


class StoredFile(NamedTuple):
    """A record as a file of a message, and where its bytes are."""

    file: File
    blob: StoredBlob


def _stored_file(row: Row) -> StoredFile:
    """Return the file of a row of `files_of`."""
    file = File(
        working_memory_id=row.id,
        name=row.name,
        media_type=row.content_type,
        size_bytes=row.size_bytes,
        sha256=bytes(row.sha256 or b"").hex(),
    )
    blob = StoredBlob(provider=row.provider, key=row.key, size_bytes=row.size_bytes, crc32c=bytes(row.crc32c or b""))
    return StoredFile(file, blob)


# The columns that callers describe, each written from the parameter of its name.
_DRAFT_COLUMNS = (
    "entity_node_id", "expires_at", "size_bytes", "provider", "sha256", "memory_type", "subtype", "semantic_purpose",
    "name", "description", "reasoning", "content_type", "graph_name", "agent_bundle_id", "app_id", "tags",
)  # fmt: skip

SQL = SqlFile.of(
    __file__,
    active=ACTIVE,
    read=READ,
    record_columns=RECORD_COLUMNS_SQL,
    record_filters=RECORD_FILTERS_SQL,
    said_changes=", ".join(f"{name} = %({name})s" for name in _DRAFT_COLUMNS),
    said_columns=", ".join(_DRAFT_COLUMNS),
    said_values=", ".join(f"%({name})s" for name in _DRAFT_COLUMNS),
    stored=STORED,
    stored_archived=stored(is_archived="r.archived_at IS NOT NULL"),
)
_INSERT_RECORD = SQL["insert_record"]
_FIND_RECORD = Across(
    sql=SQL["find_record"],
    contexts=True,
    administrators=True,
    why="the caller names a record; the policies of records hide the files of contexts that it does not see",
)
_LOCK_RECORD = SQL["lock_record"]
_UPDATE_RECORD = SQL["update_record"]
_ARCHIVE_RECORD = SQL["archive_record"]
_RESTORE_RECORD = SQL["restore_record"]
_LIST_RECORDS = SQL["list_records"]
_HOLDS_TEXT = SQL["holds_text"]
_RECORD_EXISTS = SQL["record_exists"]
_FILES_OF = SQL["files_of"]
_APPEND_ACTION = SQL["append_action"]
_PUT_EMBEDDING = SQL["put_embedding"]
_DELETE_EMBEDDING = SQL["delete_embedding"]
_HAS_VECTOR_OF_CALLER = SQL["has_vector_of_caller"]


class Records:
    """The tables `wm_record`, `embedding` and `action`.

    A method that takes a transaction is a step of that transaction.

    Args:
        database: The database that holds these tables.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(
        self,
        principal: Principal,
        *,
        record_id: UUID | None = None,
        blob_key: str = "",
        with_content: bool = False,
        with_blob: bool = False,
    ) -> tuple[Record, StoredBlob | None] | None:
        """Return a record and where its blob is stored; None if there is none.

        Args:
            principal: The caller; its tenant and bounds limit the records.
            record_id: The id of the record; give either this or `blob_key`.
            blob_key: The key of the record's blob.
            with_content: Read the record's inline content too.
            with_blob: Read the checksums of the blob too.
        """
        parameters = {"id": record_id, "blob_key": blob_key, "with_content": with_content, "with_blob": with_blob}
        for row in await self._database.of(principal).query(_FIND_RECORD, parameters):
            stored = None
            if row.stored_key is not None:
                stored = StoredBlob(
                    provider=row.stored_provider,
                    key=row.stored_key,
                    size_bytes=row.size_bytes,
                    crc32c=bytes(row.stored_crc32c or b""),
                )
            return record_of(row, with_content=True), stored
        return None

    async def exists(self, principal: Principal, record_id: UUID) -> bool:
        """Tell whether a record has this id."""
        return bool(await self._database.of(principal).query(_RECORD_EXISTS, (principal.tenant_id, record_id)))

    async def files_of(
        self, principal: Principal, record_ids: Collection[str], *, context_id: UUID | None
    ) -> dict[str, StoredFile]:
        """Return the files of records, by the ids of the records.

        Records without a blob, archived ones, and those of other contexts are left out.

        Args:
            principal: The caller.
            record_ids: The records.
            context_id: The context whose records are read, too; None reads those that belong to none.
        """
        tenant = self._database.of(principal, context_id=context_id)
        rows = await tenant.query(_FILES_OF, {"ids": list(map(UUID, record_ids)), "context_id": context_id})
        return {row.id: _stored_file(row) for row in rows}

    async def page(
        self,
        principal: Principal,
        which: RecordFilter,
        *,
        after: tuple[datetime, int] | None,
        count_max: int,
        bytes_max: int,
        with_content: bool = False,
    ) -> RecordPage:
        """Return a page of an entity's records, newest first.

        Args:
            principal: The caller; its tenant and bounds limit the records.
            which: The entity whose records are wanted, and the filters.
            after: `created_at` and `seq` of the record before the page; None for the first page.
            count_max: The largest number of records on the page.
            bytes_max: Size of the page; a single record may be larger.
            with_content: Read the records' inline contents too.
        """
        created_at, seq = after or (None, 0)
        parameters = {
            "entity_node_id": which.entity_node_id,
            **filter_parameters(which),
            "blobs_only": which.blobs_only,
            "created_at": created_at,
            "seq": seq,
            "count_max": count_max,
            "bytes_max": bytes_max,
            "with_content": with_content,
        }
        rows = await self._database.of(principal).query(_LIST_RECORDS, parameters)
        return RecordPage(
            records=[record_of(row, with_content=True) for row in rows],
            has_more=bool(rows) and rows[0].found > len(rows),
        )

    async def insert(
        self,
        connection: Tenant | Transaction,
        record: Record,
        *,
        blob_id: UUID | None = None,
        blob_text: str | None = None,
        embedding: Embedding | None = None,
        owes_vector: bool = False,
        owes_text: bool = False,
        request: Request | None = None,
    ) -> Record:
        """Insert a record with its vector, log it, and answer its request; return it as stored, without its content.

        The database sets times, version and order; the values in `record` are ignored.

        Args:
            connection: The tenant of the principal, or a transaction if the insert is part of one.
            record: The fields to store.
            blob_id: The id of the record's blob, if it has one.
            blob_text: The beginning of the blob as searchable text; None if it has none.
            embedding: The vector that the caller sent, if any.
            owes_vector: Queue the embedding of the record's text.
            owes_text: Queue the reading of the text in the record's content.
            request: The idempotency key of the call; None if the caller gave none.

        Raises:
            RecordOrRequestExists: the id is taken, or the request was answered before; end the transaction.
        """
        parameters = {
            **self._parameters(connection.tenant_id, record),
            "terms": await terms_of(connection.tenant_id, record, blob_text=blob_text),
            "terms_version": TERMS_VERSION,
            "blob_id": blob_id,
            "blob_text": blob_text,
            "dimension": embedding and len(embedding.values),
            "model": embedding and embedding.model,
            "vector": embedding and HalfVector(list(embedding.values)),
            "order_id": new_id() if owes_vector else None,
            "topic": EMBEDDING_TOPIC,
            "text_order_id": new_id() if owes_text else None,
            "text_topic": TEXT_TOPIC,
            "request_id": request and request.request_id,
            **answer_parameters(request, connection.bounds),
        }
        try:
            (row,) = await connection.query(_INSERT_RECORD, parameters)
        except psycopg.errors.UniqueViolation as error:
            raise RecordOrRequestExists from error
        return record_of(row)

    async def lock(
        self, transaction: Transaction, *, record_id: UUID | None = None, blob_key: str = ""
    ) -> Record | None:
        """Return a record without its content, locked until the transaction ends; None if there is none.

        `is_archived` ignores `expires_at` here, so that an expired record may get a later expiry.
        """
        parameters = {"id": record_id, "blob_key": blob_key}
        for row in await transaction.query(_LOCK_RECORD, parameters):
            return record_of(row)
        return None

    async def update(
        self, transaction: Transaction, record: Record, *, content_changes: bool, texts_change: bool
    ) -> Record:
        """Store the fields of a locked record; return it without its content, with the next version number.

        Args:
            transaction: The transaction, which has locked the record.
            record: The fields to store.
            content_changes: The record gets the content of `record`.
            texts_change: Its name, its description or its content changes.
        """
        parameters = {
            **self._parameters(transaction.tenant_id, record),
            "content_changes": content_changes,
            "texts_change": texts_change,
        }
        (row,) = await transaction.query(_UPDATE_RECORD, parameters)
        if texts_change:
            await index_records(transaction, [record.id])
        return record_of(row)

    async def archive(self, principal: Principal, record_id: UUID) -> Record | None:
        """Archive a record, log it, and return it; None if no such record exists, or if it is archived already."""
        parameters = {"id": record_id, "principal": principal.subject}
        for row in await self._database.of(principal).query(_ARCHIVE_RECORD, parameters):
            return record_of(row)
        return None

    async def restore(self, principal: Principal, record_id: UUID) -> Record | None:
        """Restore an archived or expired record, log it, and return it; None if there is no such record to restore."""
        parameters = {"id": record_id, "principal": principal.subject}
        for row in await self._database.of(principal).query(_RESTORE_RECORD, parameters):
            return record_of(row)
        return None

    async def append_action(
        self,
        transaction: Transaction,
        record_id: UUID,
        kind: str,
        *,
        principal: str,
        request_id: UUID | None = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        """Append to a record's log."""
        parameters = {
            "record_id": record_id,
            "request_id": request_id,
            "kind": kind,
            "principal": principal,
            "details": Jsonb(details or {}),
        }
        await transaction.query(_APPEND_ACTION, parameters)

    async def put_embedding(self, transaction: Transaction, record_id: UUID, embedding: Embedding | None) -> None:
        """Replace the vector of a record, or remove it if `embedding` is None."""
        if embedding is None:
            await transaction.query(_DELETE_EMBEDDING, (transaction.tenant_id, record_id))
            return
        parameters = {
            "owner_id": record_id,
            "dimension": len(embedding.values),
            "model": embedding.model,
            "vector": HalfVector(list(embedding.values)),
        }
        await transaction.query(_PUT_EMBEDDING, parameters)

    async def holds_text(self, transaction: Transaction, record_id: UUID) -> bool:
        """Tell whether a record has inline text."""
        return bool(await transaction.query(_HOLDS_TEXT, (transaction.tenant_id, record_id)))

    async def has_vector_of_caller(self, transaction: Transaction, record_id: UUID) -> bool:
        """Tell whether a record has a vector that its caller sent."""
        return bool(await transaction.query(_HAS_VECTOR_OF_CALLER, (transaction.tenant_id, record_id)))

    def _parameters(self, tenant_id: UUID, record: Record) -> dict[str, Any]:
        """Return the SQL parameters that write a record."""
        return {
            **fields_of(record),
            "tenant_id": tenant_id,
            "blob_key": record.blob_key or None,
            "sha256": record.sha256 or None,
            "tags": list(record.tags),
        }


class RecordOrRequestExists(Exception):
    """The id of a record is taken, or its request was answered before; the caller must read again to know which."""
