"""A stub of the Entity Service for each of two tenants.

The tests of a module share a service, and each has two tenants of its own. A test that looks into the database, or says
who may call, has a service of its own as well.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

import entity_service.app
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from entity_service.settings import Settings
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.rpc.principal import ApiKeys
from tests.conftest import KEY, OTHER_KEY, OTHER_PRINCIPAL, PRINCIPAL, Urls, cloned
from tests.contract.running import AnyPrincipal, key_of
from tests.entity_service.graph import Graph

# Of a module: settings of the service, where they are not the defaults.
SETTINGS = "SETTINGS"


def settings_of(module: Any, database_url: str) -> Settings:
    return Settings(database_url=database_url, entity_service_port=0, drain_s=2, **getattr(module, SETTINGS, {}))


@pytest.fixture(scope="module")
async def shared_address(request: pytest.FixtureRequest, postgres: EmbeddedPostgres) -> AsyncIterator[str]:
    """Of a service that takes anybody for the tenant that they say."""
    with cloned(postgres) as urls:
        settings = settings_of(request.module, urls.service)
        async with entity_service.app.running(settings, callers=AnyPrincipal()) as port:
            yield f"127.0.0.1:{port}"


@pytest.fixture
def entity_settings(request: pytest.FixtureRequest, urls: Urls) -> Settings:
    return settings_of(request.module, urls.service)


@pytest.fixture
async def own_address(entity_settings: Settings, callers: ApiKeys) -> AsyncIterator[str]:
    async with entity_service.app.running(entity_settings, callers=callers) as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
def is_shared(request: pytest.FixtureRequest) -> bool:
    return not {"urls", "callers"} & set(request.fixturenames)


@pytest.fixture
def entity_address(request: pytest.FixtureRequest, is_shared: bool) -> str:
    found: str = request.getfixturevalue("shared_address" if is_shared else "own_address")
    return found


@pytest.fixture
async def graph(entity_address: str, is_shared: bool) -> AsyncIterator[Graph]:
    tenant_id = uuid.uuid4() if is_shared else PRINCIPAL.tenant_id
    key = key_of(tenant_id=str(tenant_id), subject=PRINCIPAL.subject) if is_shared else KEY
    async with grpc.aio.insecure_channel(entity_address) as channel:
        yield Graph(EntityGraphStub(channel), key, tenant_id)


@pytest.fixture
async def others(entity_address: str, is_shared: bool) -> AsyncIterator[Graph]:
    """The same service, called by the other tenant."""
    tenant_id = uuid.uuid4() if is_shared else OTHER_PRINCIPAL.tenant_id
    key = key_of(tenant_id=str(tenant_id), subject=OTHER_PRINCIPAL.subject) if is_shared else OTHER_KEY
    async with grpc.aio.insecure_channel(entity_address) as channel:
        yield Graph(EntityGraphStub(channel), key, tenant_id)


@pytest.fixture
def missing_id() -> str:
    return str(uuid.uuid4())
