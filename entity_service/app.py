"""Composition root of the Entity Service: opens its databases and its room, and serves what the room gives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from contextkeep.entity.v1.entity_graph_pb2_grpc import add_EntityGraphServicer_to_server
from entity_service.probes import check_exposure, probes
from entity_service.room import REQUESTS, migrations, open_graph
from entity_service.settings import Settings
from service_runtime import http
from service_runtime.auth import access
from service_runtime.auth.audit_trail import AuditTrail
from service_runtime.background_work import background
from service_runtime.databases.schema import SchemaCheck
from service_runtime.grpc_server import server
from service_runtime.grpc_server.interceptors import Border
from service_runtime.grpc_server.observing import observing
from service_runtime.grpc_server.server import ServerOptions
from service_runtime.network import tls
from service_runtime.postgres import Database, take_half_vectors
from service_runtime.rpc.held_bytes import HeldBytes, memory_limits
from service_runtime.rpc.principal import Authenticator
from service_runtime.rpc.recent_calls import RecentCalls
from service_runtime.statements.replays import Replays
from service_runtime.telemetry import tracing
from service_runtime.telemetry.metrics import Metrics
from service_runtime.values.copying import copied

__all__ = ["migrations", "probes", "running"]


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
    check_exposure(settings, authenticated=access.needs_key(settings) or callers is not None)
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        if settings.metrics_port is not None:
            stack.enter_context(metrics.exposed(settings.metrics_host, settings.metrics_port))
        stack.enter_context(tracing.exporting(settings, service="entity-service"))
        held_bytes = _held_bytes(settings)
        held_bytes.show(metrics)
        await stack.enter_async_context(background.keeping(held_bytes.keep_watching))
        database = await stack.enter_async_context(_open_database(settings))
        servicer = await open_graph(stack, settings, database, metrics)
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
            held=held_bytes,
            trail=trail,
            recent=recent,
            replays=Replays(database, REQUESTS),
            health_without_key=settings.health_without_key,
            reflection_without_key=settings.reflects_without_key,
        )
        options = copied(
            ServerOptions,
            settings,
            host=settings.entity_service_host,
            port=settings.entity_service_port,
            pending_calls_max=held_bytes.limits.pending_calls_max,
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
