"""Vectors of passages: queued by writes, made by a worker, and compared with queries.

A write queues its scope (`Passages.put`): one row of the outbox for any number of passages, whose payload says where
vectors may be missing (`vector_outbox`). The worker claims scopes, reads the passages without a vector of its model,
embeds many short texts at once, and stores the vectors. A passage never changes, so its vector stays right. A passage
is locked while its vector is stored, so that a concurrent removal waits and then removes the vector, too: passages are
removed first, then their vectors.

A text that the model refuses gets a row without a vector and is not retried. Other failures stay queued, and the row of
the outbox has the error. Vectors of another model stay until they are replaced, and are not compared, since each
statement names the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from pgvector import HalfVector

from context_service.kernel.embedding import Embedding
from context_service.kernel.llm.embeddings import Embedder, EmbedderFailed, TextRefused
from context_service.retrieval.store.vector_outbox import SQL as VECTOR_OUTBOX_SQL
from context_service.retrieval.store.vector_outbox import owing_topic
from context_service.retrieval.vector_worker import DELAY_S, PAUSE_S_MAX, Worker
from service_runtime.background_work.outbox import QueuedItem
from service_runtime.postgres import Across, Database, Tenant
from service_runtime.statements.sql_files import SqlFile

SCOPES_MAX = 16  # the most scopes that a worker claims at once
TEXTS_MAX = 64  # the most texts of one request, taken from all claimed scopes
BESIDE = 0.7  # the weight of the passage before a passage, when both are compared with a query together

_WHY = "a background job embeds the texts of all users; no row becomes visible to others"

SQL = SqlFile.of(__file__, vector_outbox=VECTOR_OUTBOX_SQL)
_ADVANCE = SQL["advance"]
_DONE = SQL["done"]
_RELEASE = SQL["release"]
_POSTPONE = SQL["postpone"]
_LACKING = Across(
    sql=SQL["lacking"],
    why=_WHY,
    contexts=True,
    subjects=True,
)

_STORE = Across(
    sql=SQL["store"],
    why=_WHY,
    contexts=True,
    subjects=True,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """The text of a passage that has no vector."""

    scope_id: UUID
    seq: int
    ordinal: int
    text: str


class PassageVectorMaking(Worker):
    """The worker that embeds the passages of one kind of scope; any number of replicas may run it at the same time.

    Args:
        database: The database that holds the passages and the queue.
        kind: The kind of scope whose passages are embedded.
        embedder: Turns texts into vectors.
        text_chars: The first characters of a text that are embedded; the rest is ignored.
    """

    def __init__(self, database: Database, kind: str, embedder: Embedder, *, text_chars: int) -> None:
        super().__init__(database, owing_topic(kind))
        self._kind = kind
        self._embedder = embedder
        self._topic = owing_topic(kind)
        self._text_chars = text_chars

    async def make_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Embed as many passages as one request takes; return how many were stored, and whether more may be due."""
        async with self._outbox.claimed(tenant, count_max=SCOPES_MAX) as claimed:
            return await self._make(tenant, claimed) if claimed else (0, False)

    async def _make(self, tenant: Tenant, claimed: Sequence[QueuedItem]) -> tuple[int, bool]:
        """Embed passages of claimed scopes; return the number stored, and whether more are due.

        Each scope has the same share of the request. A scope with fewer passages leaves the rest of its share unused.

        Raises:
            EmbedderFailed: the embedder does not answer as it should. All claimed scopes are postponed.
        """
        each = max(1, TEXTS_MAX // len(claimed))
        texts = await self._lacking(tenant, claimed, each)
        vectors_or_refusals: list[Embedding | TextRefused] = []
        try:
            vectors_or_refusals = await self._embed([text.text for text in texts])
        except EmbedderFailed as error:
            attempts = min(owed.attempts for owed in claimed)
            delay_s = max(error.retry_after_s, min(DELAY_S * 2.0 ** min(attempts, 20), PAUSE_S_MAX))
            await tenant.query(
                _POSTPONE,
                {
                    **self._parameters(tenant),
                    "scope_ids": [owed.subject_id for owed in claimed],
                    "delay": timedelta(seconds=delay_s),
                    "error": str(error),
                },
            )
            raise
        stored = await self._store(tenant, texts, vectors_or_refusals) if texts else 0
        more = False
        for owed in claimed:
            count = sum(text.scope_id == owed.subject_id for text in texts)
            more |= await self._go_on(tenant, owed, is_last=count < each)
        return stored, more

    async def _lacking(self, tenant: Tenant, claimed: Sequence[QueuedItem], each: int) -> list[_Text]:
        """Return the passages of each scope that have no vector, and note the position of the first one."""
        parameters = {
            **self._parameters(tenant),
            "scope_kind": self._kind,
            "model": self._embedder.model,
            "scope_ids": [owed.subject_id for owed in claimed],
            "chars": self._text_chars,
            "count_max": each,
        }
        texts = [_Text(**row._asdict()) for row in await tenant.query(_LACKING, parameters)]
        first = {text.scope_id: text.seq for text in reversed(texts)}
        for owed in claimed:
            if owed.subject_id in first:
                await tenant.query(_ADVANCE, {**self._parameters(tenant), "id": owed.id, "seq": first[owed.subject_id]})
        return texts

    async def _embed(self, texts: Sequence[str]) -> list[Embedding | TextRefused]:
        """Embed texts, in order; if the embedder refuses a batch, embed each text alone to find the refused one."""
        if not texts:
            return []
        try:
            return list(await self._embedder.embed_in_background(texts))
        except TextRefused as error:
            if len(texts) == 1:
                return [error]
        half = len(texts) // 2
        return [*await self._embed(texts[:half]), *await self._embed(texts[half:])]

    async def _store(
        self, tenant: Tenant, texts: Sequence[_Text], vectors_or_refusals: Sequence[Embedding | TextRefused]
    ) -> int:
        """Store the vectors and refusals of passages that still exist, and return how many."""
        vectors = [
            None if isinstance(vector, TextRefused) else HalfVector(list(vector.values)).to_text()
            for vector in vectors_or_refusals
        ]
        parameters = {
            **self._parameters(tenant),
            "scope_kind": self._kind,
            "model": self._embedder.model,
            "scope_ids": [text.scope_id for text in texts],
            "seqs": [text.seq for text in texts],
            "ordinals": [text.ordinal for text in texts],
            "errors": [str(vector) if isinstance(vector, TextRefused) else "" for vector in vectors_or_refusals],
            "vectors": vectors,
        }
        return len(await tenant.query(_STORE, parameters))

    async def _go_on(self, tenant: Tenant, owed: QueuedItem, *, is_last: bool) -> bool:
        """Remove a scope from the queue if none of its passages is left; return whether it is still queued."""
        if is_last and await tenant.query(_DONE, {**self._parameters(tenant), "id": owed.id}):
            return False
        await tenant.query(_RELEASE, {**self._parameters(tenant), "scope_id": owed.subject_id})
        return True

    def _parameters(self, tenant: Tenant) -> dict[str, object]:
        return {"tenant_id": tenant.tenant_id, "topic": self._topic}
