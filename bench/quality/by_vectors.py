"""A searcher by vectors alone: passages as the services embedded them, by their cosines with the question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from uuid import UUID

from bench.passages import PRINCIPAL
from bench.quality.conversations import Ask, Conversation, Searcher
from bench.quality.over_services import Contexts
from context_service.kernel.llm.local import MODEL, LocalEmbedder
from context_service.retrieval.model import PassageScope
from context_service.retrieval.store.nearest import Nearest
from service_runtime.postgres import Database

TIMEOUT_S = 60.0


@contextmanager
def by_vectors(database_url: str, contexts: Contexts) -> Iterator[Searcher]:
    """Yield a searcher of the passages that the services wrote and embedded.

    Args:
        database_url: URL of the database of the services.
        contexts: Writes each conversation to a context of the service.
    """
    with asyncio.Runner() as runner:
        opened = AsyncExitStack()

        async def connected() -> Database:
            database = await opened.enter_async_context(
                Database.open(database_url, connections_max=1, name="by-vectors")
            )
            await database.untenanted("SELECT 1")  # after this call nothing runs that would wait for a connection
            return database

        database = runner.run(connected())
        nearest = Nearest(database, model=MODEL, unrelated=0.0)
        embedder = LocalEmbedder(processes=1, timeout_s=TIMEOUT_S)

        async def seqs(context_id: UUID, text: str) -> Sequence[int]:
            (question,) = await embedder.embed([text])
            near = await nearest.to(
                question.values,
                principal=PRINCIPAL,
                scope=PassageScope.of_context(context_id),
                whole=True,
                places=(),
                seq_from=0,
                seq_to=0,
            )
            best = sorted(near.cosines.items(), key=lambda one: -one[1][0])
            return list(dict.fromkeys(seq for (seq, _), _ in best))  # a long message has several passages

        def search(conversation: Conversation) -> Ask:
            context_id = UUID(contexts.of(conversation))
            return lambda text: [conversation.turns[seq - 1].id for seq in runner.run(seqs(context_id, text))]

        try:
            yield search
        finally:
            runner.run(embedder.close())
            runner.run(opened.aclose())
