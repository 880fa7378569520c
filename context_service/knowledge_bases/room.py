"""Composition of the room knowledge bases: opens what only it needs, and returns its servicer and what others use."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from context_service.kernel.ground import REQUESTS, Ground, Room
from context_service.knowledge_bases.api import KnowledgeBasesServicer
from context_service.knowledge_bases.rules.bases import KnowledgeBases
from context_service.knowledge_bases.rules.documents import DocumentTexts
from context_service.knowledge_bases.rules.drop import BaseDropping
from context_service.knowledge_bases.store.bases import BaseRows
from context_service.knowledge_bases.store.documents import DocumentRows
from context_service.retrieval.room import keep_making_passage_vectors
from context_service.retrieval.store.passages import KNOWLEDGE_BASE
from contextkeep.context.v1.knowledge_bases_pb2_grpc import add_KnowledgeBasesServicer_to_server
from service_runtime import background
from service_runtime.server import Service


async def open_knowledge_bases(ground: Ground, stack: AsyncExitStack) -> Room[KnowledgeBasesServicer]:
    """Begin to read documents, to follow their records, and to drop the passages of deleted bases."""
    await keep_making_passage_vectors(ground, KNOWLEDGE_BASE, stack)
    database, passages = ground.database, ground.passages
    documents = DocumentRows(database, passages, queued_max=ground.settings.queued_items_max)
    texts = DocumentTexts(database, documents, ground.record_texts, ground.reader, count=ground.tokens.count)
    for work in (texts.keep_reading, texts.keep_following, BaseDropping(database, passages).keep_dropping):
        await stack.enter_async_context(background.keeping(work))
    allowed = ground.settings.bedrock_knowledge_bases
    bases = KnowledgeBases(database, BaseRows(database), documents, bedrock_ids=allowed, requests=REQUESTS)
    servicer = KnowledgeBasesServicer(bases)
    service = Service(
        full_name="contextkeep.context.v1.KnowledgeBases",
        add=partial(add_KnowledgeBasesServicer_to_server, servicer),
        checks=[ground.schema_ready],
    )
    return Room(servicer, service)
