"""Vectors of records: one of the text of each record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import orjson
from pgvector import HalfVector

from context_service.retrieval.room import TextVector
from context_service.working_memory.store.records import EMBEDDING_TOPIC
from service_runtime.postgres import Tenant, Transaction
from service_runtime.statements.sql_files import SqlFile

SQL = SqlFile.of(__file__)
_READ_TEXTS = SQL["read_texts"]
_LOCK_RECORD = SQL["lock_record"]
_PUT_VECTOR = SQL["put_vector"]
_TELL_FAILURE = SQL["tell_failure"]


class RecordVectors:
    """Lets the worker that makes vectors read records and store their vectors: implements `TextOwners`."""

    topic = EMBEDDING_TOPIC

    async def texts(self, tenant: Tenant, ids: Sequence[UUID]) -> Mapping[UUID, Sequence[str]]:
        """Return the text of each record: its name, description and content."""
        texts = {}
        for row in await tenant.query(_READ_TEXTS, (tenant.tenant_id, list(ids))):
            content = row.content_text or ""
            if row.content_json is not None:
                value = orjson.loads(row.content_json)
                # Serialized again, so that escaped and unescaped characters give the same text.
                content = value if isinstance(value, str) else orjson.dumps(value).decode()
            texts[row.id] = ["\n".join(part for part in (row.name, row.description, content) if part)]
        return texts

    async def lock(self, transaction: Transaction, owner_id: UUID) -> bool:
        """Lock a record until the transaction ends; False if it is gone."""
        return bool(await transaction.query(_LOCK_RECORD, (transaction.tenant_id, owner_id)))

    async def put(self, transaction: Transaction, owner_id: UUID, vectors: Sequence[TextVector]) -> None:
        """Store the vector of a locked record, and mark the record as indexed."""
        (vector,) = vectors
        parameters = {
            "id": owner_id,
            "dimension": len(vector.embedding.values),
            "model": vector.embedding.model,
            "text_sha256": vector.text_sha256,
            "vector": HalfVector(list(vector.embedding.values)),
        }
        await transaction.query(_PUT_VECTOR, parameters)

    async def tell(self, transaction: Transaction, owner_id: UUID, error: str, *, failed: bool) -> None:
        """Store with a locked record why it could not be embedded."""
        parameters = {"id": owner_id, "error": error, "failed": failed}
        await transaction.query(_TELL_FAILURE, parameters)
