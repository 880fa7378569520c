"""Composition of the room knowledge: opens what only it needs, and returns its servicer and what others use."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from context_service.agents.rules import Agents
from context_service.compiled_pages.room import open_compiling
from context_service.kernel.ground import REQUESTS, Ground, Room
from context_service.knowledge.api import KnowledgeServicer
from context_service.knowledge_bases.room import open_knowledge_bases
from context_service.mcp_servers.rules import McpServers
from context_service.memories.room import memories_of, memory_rows_of
from context_service.memories.rules.consolidate import Consolidating
from context_service.memories.rules.recall import MemoryRecalling
from context_service.retrieval.room import keep_making_passage_vectors, meaning_of
from context_service.retrieval.store.passages import MEMORY, WIKI
from context_service.specialists.rules import Specialists
from context_service.wiki.rules.pages import Pages
from context_service.wiki.store.pages import PageRows
from contextkeep.context.v1.knowledge_pb2_grpc import add_KnowledgeServicer_to_server
from service_runtime.server import Service


async def open_knowledge(
    ground: Ground,
    stack: AsyncExitStack,
    agents: Agents,
    templates: Agents,
    mcp_servers: McpServers,
    specialists: Specialists,
) -> tuple[Room[KnowledgeServicer], MemoryRecalling]:
    """Begin to embed memories, pages and documents, and to read those; and give what recalls memories."""
    await keep_making_passage_vectors(ground, MEMORY, stack)
    await keep_making_passage_vectors(ground, WIKI, stack)
    database, passages = ground.database, ground.passages
    rows, memories = memory_rows_of(ground), memories_of(ground)
    remembering = MemoryRecalling(database, rows, passages, meaning=meaning_of(ground))
    pages = Pages(database, PageRows(database, passages), requests=REQUESTS, tokens=ground.tokens)
    consolidating = Consolidating(database, rows, memories, requests=REQUESTS)
    bases = await open_knowledge_bases(ground, stack)
    definitions, compiling, compiled = await open_compiling(ground, stack)
    servicer = KnowledgeServicer(
        memories,
        remembering,
        consolidating,
        pages,
        agents,
        templates,
        bases,
        mcp_servers,
        specialists,
        definitions,
        compiling,
        compiled,
        ground.names,
    )
    service = Service(
        full_name="contextkeep.context.v1.Knowledge",
        add=partial(add_KnowledgeServicer_to_server, servicer),
        checks=[ground.schema_ready],
    )
    return Room(servicer, service), remembering
