"""Composition of the room knowledge bases: opens what only it needs, and returns its servicer and what others use."""

from __future__ import annotations

from contextlib import AsyncExitStack

from context_service.kernel.ground import REQUESTS, Ground
from context_service.knowledge_bases.rules.bases import KnowledgeBases
from context_service.knowledge_bases.rules.documents import DocumentTexts
from context_service.knowledge_bases.rules.drop import BaseDropping
from context_service.knowledge_bases.store.bases import BaseRows
from context_service.knowledge_bases.store.documents import DocumentRows
from context_service.retrieval.room import keep_making_passage_vectors
from context_service.retrieval.store.passages import KNOWLEDGE_BASE
from service_runtime import background


async def open_knowledge_bases(ground: Ground, stack: AsyncExitStack) -> KnowledgeBases:
    """Begin to read documents, to follow the records that some are of, and to drop what found those that are gone."""
    await keep_making_passage_vectors(ground, KNOWLEDGE_BASE, stack)
    database, passages = ground.database, ground.passages
    documents = DocumentRows(database, passages, queued_max=ground.settings.queued_items_max)
    texts = DocumentTexts(database, documents, ground.record_texts, ground.reader, count=ground.tokens.count)
    for work in (texts.keep_reading, texts.keep_following, BaseDropping(database, passages).keep_dropping):
        await stack.enter_async_context(background.keeping(work))
    allowed = ground.settings.bedrock_knowledge_bases
    return KnowledgeBases(database, BaseRows(database), documents, bedrock_ids=allowed, requests=REQUESTS)
