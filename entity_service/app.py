"""Composition root of the Entity Service: the only file that knows every concrete class."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

from contextkeep.entity.v1.entity_graph_pb2_grpc import add_EntityGraphServicer_to_server
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
from entity_service.rules.search_nodes import Search
from entity_service.rules.settle_edges import EdgeSettling
from entity_service.rules.sweep_requests import RequestSweep
from entity_service.rules.traverse import Traversal
from entity_service.rules.write_graph import GraphWrites
from entity_service.settings import Settings
from entity_service.store.counts import Counts
from entity_service.store.edges import EdgeStore
from entity_service.store.embeddings import EmbeddingStore
from entity_service.store.node_io import NodeIOStore
from entity_service.store.nodes import GraphStore
from entity_service.store.progress import Timelines
from service_runtime import http
from service_runtime.auth import access
from service_runtime.auth.audit_trail import AuditTrail
from service_runtime.background_work import background
from service_runtime.cli import database_probes
from service_runtime.databases.migrate import Migration, access_migrations, load
from service_runtime.databases.schema import SchemaCheck
from service_runtime.grpc_server import server
from service_runtime.grpc_server.interceptors import Border
from service_runtime.grpc_server.observing import observing
from service_runtime.grpc_server.server import Check, ServerOptions
from service_runtime.network import tls
from service_runtime.postgres import Database, take_half_vectors
from service_runtime.rpc.held_bytes import HeldBytes, memory_limits
from service_runtime.rpc.principal import Authenticator
from service_runtime.rpc.recent_calls import RecentCalls
from service_runtime.statements.replays import Replays
from service_runtime.statements.requests import Requests
from service_runtime.telemetry import tracing
from service_runtime.telemetry.metrics import ERASING_FAILED, SUBJECT_ERASURES_PENDING, Metrics
from service_runtime.values.copying import copied


def migrations() -> list[Migration]:
    """Return everything that this service needs in the database."""
    return [*access_migrations(), *load("entity", Path(__file__).parent / "migrations")]


def limits_of(settings: Settings) -> Limits:
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


def probes(settings: Settings) -> dict[str, Check]:
    """Return the checks of `check-config`."""

    async def listening() -> None:
        _check_exposure(settings, authenticated=access.needs_key(settings))
        if files := tls.files_of(settings):
            tls.server_credentials(files)

    checks: dict[str, Check] = {
        f"listening on {settings.entity_service_host}": listening,
        **database_probes.of_services(settings, migrations()),
        **database_probes.of_owner(settings, migrations()),
    }
    return checks


@asynccontextmanager
async def running(settings: Settings, *, callers: Authenticator | None = None) -> AsyncIterator[int]:
    """Run the service for the block, yielding its port.

    Args:
        settings: Verified settings of the service.
        callers: Authenticates callers instead of the configured keys: for tests with several tenants.

    Raises:
        CannotListen: the address is taken, or open to the network without authentication.
        UnsafeRole: the database role could bypass row-level security.
        HttpMissing: a port for HTTP is set, and the package for it is not installed.
    """
    _check_exposure(settings, authenticated=access.needs_key(settings) or callers is not None)
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        if settings.metrics_port is not None:
            stack.enter_context(metrics.exposed(settings.metrics_host, settings.metrics_port))
        stack.enter_context(tracing.exporting(settings, service="entity-service"))
        held = _held_bytes(settings)
        held.show(metrics)
        await stack.enter_async_context(background.keeping(held.keep_watching))
        database = await stack.enter_async_context(_open_database(settings))
        eraser = OwnedEraser(database)
        servicer = _servicer(database, limits_of(settings), eraser)
        await _start_background_work(stack, settings, database, eraser, metrics)
        recent = RecentCalls("entity-service")
        services = [
            server.Service(
                full_name="contextkeep.entity.v1.EntityGraph",
                add=lambda to: add_EntityGraphServicer_to_server(servicer, to),  # type: ignore[no-untyped-call]
                checks=[SchemaCheck(database, migrations()).ready],
            ),
            observing(recent),
        ]
        database.show(metrics)
        trail = AuditTrail(database)
        await stack.enter_async_context(trail.telling())
        border = Border(
            callers or access.authenticator(settings, database, metrics),
            limits=settings.call_limits,
            metrics=metrics,
            held=held,
            trail=trail,
            recent=recent,
            replays=Replays(database, Requests("entity")),
            health_without_key=settings.health_without_key,
            reflection_without_key=settings.reflects_without_key,
        )
        options = copied(
            ServerOptions,
            settings,
            host=settings.entity_service_host,
            port=settings.entity_service_port,
            pending_calls_max=held.limits.pending_calls_max,
            tls=tls.files_of(settings),
        )
        servers: list[AbstractAsyncContextManager[int]] = [server.running(services, border, options, metrics)]
        if settings.http_port is not None:
            servers.append(http.serving_rpcs(settings, services, border))
        port, *_ = await stack.enter_async_context(server.together(*servers))
        yield port


def _held_bytes(settings: Settings) -> HeldBytes:
    """Return the ledger of the bytes that the process holds for its callers, with the limits of the settings."""
    return HeldBytes(
        memory_limits(
            settings.memory_bytes_max,
            settings.call_limits.shares,
            has_windows=False,
            children_bytes=http.JSON_BYTES if settings.http_port is not None else 0,
        )
    )


def _open_database(settings: Settings) -> AbstractAsyncContextManager[Database]:
    """Return a context manager that opens the databases of the settings for its block."""
    return Database.open(
        settings.database,
        others=settings.other_databases,
        connections_max=settings.database_pool_max,
        prepared_statements=settings.database_prepared_statements,
        name="entity-service",
        configure=take_half_vectors,
    )


def _servicer(database: Database, limits: Limits, eraser: OwnedEraser) -> EntityGraphServicer:
    """Return the servicer, with every rule and store that it calls."""
    writes = GraphWrites(database)
    traversal = Traversal(database)
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
        search=Search(database, traversal),
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
    await stack.enter_async_context(background.keeping(RequestSweep(database, Requests("entity")).keep_sweeping))
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


def _check_exposure(settings: Settings, *, authenticated: bool) -> None:
    for host in (settings.entity_service_host, *([] if settings.http_port is None else [settings.http_host])):
        server.check_exposure(host, authenticated=authenticated, allow_insecure=settings.allow_insecure)
