"""Both services: in the loop of the caller, or in a thread with its own, which a bundle's synchronous stub calls."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import psycopg

import context_service.app
import context_service.settings
import entity_service.app
import entity_service.settings
from service_runtime.rpc.principal import OPERATOR, ApiKeys, Authenticator
from service_runtime.values.ids import new_id
from tests.conftest import KEY, OTHER_KEY, OTHER_PRINCIPAL, PRINCIPAL, Addresses
from tests.ports import free_port

TWO_TENANTS = ApiKeys({KEY: PRINCIPAL, OTHER_KEY: OTHER_PRINCIPAL})


def store_keys(admin_url: str) -> None:
    """Store the two keys of the tests, as an operator would have made them: who shows one may make others.

    The first one is an operator's, too.
    """
    with psycopg.connect(admin_url, autocommit=True) as connection:
        for key, principal, more in ((KEY, PRINCIPAL, [OPERATOR]), (OTHER_KEY, OTHER_PRINCIPAL, [])):
            connection.execute(
                "INSERT INTO access.api_key (id, key_sha256, prefix, tenant_id, subject, scopes)"
                " VALUES (%s, sha256(%s::bytea), left(%s, 12), %s, %s, %s)",
                (new_id(), key, key, principal.tenant_id, principal.subject, [*sorted(principal.scopes), *more]),
            )


@asynccontextmanager
async def running(
    database_url: str, folder: Path, *, callers: Authenticator | None, http: bool = False, **settings: Any
) -> AsyncIterator[Addresses]:
    """Run both services for the block; the arguments are those of `running_in_a_thread`."""
    # Servers of others run on this machine, too.
    others = {"mcp_servers_allowed": ["127.0.0.1"], "secrets_key": base64.b64encode(bytes(32)).decode()}
    common = {"database_url": database_url, "drain_s": 2, **others, **settings}
    http_ports = {"entity": free_port(), "context": free_port()} if http else {}
    entity = entity_service.settings.Settings(entity_service_port=0, http_port=http_ports.get("entity"), **common)
    async with entity_service.app.running(entity, callers=callers) as entity_port:
        context = context_service.settings.Settings(
            context_service_port=0,
            http_port=http_ports.get("context"),
            entity_service_url=f"127.0.0.1:{entity_port}",
            working_memory_storage_path=folder,
            **common,
        )
        async with context_service.app.running(context, callers=callers) as context_port:
            yield Addresses(
                context=f"127.0.0.1:{context_port}",
                entity=f"127.0.0.1:{entity_port}",
                http_ports=tuple(http_ports.items()),
            )


@contextmanager
def running_in_a_thread(
    database_url: str,
    folder: Path,
    *,
    callers: Authenticator | None = TWO_TENANTS,
    watching: Callable[[asyncio.AbstractEventLoop], AbstractContextManager[None]] = nullcontext,
    http: bool = False,
    **settings: Any,
) -> Iterator[Addresses]:
    """Run both services for the block.

    Args:
        database_url: Of the services' role.
        folder: Where blobs go.
        callers: Who may call; else the two keys of the tests.
        watching: Watches their loop for the block.
        http: Whether they serve over HTTP, too.
        settings: Of both services, where they are not the defaults.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        stopping = asyncio.Event()
        started: list[Addresses] = []
        ready = threading.Event()

        async def main() -> None:
            try:
                async with running(database_url, folder, callers=callers, http=http, **settings) as addresses:
                    started.append(addresses)
                    ready.set()
                    await stopping.wait()
            finally:
                ready.set()

        thread = threading.Thread(target=runner.run, args=(main(),), name="services")
        thread.start()
        ready.wait(60)
        try:
            assert started, "the services did not start; their error is above"
            with watching(loop):
                yield started[0]
        finally:
            loop.call_soon_threadsafe(stopping.set)
            thread.join(30)
