"""Composes the room knowledge bases: opens its own parts, and returns its servicer and the parts that others use."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.knowledge_bases.api import KnowledgeBasesServicer
from context_service.knowledge_bases.rules.bases import KnowledgeBases
from context_service.knowledge_bases.rules.documents import DocumentTexts
from context_service.knowledge_bases.rules.drop import BaseDropping
from context_service.knowledge_bases.rules.search import BaseSearch
from context_service.knowledge_bases.store.bases import DOCUMENT_TOPIC, BaseRows
from context_service.knowledge_bases.store.documents import DocumentRows
from context_service.knowledge_bases.store.passages import document_source
from context_service.retrieval.model import KNOWLEDGE_BASE
from context_service.retrieval.room import keep_making_passage_vectors
from contextkeep.context.v1.knowledge_bases_pb2_grpc import add_KnowledgeBasesServicer_to_server
from service_runtime.background_work import background
from service_runtime.grpc_server.server import Service

# The rules that other packages use.
__all__ = [
    "DOCUMENT_TOPIC",
    "BaseSearch",
    "document_source",
    "open_knowledge_bases",
]


async def open_knowledge_bases(deps: Dependencies, stack: AsyncExitStack) -> Room[KnowledgeBasesServicer]:
    """Begin to read documents, to follow their records, and to drop the passages of deleted bases."""
    await keep_making_passage_vectors(deps, KNOWLEDGE_BASE, stack)
    database, passages = deps.database, deps.passages
    documents = DocumentRows(database, passages, queued_max=deps.settings.queued_items_max)
    texts = DocumentTexts(database, documents, deps.record_texts, deps.reader, count=deps.tokens.count)
    for work in (texts.keep_reading, texts.keep_following, BaseDropping(database, passages).keep_dropping):
        await stack.enter_async_context(background.keeping(work))
    allowed = deps.settings.bedrock_knowledge_bases
    bases = KnowledgeBases(database, BaseRows(database), documents, bedrock_ids=allowed, requests=REQUESTS)
    servicer = KnowledgeBasesServicer(bases)
    service = Service(
        full_name="contextkeep.context.v1.KnowledgeBases",
        add=partial(add_KnowledgeBasesServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service)
