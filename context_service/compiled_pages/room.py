"""Composes the room compiled pages: opens its own parts, and returns its servicer and the parts that others use."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from context_service.compiled_pages.api.definitions import DefinitionsServicer
from context_service.compiled_pages.api.pages import CompiledPagesServicer
from context_service.compiled_pages.rules.compile import Compiling
from context_service.compiled_pages.rules.compile_node import PageMaking
from context_service.compiled_pages.rules.definitions import Definitions
from context_service.compiled_pages.rules.forget import Forgetting
from context_service.compiled_pages.rules.freshness import PageFreshness
from context_service.compiled_pages.rules.pages import CompiledPages
from context_service.compiled_pages.rules.search import FacetSearch
from context_service.compiled_pages.store.definitions import DefinitionRows
from context_service.compiled_pages.store.pages import CompiledRows
from context_service.compiled_pages.store.progress import CompileStates
from context_service.history.room import history_limits_of
from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.retrieval.model import BRAIN
from context_service.retrieval.room import Passages, keep_making_passage_vectors
from contextkeep.context.v1.compiled_pages_pb2_grpc import add_CompiledPagesServicer_to_server
from contextkeep.context.v1.definitions_pb2_grpc import add_DefinitionsServicer_to_server
from service_runtime.grpc_server.server import Service
from service_runtime.postgres import Database

__all__ = [
    "FacetSearch",
    "PageFreshness",
    "forgetting_of",
    "freshness_of",
    "open_compiled_pages",
]


def forgetting_of(database: Database) -> Forgetting:
    """Return the rules that erase users from compiled pages."""
    return Forgetting(database, CompiledRows(database, Passages(database), count=len))  # it writes no passages


def freshness_of(deps: Dependencies) -> PageFreshness:
    """Return the rule that says how new the compiled pages are."""
    return PageFreshness(CompileStates(deps.database), deps.graph)


async def open_compiled_pages(deps: Dependencies, stack: AsyncExitStack) -> Room[CompiledPagesServicer]:
    """Begin to embed facets, and return the servicers of pages and of definitions."""
    await keep_making_passage_vectors(deps, BRAIN, stack)
    database, graph, limits = deps.database, deps.graph, history_limits_of(deps.settings)
    making, approved = PageMaking(graph, limits), DefinitionRows(database)
    definitions = Definitions(database, approved, graph, making, limits, requests=REQUESTS)
    rows = CompiledRows(database, deps.passages, count=deps.tokens.count)
    compiling = Compiling(database, approved, definitions, rows, CompileStates(database), graph, making)
    pages = CompiledPages(database, rows, requests=REQUESTS)
    servicer = CompiledPagesServicer(compiling, pages, deps.names)
    service = Service(
        full_name="contextkeep.context.v1.CompiledPages",
        add=partial(add_CompiledPagesServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    definitions_service = Service(
        full_name="contextkeep.context.v1.Definitions",
        add=partial(add_DefinitionsServicer_to_server, DefinitionsServicer(definitions, deps.names)),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service, [definitions_service])
