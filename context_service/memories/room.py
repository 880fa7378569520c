"""Composes the room memories: opens its own parts, and returns its servicer and the parts that other rooms use."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from context_service.context_settings.room import ContextSettings
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.kernel.llm.budget import TokenBudget
from context_service.memories.api import MemoriesServicer
from context_service.memories.rules.consolidate import Consolidating
from context_service.memories.rules.expiry import MemoryExpiry
from context_service.memories.rules.memories import Memories
from context_service.memories.rules.model_use import readable_by_models
from context_service.memories.rules.recall import SENTENCES_DEFAULT, MemoryRecalling
from context_service.memories.rules.written_reflection import WrittenReflection
from context_service.memories.store.memories import MemoryRows
from context_service.memories.store.passages import memory_source
from context_service.retrieval.model import MEMORY
from context_service.retrieval.room import keep_making_passage_vectors, meaning_of
from contextkeep.context.v1.memories_pb2_grpc import add_MemoriesServicer_to_server
from service_runtime.background_work import background
from service_runtime.grpc_server.server import Service

# What other rooms use.
__all__ = [
    "SENTENCES_DEFAULT",
    "Memories",
    "MemoryRecalling",
    "memories_of",
    "memory_rows_of",
    "memory_source",
    "open_memories",
    "readable_by_models",
]


def memory_rows_of(deps: Dependencies) -> MemoryRows:
    """Return the store of memories."""
    return MemoryRows(model=deps.embedder.model if deps.embedder else "")


def memories_of(deps: Dependencies) -> Memories:
    """Return the rules of memories."""
    rows, count = memory_rows_of(deps), deps.tokens.count
    return Memories(deps.database, rows, deps.passages, requests=REQUESTS, count=count)


async def open_memories(
    deps: Dependencies, stack: AsyncExitStack, settings: ContextSettings
) -> tuple[Room[MemoriesServicer], MemoryRecalling]:
    """Begin to embed memories and to delete expired ones; return the servicer, and the rules that recall memories."""
    await keep_making_passage_vectors(deps, MEMORY, stack)
    rows, memories = memory_rows_of(deps), memories_of(deps)
    expiry = MemoryExpiry(deps.database, rows, memories)
    await stack.enter_async_context(background.keeping(partial(expiry.keep_deleting, deps.settings.sweep_interval_s)))
    recalling = MemoryRecalling(deps.database, rows, deps.passages, meaning=meaning_of(deps), count=deps.tokens.count)
    consolidating = Consolidating(deps.database, rows, memories, requests=REQUESTS)
    writing = None
    if deps.chat:
        budget = TokenBudget(deps.database, deps.settings.llm_tokens_per_day_max)
        writing = WrittenReflection(deps.chat, settings=settings, budget=budget, tokens=deps.tokens)
    servicer = MemoriesServicer(memories, recalling, consolidating, writing)
    service = Service(
        full_name="contextkeep.context.v1.Memories",
        add=partial(add_MemoriesServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service), recalling
