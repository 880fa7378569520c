"""The only room of the Entity Service: its rules and stores, and the work that goes on in the background."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path

from entity_service.api import EntityGraphServicer
from entity_service.model.limits import Limits
from entity_service.rules.change_edge import EdgeChanges
from entity_service.rules.change_node import NodeChanges
from entity_service.rules.delete import Removal
from entity_service.rules.erase_owned import OwnedEraser, OwnedNodes
from entity_service.rules.export_graph import GraphExport
from entity_service.rules.first_statistics import FirstStatistics
from entity_service.rules.import_graph import GraphImport
from entity_service.rules.list_changes import ChangeFeed, ChangeSweep
from entity_service.rules.query_facets import FacetQueries
from entity_service.rules.search_nodes import Search
from entity_service.rules.settle_edges import EdgeSettling
from entity_service.rules.sweep_requests import RequestSweep
from entity_service.rules.traverse import Traversal
from entity_service.rules.write_graph import GraphWrites
from entity_service.settings import Settings
from entity_service.store.counts import Counts
from entity_service.store.edges import EdgeStore
from entity_service.store.embeddings import EmbeddingStore
from entity_service.store.facets import FacetStore
from entity_service.store.node_io import NodeIOStore
from entity_service.store.nodes import GraphStore
from entity_service.store.progress import Timelines
from service_runtime.background_work import background
from service_runtime.databases.migrate import Migration, access_migrations, load
from service_runtime.postgres import Database
from service_runtime.statements.requests import Requests
from service_runtime.telemetry.metrics import ERASING_FAILED, SUBJECT_ERASURES_PENDING, Metrics

REQUESTS = Requests("entity")


def migrations() -> list[Migration]:
    """Return everything that this service needs in the database."""
    return [*access_migrations(), *load("entity", Path(__file__).parent / "migrations")]


def _limits_of(settings: Settings) -> Limits:
    """Return the limits of one call from the settings."""
    return Limits(
        document_bytes_max=settings.node_data_bytes_max,
        nesting_max=settings.json_nesting_max,
        external_id_bytes_max=settings.external_id_bytes_max,
        name_chars_max=settings.name_chars_max,
        type_chars_max=settings.type_chars_max,
        message_bytes_max=settings.message_bytes_max,
        metadata_bytes_max=settings.metadata_bytes_max,
        write_rows_max=settings.write_rows_max,
        write_bytes_max=settings.write_bytes_max,
        depth_max=settings.traverse_depth_max,
        walk_nodes_max=settings.traverse_nodes_max,
        similar_vectors_max=settings.similar_vectors_max,
    )


async def open_graph(
    stack: AsyncExitStack, settings: Settings, database: Database, metrics: Metrics
) -> EntityGraphServicer:
    """Return the servicer of the graph, and start its background work, which runs until the stack closes."""
    eraser = OwnedEraser(database)
    servicer = _servicer(database, _limits_of(settings), eraser)
    await _start_background_work(stack, settings, database, eraser, metrics)
    return servicer


def _servicer(database: Database, limits: Limits, eraser: OwnedEraser) -> EntityGraphServicer:
    """Return the servicer, with every rule and store that it calls."""
    writes = GraphWrites(database)
    traversal = Traversal(database)
    search = Search(database, traversal)
    return EntityGraphServicer(
        writes=writes,
        changes=NodeChanges(database, document_bytes_max=limits.document_bytes_max),
        edges=EdgeStore(database),
        edge_changes=EdgeChanges(database, document_bytes_max=limits.document_bytes_max),
        removal=Removal(database),
        owned=OwnedNodes(database, eraser),
        node_io=NodeIOStore(database),
        timelines=Timelines(database),
        embeddings=EmbeddingStore(database),
        search=search,
        facets=FacetQueries(search, FacetStore(database)),
        graph_import=GraphImport(writes),
        graph_export=GraphExport(database),
        counts=Counts(database),
        change_feed=ChangeFeed(database),
        store=GraphStore(database),
        traversal=traversal,
        limits=limits,
    )


async def _start_background_work(
    stack: AsyncExitStack, settings: Settings, database: Database, owned_eraser: OwnedEraser, metrics: Metrics
) -> None:
    """Start the sweeps, erasures and statistics, which run until the stack closes."""
    await stack.enter_async_context(background.keeping(RequestSweep(database, REQUESTS).keep_sweeping))
    kept = timedelta(days=settings.changes_kept_days)
    change_sweep = ChangeSweep(database, kept=kept, kept_max=settings.changes_kept_max)
    await stack.enter_async_context(background.keeping(change_sweep.keep_sweeping))
    erasing_failed = metrics.counter(ERASING_FAILED, "Passes of erasing that broke off", what=("nodes",))
    failed = partial(erasing_failed, what="nodes")
    await stack.enter_async_context(background.keeping(partial(owned_eraser.keep_erasing, failed=failed)))
    metrics.watch(
        SUBJECT_ERASURES_PENDING, "Age of the oldest unfinished erasure of a subject", lambda: owned_eraser.pending_s
    )
    await stack.enter_async_context(background.keeping(EdgeSettling(database).keep_settling))
    await stack.enter_async_context(background.keeping(FirstStatistics(database).keep_looking))
