"""Vectors of texts, made in the background after a write.

A write that changes a text queues its vector in the same transaction, as a row of the outbox. The worker claims rows,
calls the embedder, and stores the vectors in a transaction that locks the text's owner and removes the row. Locks are
always taken in the same order: the owner, then its row. Failed work is retried for ever, at growing intervals, and the
owner has the error.

Texts that change belong to other packages, such as records: each package brings its `TextOwners`. Passages never
change, and there are many: they have a worker of their own (`passage_vectors`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from context_service.kernel.llm.embeddings import Embedder, EmbedderFailed, EmbedderMisconfigured, TextRefused
from context_service.retrieval.store.text_owners import TextOwners, TextVector
from context_service.retrieval.vector_worker import DELAY_S, Worker
from service_runtime.background_work.outbox import QueuedItem
from service_runtime.postgres import Database, Tenant, Transaction

BATCH = 16  # texts in one request to the embedder
DELAY_S_MAX = 3600.0  # the longest delay of one text
FAILED_ATTEMPTS = 5  # after this number of failures the state of an owner is FAILED, but it is still retried


class VectorMaking(Worker):
    """The worker of one kind of owners; any number of replicas may run it at once.

    Args:
        database: The database that holds the owners and the queue.
        owners: Reads the texts of owners, such as records, and stores their vectors.
        embedder: Turns texts into vectors.
        text_chars: The first characters of a text that are embedded; the rest is ignored.
    """

    def __init__(self, database: Database, owners: TextOwners, embedder: Embedder, *, text_chars: int) -> None:
        super().__init__(database, owners.topic)
        self._owners = owners
        self._embedder = embedder
        self._text_chars = text_chars

    async def make_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Make the vectors of a batch of owners; return for how many, and whether more may be due."""
        async with self._outbox.claimed(tenant, count_max=BATCH) as claimed:
            stored = await self._make(tenant, claimed) if claimed else 0
        return stored, len(claimed) == BATCH

    async def _make(self, tenant: Tenant, claimed: Sequence[QueuedItem]) -> int:
        """Make and store the vectors of claimed owners; return for how many they were stored."""
        texts = await self._owners.texts(tenant, [owed.subject_id for owed in claimed])
        of_each = [[text[: self._text_chars] for text in texts.get(owed.subject_id, ())] for owed in claimed]
        try:
            vectors = iter(await self._embed([text for of_one in of_each for text in of_one]))
        except EmbedderFailed as error:
            for owed in claimed:
                failed = isinstance(error, EmbedderMisconfigured) or owed.attempts >= FAILED_ATTEMPTS
                delay_s = max(error.retry_after_s, min(DELAY_S * 2.0 ** min(owed.attempts, 20), DELAY_S_MAX))
                await self._tell(tenant, owed, str(error), failed=failed, delay_s=delay_s)
            raise
        except TextRefused as error:
            if len(claimed) > 1:  # one of the texts was refused: embed the texts of each owner alone to find it
                return sum([await self._make(tenant, [owed]) for owed in claimed])
            await self._tell(tenant, claimed[0], str(error), failed=True, delay_s=DELAY_S_MAX)
            return 0
        return sum(
            [
                await self._store(tenant, owed, [next(vectors) for _ in of_one])
                for owed, of_one in zip(claimed, of_each, strict=True)
            ]
        )

    async def _embed(self, texts: Sequence[str]) -> list[TextVector]:
        """Embed texts, a batch at a time, and return their vectors in order."""
        vectors: list[TextVector] = []
        for start in range(0, len(texts), BATCH):
            batch = texts[start : start + BATCH]
            vectors += [
                TextVector(embedding=embedding, text_sha256=hashlib.sha256(text.encode()).digest())
                for text, embedding in zip(batch, await self._embedder.embed_in_background(batch), strict=True)
            ]
        return vectors

    async def _store(self, tenant: Tenant, owed: QueuedItem, vectors: Sequence[TextVector]) -> bool:
        """Store the vectors of an owner, unless it is gone or its texts have changed meanwhile."""

        async def work(transaction: Transaction) -> bool:
            there = await self._owners.lock(transaction, owed.subject_id)
            if not await self._outbox.done(transaction, owed) or not there:
                return False
            await self._owners.put(transaction, owed.subject_id, vectors)
            return True

        return await tenant.transaction(work)

    async def _tell(self, tenant: Tenant, owed: QueuedItem, error: str, *, failed: bool, delay_s: float) -> None:
        """Store the error with the owner, and retry in `delay_s` seconds."""

        async def work(transaction: Transaction) -> None:
            await self._owners.lock(transaction, owed.subject_id)
            if await self._outbox.postpone(transaction, owed, delay_s=delay_s, error=error):
                await self._owners.tell(transaction, owed.subject_id, error, failed=failed)

        await tenant.transaction(work)
