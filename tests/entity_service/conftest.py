"""A stub of the Entity Service for each of two tenants."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import grpc
import pytest

import entity_service.app
import entity_service.settings
from contextkeep.entity.v1.entity_graph_pb2_grpc import EntityGraphStub
from service_runtime.auth import ApiKeys
from tests.conftest import KEY, OTHER_KEY
from tests.entity_service.graph import Graph


@pytest.fixture
async def entity_address(entity_settings: entity_service.settings.Settings, callers: ApiKeys) -> AsyncIterator[str]:
    async with entity_service.app.running(entity_settings, callers=callers) as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
async def graph(entity_address: str) -> AsyncIterator[Graph]:
    async with grpc.aio.insecure_channel(entity_address) as channel:
        yield Graph(EntityGraphStub(channel), KEY)


@pytest.fixture
async def others(entity_address: str) -> AsyncIterator[Graph]:
    """The same service, called by the other tenant."""
    async with grpc.aio.insecure_channel(entity_address) as channel:
        yield Graph(EntityGraphStub(channel), OTHER_KEY)


@pytest.fixture
def missing_id() -> str:
    return str(uuid.uuid4())
