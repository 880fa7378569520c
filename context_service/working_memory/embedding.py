"""The embedder's vectors of records' texts, made in the background.

A write that changes a record's text owes a vector: a row in the outbox, in its own transaction. The worker claims rows,
asks the embedder, and stores each vector in a transaction that locks the record and strikes the row out. The order of
locks is the same everywhere: the record, then its row. Work is never given up: what fails is tried again, ever more
rarely, and the record says why.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import random
from collections.abc import Sequence

import orjson
from pgvector import HalfVector

from context_service.working_memory.embedder import Embedder, EmbedderFailed, EmbedderMisconfigured, TextRefused
from context_service.working_memory.fields import Embedding
from context_service.working_memory.records import EMBEDDING_TOPIC
from contextkeep.errors import ContextKeepError
from service_runtime.outbox import Outbox, Owed
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.tenants import all_tenants

_log = logging.getLogger("embedding")

BATCH = 16  # texts of a request
LEASE_S = 60.0  # of claimed work, beside the time of the request
DELAY_S = 1.0  # after a first failure; then twice as long each time
DELAY_S_MAX = 3600.0  # of one text
PAUSE_S_MAX = 60.0  # of a worker whose endpoint does not answer
FAILED_ATTEMPTS = 5  # so many failures make a record FAILED; it is tried further

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


class RecordEmbedding:
    """The worker; any number of replicas may run it at once.

    Args:
        database: Where records and outbox are.
        embedder: What makes the vectors.
        text_chars: So much of a text is embedded.
        timeout_s: That a request to the embedder may take.
    """

    def __init__(self, database: Database, embedder: Embedder, *, text_chars: int, timeout_s: float) -> None:
        self._database = database
        self._embedder = embedder
        self._outbox = Outbox("context", EMBEDDING_TOPIC)
        self._text_chars = text_chars
        self._lease_s = LEASE_S + timeout_s

    async def keep_embedding(self, interval_s: float) -> None:
        """Embed what is due, until cancelled; longer and longer pauses while the embedder does not answer."""
        failures = 0
        while True:
            pause_s = interval_s
            try:
                await self.embed_due()
                failures = 0
            except EmbedderFailed as error:
                failures += 1
                pause_s = max(interval_s, error.retry_after_s, min(DELAY_S * 2.0 ** min(failures, 20), PAUSE_S_MAX))
                _log.warning("embedder failed", extra={"error": str(error), "pause_s": pause_s})
            except ContextKeepError as error:
                _log.warning("embedding failed", extra={"error": str(error)})
            except Exception:
                _log.exception("embedding failed")  # the next pass may do better
            await asyncio.sleep(pause_s * random.uniform(0.75, 1.25))  # noqa: S311

    async def embed_due(self) -> int:
        """Embed what is due of all tenants, a batch of each in turn; return how many vectors were stored.

        Raises:
            EmbedderFailed: the embedder does not answer as it should. What was claimed is tried again later.
            Unavailable: Postgres does not answer.
        """
        stored = 0
        busy = await all_tenants(self._database)
        while busy:
            still_busy = []
            for tenant in busy:
                claimed = await self._outbox.claim(tenant, count_max=BATCH, lease_s=self._lease_s)
                if claimed:
                    stored += await self._embed(tenant, claimed)
                if len(claimed) == BATCH:
                    still_busy.append(tenant)
            busy = still_busy
        return stored

    async def _embed(self, tenant: Tenant, claimed: Sequence[Owed]) -> int:
        """Store the vectors of claimed work; return of how much."""
        texts = await self._texts_of(tenant, claimed)
        try:
            embeddings = await self._embedder.embed(list(texts.values()))
        except EmbedderFailed as error:
            for owed in claimed:
                failed = isinstance(error, EmbedderMisconfigured) or owed.attempts >= FAILED_ATTEMPTS
                delay_s = max(error.retry_after_s, min(DELAY_S * 2.0 ** min(owed.attempts, 20), DELAY_S_MAX))
                await self._tell(tenant, owed, str(error), failed=failed, delay_s=delay_s)
            raise
        except TextRefused as error:
            if len(claimed) > 1:  # which one it is, each alone will tell
                return sum([await self._embed(tenant, [owed]) for owed in claimed])
            await self._tell(tenant, claimed[0], str(error), failed=True, delay_s=DELAY_S_MAX)
            return 0
        return sum(
            [await self._store(tenant, owed, texts[owed], made) for owed, made in zip(claimed, embeddings, strict=True)]
        )

    async def _texts_of(self, tenant: Tenant, claimed: Sequence[Owed]) -> dict[Owed, str]:
        """Return what is embedded of each record that is still there; of the others, something."""
        ids = [owed.subject_id for owed in claimed]
        texts = {}
        for row in await tenant.query(_READ_TEXTS, (tenant.tenant_id, ids)):
            content = row.content_text or ""
            if row.content_json is not None:
                value = orjson.loads(row.content_json)
                # Written anew: what was escaped in the document is one text with what was not.
                content = value if isinstance(value, str) else orjson.dumps(value).decode()
            texts[row.id] = "\n".join(part for part in (row.name, row.description, content) if part)
        return {owed: texts.get(owed.subject_id, "-")[: self._text_chars] for owed in claimed}

    async def _store(self, tenant: Tenant, owed: Owed, text: str, embedding: Embedding) -> bool:
        """Store a vector, unless the record is gone or its text has changed meanwhile."""
        parameters = {
            "tenant_id": tenant.tenant_id,
            "id": owed.subject_id,
            "dimension": len(embedding.values),
            "model": embedding.model,
            "text_sha256": hashlib.sha256(text.encode()).digest(),
            "vector": HalfVector(list(embedding.values)),
        }

        async def work(transaction: Transaction) -> bool:
            there = await transaction.query(_LOCK_RECORD, (tenant.tenant_id, owed.subject_id))
            if not await self._outbox.done(transaction, owed) or not there:
                return False
            await transaction.query(_PUT_VECTOR, parameters)
            return True

        return await tenant.transaction(work)

    async def _tell(self, tenant: Tenant, owed: Owed, error: str, *, failed: bool, delay_s: float) -> None:
        """Let the record say what went wrong, and try again in `delay_s`."""
        parameters = {"tenant_id": tenant.tenant_id, "id": owed.subject_id, "error": error, "failed": failed}

        async def work(transaction: Transaction) -> None:
            await transaction.query(_LOCK_RECORD, (tenant.tenant_id, owed.subject_id))
            if await self._outbox.postpone(transaction, owed, delay_s=delay_s, error=error):
                await transaction.query(_TELL_FAILURE, parameters)

        await tenant.transaction(work)
