"""Composes the room learning: begins to learn memories from contexts in the background."""

from __future__ import annotations

from contextlib import AsyncExitStack

from context_service.context_settings.room import ContextSettings
from context_service.kernel.dependencies import Dependencies
from context_service.kernel.llm.budget import TokenBudget
from context_service.learning.rules.learn import Learning
from context_service.learning.rules.learn_by_model import LearningByModel
from context_service.learning.store.queue import LearningQueue
from context_service.memories.room import Memories, MemoryRecalling
from service_runtime.background_work import background

# What other rooms use.
__all__ = ["keep_learning"]


async def keep_learning(
    deps: Dependencies,
    stack: AsyncExitStack,
    memories: Memories,
    recalling: MemoryRecalling,
    settings: ContextSettings,
) -> None:
    """Learn memories from queued contexts in the background."""
    by_model = None
    if deps.chat:
        by_model = LearningByModel(
            deps.chat,
            recalling,
            settings=settings,
            budget=TokenBudget(deps.database, deps.settings.llm_tokens_per_day_max),
            tokens=deps.tokens,
            metrics=deps.metrics,
        )
    worker = Learning(
        deps.database,
        LearningQueue(idle_s=deps.settings.learning_idle_s),
        deps.log,
        settings=settings,
        memories=memories,
        by_model=by_model,
        metrics=deps.metrics,
    )
    await stack.enter_async_context(background.keeping(worker.keep_learning))
