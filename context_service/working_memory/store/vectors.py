"""Vectors of records: one of the text of each record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import orjson
from pgvector import HalfVector

from context_service.retrieval.store.text_owners import TextVector
from context_service.working_memory.store.records import EMBEDDING_TOPIC
from service_runtime.postgres import Tenant, Transaction

_READ_TEXTS = """
SELECT id, name, description, content::text AS content_json,
    CASE WHEN content IS NULL THEN content_text END AS content_text
FROM context.wm_record
WHERE tenant_id = %s AND id = ANY (%s)
"""

_LOCK_RECORD = "SELECT id FROM context.wm_record WHERE tenant_id = %s AND id = %s FOR NO KEY UPDATE"

_PUT_VECTOR = """
WITH indexed AS (
    UPDATE context.wm_record SET index_state = 'INDEXED', index_error = ''
    WHERE tenant_id = %(tenant_id)s AND id = %(id)s
    RETURNING entity_node_id, archived_at, expires_at, memory_type, graph_name, agent_bundle_id, app_id
)
INSERT INTO context.embedding (
    tenant_id, owner_kind, owner_id, dimension, model, text_sha256, vector, entity_node_id, hidden_at, memory_type,
    graph_name, agent_bundle_id, app_id
)
SELECT %(tenant_id)s, 'record', %(id)s, %(dimension)s, %(model)s, %(text_sha256)s, %(vector)s, entity_node_id,
    least(archived_at, expires_at), memory_type, graph_name, agent_bundle_id, app_id
FROM indexed
ON CONFLICT (tenant_id, owner_kind, owner_id, name) DO UPDATE
    SET dimension = excluded.dimension, model = excluded.model, vector = excluded.vector,
        text_sha256 = excluded.text_sha256, created_at = now()
"""

_TELL_FAILURE = """
UPDATE context.wm_record
SET index_error = %(error)s, index_state = CASE WHEN %(failed)s THEN 'FAILED' ELSE index_state END
WHERE tenant_id = %(tenant_id)s AND id = %(id)s
"""


class RecordVectors:
    """Records, as `TextOwners`."""

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
        """Store the error with a locked record."""
        parameters = {"id": owner_id, "error": error, "failed": failed}
        await transaction.query(_TELL_FAILURE, parameters)
