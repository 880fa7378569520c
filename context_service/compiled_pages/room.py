"""Composition of the room compiled pages: opens what only it needs, and returns its servicer and what others use."""

from __future__ import annotations

from contextlib import AsyncExitStack

from context_service.compiled_pages.rules.compile import Compiling
from context_service.compiled_pages.rules.definitions import Definitions
from context_service.compiled_pages.rules.page import PageMaking
from context_service.compiled_pages.rules.pages import CompiledPages
from context_service.compiled_pages.store.definitions import DefinitionRows
from context_service.compiled_pages.store.pages import CompiledRows
from context_service.compiled_pages.store.progress import CompileStates
from context_service.history.room import history_limits_of
from context_service.kernel.ground import REQUESTS, Ground
from context_service.retrieval.room import keep_making_passage_vectors
from context_service.retrieval.store.passages import BRAIN


async def open_compiling(ground: Ground, stack: AsyncExitStack) -> tuple[Definitions, Compiling, CompiledPages]:
    """Begin to embed facets."""
    await keep_making_passage_vectors(ground, BRAIN, stack)
    database, graph, limits = ground.database, ground.graph, history_limits_of(ground.settings)
    making, approved = PageMaking(graph, limits), DefinitionRows(database)
    definitions = Definitions(database, approved, graph, making, limits, requests=REQUESTS)
    rows = CompiledRows(database, ground.passages, count=ground.tokens.count)
    compiling = Compiling(database, approved, definitions, rows, CompileStates(database), graph, making)
    return definitions, compiling, CompiledPages(database, rows, requests=REQUESTS)
