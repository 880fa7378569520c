"""Both worlds of the client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.clients.stack import running_in_a_thread, store_keys
from tests.clients.worlds import ASYNC, SYNC, World
from tests.conftest import Addresses, cloned
from tests.contract.conftest import both

__all__ = ["both"]


@pytest.fixture(params=[ASYNC, SYNC], ids=["async", "sync"])
def world(request: pytest.FixtureRequest) -> World:
    return request.param


@pytest.fixture
async def graph(world: World, shared_services: Addresses, key: str) -> AsyncIterator[Any]:
    async with world.entity(shared_services.entity, api_key=key) as client:
        yield client


@pytest.fixture
async def context(world: World, shared_services: Addresses, key: str) -> AsyncIterator[Any]:
    async with world.context(shared_services.context, api_key=key) as client:
        yield client


@pytest.fixture(scope="package")
def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """Both services in a thread, shared by tests that make their own nodes and records."""
    with cloned(postgres) as urls:
        store_keys(urls.admin)
        with running_in_a_thread(urls.service, tmp_path_factory.mktemp("blobs"), callers=None) as addresses:
            yield addresses
