"""Composition root of the Entity Service: the only file that knows every concrete class."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from entity_service.settings import Settings
from service_runtime import server
from service_runtime.auth import Authenticator, authenticator
from service_runtime.migrate import Migration, access_migrations, load
from service_runtime.postgres import Database
from service_runtime.server import ServerOptions


def migrations() -> list[Migration]:
    """Return everything that this service needs in the database."""
    return [*access_migrations(), *load("entity", Path(__file__).parent / "migrations")]


@asynccontextmanager
async def running(settings: Settings, *, callers: Authenticator | None = None) -> AsyncIterator[int]:
    """Run the service for the block, yielding its port.

    Args:
        settings: Verified settings.
        callers: Who may call, instead of `API_KEY`: for tests with several tenants.

    Raises:
        CannotListen: the address is taken, or open to everybody.
        UnsafeRole: the database role could pass row-level security.
    """
    api_key = settings.api_key.get_secret_value()
    server.check_exposure(
        settings.entity_service_host,
        authenticated=bool(api_key) or callers is not None,
        allow_insecure=settings.allow_insecure,
    )
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(
            Database.open(settings.database, connections_max=settings.database_pool_max, name="entity-service")
        )
        options = ServerOptions(
            host=settings.entity_service_host,
            port=settings.entity_service_port,
            calls_max=settings.calls_max,
            drain_s=settings.drain_s,
        )
        services = [
            server.Service(full_name="contextgraph.entity.v1.EntityGraph", add=lambda _: None, checks=[database.ready])
        ]
        yield await stack.enter_async_context(server.running(services, callers or authenticator(api_key), options))
