"""Fixtures of the Context Service's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import grpc
import pytest

import context_service.app
from context_service.blobs import local
from context_service.settings import Settings
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.rpc.principal import ApiKeys
from tests.conftest import KEY, OTHER_KEY, OTHER_PRINCIPAL, PRINCIPAL, Addresses, cloned
from tests.context_service.contexts.callers import Opened, opened
from tests.context_service.working_memory.callers import Caller, Start
from tests.fakes.blob_backend import FailingBackend


@pytest.fixture(scope="module")
async def shared_channels(shared_services: Addresses) -> AsyncIterator[tuple[grpc.aio.Channel, grpc.aio.Channel]]:
    """To the Context Service and the Entity Service that all tests share."""
    async with (
        grpc.aio.insecure_channel(shared_services.context) as context,
        grpc.aio.insecure_channel(shared_services.entity) as entity,
    ):
        yield context, entity


@pytest.fixture(scope="module")
async def shared_channel(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[str, grpc.aio.Channel]]:
    """A Context Service of the module's own."""
    with cloned(postgres) as urls:
        settings = Settings(
            database_url=urls.service,
            context_service_port=0,
            working_memory_storage_provider="local",
            working_memory_storage_path=tmp_path_factory.mktemp("blobs"),
            drain_s=2,
        )
        callers = ApiKeys({KEY: PRINCIPAL, OTHER_KEY: OTHER_PRINCIPAL})
        async with _running(settings, callers) as opened:
            yield opened


@pytest.fixture(scope="module")
async def contexts(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Opened]:
    """Services of the module's own, called with keys of `KEYS`."""
    async with opened(postgres, tmp_path_factory.mktemp("blobs")) as made:
        yield made


@pytest.fixture
async def own_channel(context_settings: Settings, callers: ApiKeys) -> AsyncIterator[tuple[str, grpc.aio.Channel]]:
    """A Context Service of the test's own."""
    async with _running(context_settings, callers) as opened:
        yield opened


@pytest.fixture
def channel(request: pytest.FixtureRequest) -> tuple[str, grpc.aio.Channel]:
    """Of a test that looks into the database or at the files, its own service; all others share one."""
    looks_inside = {"database", "context_settings"} & set(request.fixturenames)
    found: tuple[str, grpc.aio.Channel] = request.getfixturevalue("own_channel" if looks_inside else "shared_channel")
    return found


@pytest.fixture
def caller(channel: tuple[str, grpc.aio.Channel]) -> Caller:
    return Caller(*channel)


@pytest.fixture
def stranger(channel: tuple[str, grpc.aio.Channel]) -> Caller:
    """A caller of another tenant."""
    return Caller(*channel, OTHER_KEY)


@pytest.fixture
async def start(context_settings: Settings, callers: ApiKeys) -> AsyncIterator[Start]:
    """Starts a service with other settings, and returns a caller of it."""
    async with AsyncExitStack() as stack:

        async def started(**settings: Any) -> Caller:
            changed = context_settings.model_copy(update=settings)
            port = await stack.enter_async_context(context_service.app.running(changed, callers=callers))
            address = f"127.0.0.1:{port}"
            return Caller(address, await stack.enter_async_context(grpc.aio.insecure_channel(address)))

        yield started


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[FailingBackend]:
    """The backends of services that are started from now on."""
    opened = local.opened
    wrapped: list[FailingBackend] = []

    @asynccontextmanager
    async def opened_failing(settings: Settings) -> AsyncIterator[FailingBackend]:
        async with opened(settings) as backend:
            wrapped.append(FailingBackend(backend))
            yield wrapped[-1]

    monkeypatch.setattr(local, "opened", opened_failing)
    return wrapped


@asynccontextmanager
async def _running(settings: Settings, callers: ApiKeys) -> AsyncIterator[tuple[str, grpc.aio.Channel]]:
    async with context_service.app.running(settings, callers=callers) as port:
        address = f"127.0.0.1:{port}"
        async with grpc.aio.insecure_channel(address) as channel:
            yield address, channel
