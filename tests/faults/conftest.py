"""Both services in this process, on a Postgres of their own that can be broken."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

import context_service.app
import context_service.settings
import entity_service.app
import entity_service.settings
from contextkeep import AsyncContextClient, AsyncEntityClient
from service_runtime.grpc_server import server
from tests.faults import postgres as breakable
from tests.faults.postgres import Postgres


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The services, and clients that try nothing twice."""

    postgres: Postgres
    entity: AsyncEntityClient
    context: AsyncContextClient
    entity_address: str
    context_address: str
    blobs: Path


@pytest.fixture(autouse=True)
def no_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about faults; keys have their own."""
    monkeypatch.setenv("ALLOW_ANONYMOUS", "true")


@pytest.fixture(autouse=True)
def health_is_looked_at_as_often_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests wait for what health says, which other tests have looked at seldom."""
    monkeypatch.setattr(server, "CHECK_INTERVAL_S", 1.0)


@pytest.fixture(scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(breakable.running(tmp_path_factory.mktemp("postgres")))
        blobs = tmp_path_factory.mktemp("blobs")
        entity_settings = entity_service.settings.Settings(
            database_url=postgres.url, entity_service_port=0, allow_anonymous=True, drain_s=2
        )
        entity_address = f"127.0.0.1:{await stack.enter_async_context(entity_service.app.running(entity_settings))}"
        context_settings = context_service.settings.Settings(
            database_url=postgres.url,
            context_service_port=0,
            entity_service_url=entity_address,
            working_memory_storage_path=blobs,
            allow_anonymous=True,
            drain_s=2,
        )
        context_address = f"127.0.0.1:{await stack.enter_async_context(context_service.app.running(context_settings))}"
        yield World(
            postgres=postgres,
            entity=await stack.enter_async_context(AsyncEntityClient(entity_address, retries=0)),
            context=await stack.enter_async_context(AsyncContextClient(context_address, retries=0)),
            entity_address=entity_address,
            context_address=context_address,
            blobs=blobs,
        )
