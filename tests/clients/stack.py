"""Both services in a thread with its own loop: what a bundle's synchronous stub calls."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import context_service.app
import context_service.settings
import entity_service.app
import entity_service.settings
from service_runtime.auth import ApiKeys, Authenticator
from tests.conftest import KEY, OTHER_KEY, OTHER_PRINCIPAL, PRINCIPAL, Addresses
from tests.ports import free_port

TWO_TENANTS = ApiKeys({KEY: PRINCIPAL, OTHER_KEY: OTHER_PRINCIPAL})


@contextmanager
def running_in_a_thread(
    database_url: str,
    folder: Path,
    *,
    callers: Authenticator | None = None,
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
        common = {"database_url": database_url, "drain_s": 2, **settings}
        stopping = asyncio.Event()
        started: list[Addresses] = []
        ready = threading.Event()

        async def main() -> None:
            try:
                async with AsyncExitStack() as stack:
                    started.append(await _start(stack, common, folder, callers or TWO_TENANTS, http=http))
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


async def _start(
    stack: AsyncExitStack, common: dict[str, Any], folder: Path, callers: Authenticator, *, http: bool
) -> Addresses:
    http_ports = {"entity": free_port(), "context": free_port()} if http else {}
    entity = entity_service.settings.Settings(entity_service_port=0, http_port=http_ports.get("entity"), **common)
    entity_port = await stack.enter_async_context(entity_service.app.running(entity, callers=callers))
    context = context_service.settings.Settings(
        context_service_port=0,
        http_port=http_ports.get("context"),
        entity_service_url=f"127.0.0.1:{entity_port}",
        working_memory_storage_path=folder,
        **common,
    )
    context_port = await stack.enter_async_context(context_service.app.running(context, callers=callers))
    return Addresses(
        context=f"127.0.0.1:{context_port}",
        entity=f"127.0.0.1:{entity_port}",
        http_ports=tuple(http_ports.items()),
    )
