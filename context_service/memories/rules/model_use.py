"""Decides which memories a model may read.

Text of a context is sent to a model only if the settings of the context allow it, and a memory that was learned from a
context, or names it as its source, has such text.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from context_service.context_settings.room import OFF, ContextSettings
from context_service.memories.model import Memory
from service_runtime.rpc.principal import Principal


async def readable_by_models(
    memories: Sequence[Memory], settings: ContextSettings, *, principal: Principal
) -> list[Memory]:
    """Return those of a user's memories that a model may read.

    A context that is gone, or that the caller does not see, allows nothing. The settings of the tenant and of the app
    of a memory decide, too.
    """
    off = {app_id for app_id in {memory.app_id for memory in memories} if await _is_off(app_id, settings, principal)}
    memories = [memory for memory in memories if memory.app_id not in off]
    of_memories = [_contexts_of(memory) for memory in memories]
    context_ids = set().union(*of_memories)
    refused = {
        context_id
        for context_id in context_ids
        if not await settings.may_use_models(context_id, principal=principal.without_admin())
    }
    return [memory for memory, contexts in zip(memories, of_memories, strict=True) if not contexts & refused]


async def _is_off(app_id: str, settings: ContextSettings, principal: Principal) -> bool:
    """Return whether the settings of the tenant and of an app keep texts from models."""
    _, models, *_ = await settings.applying(app_id, "", principal=principal)
    return models == OFF


def _contexts_of(memory: Memory) -> set[UUID]:
    """Return the contexts that a memory names as its sources; other texts in their place name none."""
    contexts: set[UUID] = set()
    for source in memory.sources:
        with suppress(ValueError):
            contexts.add(UUID(source.context_id))
    return contexts
