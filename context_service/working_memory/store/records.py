"""The SQL of working memory: records, their vectors and their log.

A record's inline content is `json`, not `jsonb`, so it comes back byte for byte. A change of several rows takes the
caller's transaction; a single statement takes the tenant.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from pgvector import HalfVector
from psycopg.types.json import Jsonb

from context_service.blobs.storage import StoredBlob
from context_service.kernel.llm.embeddings import Embedding
from context_service.working_memory.pure.fields import RecordFilter
from context_service.working_memory.store.record_columns import (
    CONTENT,
    READ,
    SIZE_WITH_CONTENT,
    STORED,
    Record,
    record_of,
    stored,
)
from context_service.working_memory.store.record_filters import FILTERED, filter_parameters
from service_runtime.auth import Principal
from service_runtime.copying import fields_of
from service_runtime.ids import new_id
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.requests import Request, answer_parameters

INLINE_PROVIDER = "postgres"
EMBEDDING_TOPIC = "embedding"  # of the outbox: make a vector of the record's text
TEXT_TOPIC = "text"  # of the outbox: read the record's content, and make it searchable


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPage:
    """Records, newest first, and whether more follow."""

    records: list[Record]
    has_more: bool


# The columns of what a caller says, each written from the parameter of its name.
_SAID = (
    "entity_node_id", "expires_at", "size_bytes", "provider", "sha256", "memory_type", "subtype", "semantic_purpose",
    "name", "description", "reasoning", "content_type", "graph_name", "agent_bundle_id", "app_id", "tags",
    "search_language",
)  # fmt: skip

# The record, its vector, the first entry of its log and the answer to its request in one statement: one round trip,
# and all of it or nothing. Whatever is there already makes Postgres refuse the whole; a concurrent twin waits.
_INSERT_RECORD = f"""
WITH new_record AS (
    INSERT INTO context.wm_record AS r (
        {", ".join(_SAID)}, tenant_id, id, blob_id, blob_key, created_by, owner_user_id, agent_id, index_state,
        metadata, content, content_text, blob_text, text_state
    )
    VALUES (
        {", ".join(f"%({name})s" for name in _SAID)}, %(tenant_id)s, %(id)s, %(blob_id)s, %(blob_key)s, %(created_by)s,
        %(owner_user_id)s, %(agent_id)s, CASE WHEN %(order_id)s::uuid IS NULL THEN 'NONE' ELSE 'PENDING' END,
        %(metadata_json)s, %(content_json)s, %(content_text)s, %(blob_text)s,
        CASE WHEN %(text_order_id)s::uuid IS NULL THEN 'NONE' ELSE 'PENDING' END
    )
    RETURNING {STORED}
), new_vector AS (
    INSERT INTO context.embedding (
        tenant_id, owner_kind, owner_id, dimension, model, vector, entity_node_id, hidden_at, memory_type, graph_name,
        agent_bundle_id, app_id
    )
    SELECT %(tenant_id)s, 'record', id, %(dimension)s, %(model)s, %(vector)s::public.halfvec, entity_node_id,
        expires_at, memory_type, graph_name, agent_bundle_id, app_id
    FROM new_record
    WHERE %(vector)s::public.halfvec IS NOT NULL
), owed AS (
    INSERT INTO context.outbox (tenant_id, id, topic, subject_id)
    SELECT %(tenant_id)s, %(order_id)s, %(topic)s, id FROM new_record WHERE %(order_id)s::uuid IS NOT NULL
    UNION ALL
    SELECT %(tenant_id)s, %(text_order_id)s, %(text_topic)s, id FROM new_record
    WHERE %(text_order_id)s::uuid IS NOT NULL
), logged AS (
    INSERT INTO context.action (tenant_id, record_id, entity_node_id, request_id, kind, principal)
    SELECT %(tenant_id)s, id, entity_node_id, %(request_id)s, 'created', %(created_by)s FROM new_record
), answered AS (
    INSERT INTO context.request (tenant_id, request_id, rpc, fingerprint, answer)
    SELECT %(tenant_id)s, %(request_key)s, %(rpc)s, %(fingerprint)s, to_jsonb(new_record)
    FROM new_record
    WHERE %(request_key)s::uuid IS NOT NULL
)
SELECT {READ} FROM new_record
"""  # noqa: S608 - a constant

# Named by its id or by the key of its blob; the other one is null. CASE, because Postgres takes `coalesce` for what may
# leak, and compares that with all rows of the tenant, behind the policy, instead of asking an index.
_FIND_RECORD = f"""
SELECT {STORED}, {CONTENT},
    b.provider AS stored_provider, b.key AS stored_key, CASE WHEN %(with_blob)s THEN b.crc32c END AS stored_crc32c
FROM context.wm_record r LEFT JOIN context.blob b ON b.tenant_id = r.tenant_id AND b.id = r.blob_id
WHERE r.tenant_id = %(tenant_id)s AND r.id = CASE
    WHEN %(id)s::uuid IS NOT NULL THEN %(id)s::uuid
    ELSE (SELECT k.id FROM context.wm_record k WHERE k.tenant_id = %(tenant_id)s AND k.blob_key = %(blob_key)s)
END
"""  # noqa: S608 - a constant

# Locks the record until the transaction ends.
_LOCK_RECORD = f"""
SELECT {stored(is_archived="r.archived_at IS NOT NULL")}
FROM context.wm_record r
WHERE tenant_id = %(tenant_id)s AND id = CASE
    WHEN %(id)s::uuid IS NOT NULL THEN %(id)s::uuid
    ELSE (SELECT k.id FROM context.wm_record k WHERE k.tenant_id = %(tenant_id)s AND k.blob_key = %(blob_key)s)
END
FOR NO KEY UPDATE
"""  # noqa: S608 - a constant

# The content is left alone unless it changes: a megabyte that stays is not written again.
_UPDATE_RECORD = f"""
UPDATE context.wm_record r SET
    {", ".join(f"{name} = %({name})s" for name in _SAID)}, metadata = %(metadata_json)s,
    content = CASE WHEN %(content_changes)s THEN %(content_json)s::json ELSE content END,
    content_text = CASE WHEN %(content_changes)s THEN %(content_text)s::text ELSE content_text END,
    index_state = %(index_state)s, index_error = %(index_error)s, text_state = %(text_state)s,
    text_error = %(text_error)s,
    updated_at = greatest(now(), updated_at), version = version + 1
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
RETURNING {STORED}
"""  # noqa: S608 - a constant

_ARCHIVE_RECORD = f"""
WITH archived AS (
    UPDATE context.wm_record r SET archived_at = now(), updated_at = greatest(now(), updated_at), version = version + 1
    WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND archived_at IS NULL
    RETURNING {STORED}
), logged AS (
    INSERT INTO context.action (tenant_id, record_id, entity_node_id, created_at, kind, principal)
    SELECT %(tenant_id)s, id, entity_node_id, clock_timestamp(), 'archived', %(principal)s FROM archived
)
SELECT {READ} FROM archived
"""  # noqa: S608 - a constant

# An end that has passed would archive the record again at once.
_RESTORE_RECORD = f"""
WITH restored AS (
    UPDATE context.wm_record r SET archived_at = NULL, updated_at = greatest(now(), updated_at), version = version + 1,
        expires_at = CASE WHEN expires_at > now() THEN expires_at END
    WHERE tenant_id = %(tenant_id)s AND id = %(id)s AND (archived_at IS NOT NULL OR expires_at <= now())
    RETURNING {STORED}
), logged AS (
    INSERT INTO context.action (tenant_id, record_id, entity_node_id, created_at, kind, principal)
    SELECT %(tenant_id)s, id, entity_node_id, clock_timestamp(), 'restored', %(principal)s FROM restored
)
SELECT {READ} FROM restored
"""  # noqa: S608 - a constant

# A keyset page of at most `count_max` rows; one more is looked at, to know whether there are more. The window cuts it
# at a number of bytes, behind one row at least, so that a page of large documents never leaves the database. The first
# page starts at infinity: an OR for it would keep a prepared plan from starting any other page at its key, and so would
# `coalesce`, as above.
_LIST_RECORDS = f"""
SELECT {READ}, {CONTENT}, found
FROM (
    SELECT w.*, count(*) OVER () AS found, row_number() OVER newest AS place, sum(w.bytes) OVER newest AS bytes_so_far
    FROM (
        SELECT {STORED}, r.content, r.content_text, {SIZE_WITH_CONTENT} AS bytes
        FROM context.wm_record r
        WHERE r.tenant_id = %(tenant_id)s AND r.entity_node_id = %(entity_node_id)s
            AND (r.created_at, r.seq) < (
                CASE WHEN %(created_at)s::timestamptz IS NULL THEN 'infinity' ELSE %(created_at)s::timestamptz END,
                %(seq)s::bigint
            )
            AND (NOT %(blobs_only)s OR r.blob_id IS NOT NULL)
            AND {FILTERED}
        ORDER BY r.created_at DESC, r.seq DESC
        LIMIT %(count_max)s + 1
    ) w
    WINDOW newest AS (ORDER BY w.created_at DESC, w.seq DESC ROWS UNBOUNDED PRECEDING)
) r
WHERE place <= %(count_max)s AND (bytes_so_far <= %(bytes_max)s OR place = 1)
ORDER BY created_at DESC, seq DESC
"""  # noqa: S608 - a constant

_HOLDS_TEXT = """
SELECT id FROM context.wm_record WHERE tenant_id = %s AND id = %s AND content IS NULL AND content_text IS NOT NULL
"""

_RECORD_EXISTS = "SELECT id FROM context.wm_record WHERE tenant_id = %s AND id = %s"

# With the time of the clock: a transaction may have waited, since it began, for another one that is in the log now.
_APPEND_ACTION = """
INSERT INTO context.action (
    tenant_id, record_id, entity_node_id, created_at, request_id, kind, principal, details
)
SELECT tenant_id, id, entity_node_id, clock_timestamp(), %(request_id)s, %(kind)s, %(principal)s, %(details)s
FROM context.wm_record
WHERE tenant_id = %(tenant_id)s AND id = %(record_id)s
"""

_PUT_EMBEDDING = """
INSERT INTO context.embedding (
    tenant_id, owner_kind, owner_id, dimension, model, vector, entity_node_id, hidden_at, memory_type, graph_name,
    agent_bundle_id, app_id
)
SELECT %(tenant_id)s, 'record', r.id, %(dimension)s, %(model)s, %(vector)s, r.entity_node_id,
    least(r.archived_at, r.expires_at), r.memory_type, r.graph_name, r.agent_bundle_id, r.app_id
FROM context.wm_record r
WHERE r.tenant_id = %(tenant_id)s AND r.id = %(owner_id)s
ON CONFLICT (tenant_id, owner_kind, owner_id, name) DO UPDATE
    SET dimension = excluded.dimension, model = excluded.model, vector = excluded.vector, text_sha256 = NULL,
        created_at = now()
"""

_DELETE_EMBEDDING = """
DELETE FROM context.embedding WHERE tenant_id = %s AND owner_kind = 'record' AND owner_id = %s AND name = ''
"""

_HAS_VECTOR_OF_CALLER = """
SELECT owner_id FROM context.embedding
WHERE tenant_id = %s AND owner_kind = 'record' AND owner_id = %s AND name = '' AND text_sha256 IS NULL
"""


class Records:
    """The tables `wm_record`, `embedding` and `action`; a step of a caller's transaction takes that transaction.

    Args:
        database: Where they are.
        search_language: The language of new texts, for their word forms in full text search.
    """

    def __init__(self, database: Database, *, search_language: str) -> None:
        self._database = database
        self._search_language = search_language

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
            principal: The caller.
            record_id: Its id; or give `blob_key`.
            blob_key: The key of its blob.
            with_content: Read the inline content too.
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
            principal: The caller.
            which: The filter.
            after: `created_at` and `seq` of the record before the page; None for the first page.
            count_max: Records at most.
            bytes_max: Size of the page; a single record may be larger.
            with_content: Read the inline contents too.
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
        door: Tenant | Transaction,
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

        Times, version and order come from the database, whatever `record` says.

        Args:
            door: Of the principal: its tenant, or a transaction if the insert is a part of one.
            record: What to store.
            blob_id: Of its blob.
            blob_text: Searchable text of its blob.
            embedding: Its vector.
            owes_vector: Queue the making of its vector.
            owes_text: Queue the reading of its content.
            request: The idempotency key of the call.

        Raises:
            RecordOrRequestExists: the id is taken, or the request was answered before; end the transaction.
        """
        parameters = {
            **self._parameters(door.tenant_id, record),
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
            **answer_parameters(request, door.bounds),
        }
        try:
            (row,) = await door.query(_INSERT_RECORD, parameters)
        except psycopg.errors.UniqueViolation as error:
            raise RecordOrRequestExists from error
        return record_of(row)

    async def lock(
        self, transaction: Transaction, *, record_id: UUID | None = None, blob_key: str = ""
    ) -> Record | None:
        """Return a record without its content, locked until the transaction ends; None if there is none.

        `is_archived` does not look at `expires_at` here: an expired record may be given more time.
        """
        parameters = {"id": record_id, "blob_key": blob_key}
        for row in await transaction.query(_LOCK_RECORD, parameters):
            return record_of(row)
        return None

    async def update(self, transaction: Transaction, record: Record, *, content_changes: bool) -> Record:
        """Store the fields of a locked record and return it, a version later, without its content."""
        parameters = {**self._parameters(transaction.tenant_id, record), "content_changes": content_changes}
        (row,) = await transaction.query(_UPDATE_RECORD, parameters)
        return record_of(row)

    async def archive(self, principal: Principal, record_id: UUID) -> Record | None:
        """Archive a record, log it, and return it; None if there is none that is not archived."""
        parameters = {"id": record_id, "principal": principal.subject}
        for row in await self._database.of(principal).query(_ARCHIVE_RECORD, parameters):
            return record_of(row)
        return None

    async def restore(self, principal: Principal, record_id: UUID) -> Record | None:
        """Bring an archived or expired record back, log it, and return it; None if there is none."""
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
        return {
            **fields_of(record),
            "tenant_id": tenant_id,
            "blob_key": record.blob_key or None,
            "sha256": record.sha256 or None,
            "tags": list(record.tags),
            "search_language": self._search_language,
        }


class RecordOrRequestExists(Exception):
    """The id of a record is taken, or its request was answered before; the caller must read again to know which."""
