"""Both services on a database of their own, in a thread with its own loop: what a bundle's synchronous stub calls."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

import context_service.app
import context_service.settings
import entity_service.app
import entity_service.settings
from service_runtime.auth import ApiKeys
from service_runtime.embedded_postgres import SERVICE_ROLE, EmbeddedPostgres
from tests.conftest import KEY, OTHER_KEY, OTHER_PRINCIPAL, PRINCIPAL, TEMPLATE, Addresses


@contextmanager
def running_in_a_thread(postgres: EmbeddedPostgres, folder: Path) -> Iterator[Addresses]:
    """Run both services for the block."""
    with _cloned(postgres) as database_url, asyncio.Runner() as runner:
        loop = runner.get_loop()
        stopping = asyncio.Event()
        started: list[Addresses] = []
        ready = threading.Event()

        async def main() -> None:
            try:
                async with AsyncExitStack() as stack:
                    started.append(await _start(stack, database_url, folder))
                    ready.set()
                    await stopping.wait()
            finally:
                ready.set()

        thread = threading.Thread(target=runner.run, args=(main(),), name="services")
        thread.start()
        ready.wait(60)
        try:
            assert started, "the services did not start; their error is above"
            yield started[0]
        finally:
            loop.call_soon_threadsafe(stopping.set)
            thread.join(30)


async def _start(stack: AsyncExitStack, database_url: str, folder: Path) -> Addresses:
    callers = ApiKeys({KEY: PRINCIPAL, OTHER_KEY: OTHER_PRINCIPAL})
    entity = entity_service.settings.Settings(database_url=database_url, entity_service_port=0, drain_s=2)
    entity_port = await stack.enter_async_context(entity_service.app.running(entity, callers=callers))
    context = context_service.settings.Settings(
        database_url=database_url,
        context_service_port=0,
        entity_service_url=f"127.0.0.1:{entity_port}",
        working_memory_storage_path=folder,
        drain_s=2,
    )
    context_port = await stack.enter_async_context(context_service.app.running(context, callers=callers))
    return Addresses(context=f"127.0.0.1:{context_port}", entity=f"127.0.0.1:{entity_port}")


@contextmanager
def _cloned(postgres: EmbeddedPostgres) -> Iterator[str]:
    name = sql.Identifier(database := f"stack_{uuid.uuid4().hex}")
    with psycopg.connect(postgres.url(role="postgres", database="postgres"), autocommit=True) as connection:
        clone = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        connection.execute(clone.format(name, sql.Identifier(TEMPLATE)))
        yield postgres.url(role=SERVICE_ROLE, database=database)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
