"""Composition of the room memories: opens what only it needs, and returns its servicer and what others use."""

from __future__ import annotations

from context_service.kernel.ground import REQUESTS, Ground
from context_service.memories.rules.memories import Memories
from context_service.memories.store.memories import MemoryRows


def memory_rows_of(ground: Ground) -> MemoryRows:
    """Return the store of memories."""
    return MemoryRows(model=ground.embedder.model if ground.embedder else "")


def memories_of(ground: Ground) -> Memories:
    """Return the rules of memories."""
    rows, count = memory_rows_of(ground), ground.tokens.count
    return Memories(ground.database, rows, ground.passages, requests=REQUESTS, count=count)
