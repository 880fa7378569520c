"""Composition of the room memories: opens what only it needs, and returns its servicer and what others use."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from context_service.kernel.ground import REQUESTS, Ground, Room
from context_service.memories.api import MemoriesServicer
from context_service.memories.rules.consolidate import Consolidating
from context_service.memories.rules.memories import Memories
from context_service.memories.rules.recall import MemoryRecalling
from context_service.memories.store.memories import MemoryRows
from context_service.retrieval.room import keep_making_passage_vectors, meaning_of
from context_service.retrieval.store.passages import MEMORY
from contextkeep.context.v1.memories_pb2_grpc import add_MemoriesServicer_to_server
from service_runtime.server import Service


def memory_rows_of(ground: Ground) -> MemoryRows:
    """Return the store of memories."""
    return MemoryRows(model=ground.embedder.model if ground.embedder else "")


def memories_of(ground: Ground) -> Memories:
    """Return the rules of memories."""
    rows, count = memory_rows_of(ground), ground.tokens.count
    return Memories(ground.database, rows, ground.passages, requests=REQUESTS, count=count)


async def open_memories(ground: Ground, stack: AsyncExitStack) -> tuple[Room[MemoriesServicer], MemoryRecalling]:
    """Begin to embed memories; return the servicer, and the rules that recall memories."""
    await keep_making_passage_vectors(ground, MEMORY, stack)
    rows, memories = memory_rows_of(ground), memories_of(ground)
    recalling = MemoryRecalling(ground.database, rows, ground.passages, meaning=meaning_of(ground))
    consolidating = Consolidating(ground.database, rows, memories, requests=REQUESTS)
    servicer = MemoriesServicer(memories, recalling, consolidating)
    service = Service(
        full_name="contextkeep.context.v1.Memories",
        add=partial(add_MemoriesServicer_to_server, servicer),
        checks=[ground.schema_ready],
    )
    return Room(servicer, service), recalling
