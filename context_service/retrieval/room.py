"""Composition of the package retrieval: the reader of files, and the workers that make vectors."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from context_service.kernel.dependencies import Dependencies
from context_service.retrieval.documents.reading import DocumentReader
from context_service.retrieval.rules.meaning import Meaning
from context_service.retrieval.rules.search import Best, best, few_of_each
from context_service.retrieval.rules.search_across import best_across
from context_service.retrieval.rules.vectors import VectorMaking
from context_service.retrieval.rules.verify import Verifying
from context_service.retrieval.store.across import CONTEXTS_MAX, AcrossContexts, SearchedContexts
from context_service.retrieval.store.feeds import IndexedText, Owners, PassageFeed
from context_service.retrieval.store.nearest import Nearest
from context_service.retrieval.store.passage_vectors import PassageVectorMaking
from context_service.retrieval.store.passages import SQL as PASSAGES_SQL
from context_service.retrieval.store.passages import Passages, portions, putting, putting_bytes
from context_service.retrieval.store.text_owners import TextVector
from context_service.retrieval.store.user_scopes import users_of
from context_service.retrieval.store.vector_outbox import SQL as VECTOR_OUTBOX_SQL
from context_service.retrieval.store.vector_outbox import owing_topic
from context_service.retrieval.vector_worker import Worker
from context_service.settings import Settings
from service_runtime.background_work import background

# What other rooms use.
__all__ = [
    "CONTEXTS_MAX",
    "PASSAGES_SQL",
    "VECTOR_OUTBOX_SQL",
    "AcrossContexts",
    "Best",
    "IndexedText",
    "Meaning",
    "Owners",
    "PassageFeed",
    "Passages",
    "SearchedContexts",
    "TextVector",
    "VectorMaking",
    "Verifying",
    "best",
    "best_across",
    "document_reader_of",
    "few_of_each",
    "keep_making",
    "keep_making_passage_vectors",
    "meaning_of",
    "owing_topic",
    "portions",
    "putting",
    "putting_bytes",
    "users_of",
]


def document_reader_of(settings: Settings, *, bytes_max: int | None = None) -> DocumentReader:
    """Return the reader of files, with the limits of the settings.

    Args:
        settings: The settings, with the limits of a child process.
        bytes_max: Memory of all children together; None for a command, which holds no memory for callers.
    """
    return DocumentReader(
        memory_bytes_max=settings.document_parser_memory_bytes_max,
        together_bytes_max=bytes_max,
        timeout_s=settings.document_parser_timeout_s,
    )


def meaning_of(deps: Dependencies) -> Meaning | None:
    """Return the comparison by embeddings; None if no embedder is configured."""
    if deps.embedder is None or deps.questions is None:
        return None
    nearest = Nearest(deps.database, model=deps.embedder.model, unrelated=deps.embedder.unrelated)
    return Meaning(questions=deps.questions, nearest=nearest)


async def keep_making(settings: Settings, worker: Worker, stack: AsyncExitStack) -> None:
    """Make vectors in the background, until the stack ends."""
    await stack.enter_async_context(background.keeping(partial(worker.keep_making, settings.embedding_interval_s)))


async def keep_making_passage_vectors(deps: Dependencies, kind: str, stack: AsyncExitStack) -> None:
    """Embed passages of one kind of scope, if there is an embedder."""
    if deps.embedder is None:
        return
    making = PassageVectorMaking(
        deps.database,
        kind,
        deps.embedder,
        text_chars=deps.settings.embedding_text_chars,
    )
    await keep_making(deps.settings, making, stack)
