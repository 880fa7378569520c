"""One running stack for all cases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import grpc
import httpx2
import pytest

import context_service.app
import context_service.settings
import entity_service.app
import entity_service.settings
from service_runtime.embedded_postgres import EmbeddedPostgres
from tests.conftest import cloned
from tests.contract.running import AnyPrincipal, Stack
from tests.ports import free_port


@pytest.fixture(scope="package")
async def both(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """Both services, of all cases."""
    ports = {"entity": free_port(), "context": free_port()}
    with cloned(postgres) as urls:
        common: Any = {"database_url": urls.service, "drain_s": 2}
        entity = entity_service.settings.Settings(entity_service_port=0, http_port=ports["entity"], **common)
        async with entity_service.app.running(entity, callers=AnyPrincipal()) as entity_port:
            settings = context_service.settings.Settings(
                context_service_port=0,
                http_port=ports["context"],
                entity_service_url=f"127.0.0.1:{entity_port}",
                working_memory_storage_provider="local",
                working_memory_storage_path=tmp_path_factory.mktemp("blobs"),
                **common,
            )
            async with (
                context_service.app.running(settings, callers=AnyPrincipal()) as port,
                grpc.aio.insecure_channel(f"127.0.0.1:{entity_port}") as entity_channel,
                grpc.aio.insecure_channel(f"127.0.0.1:{port}") as context_channel,
            ):
                yield Stack(channels={"entity": entity_channel, "context": context_channel}, http_ports=ports)


@pytest.fixture(scope="package", params=["grpc", "http"])
async def stack(request: pytest.FixtureRequest, both: Stack) -> AsyncIterator[Stack]:
    """Both services by one way to call them; streams are gRPC's by either."""
    async with httpx2.AsyncClient(timeout=30) as http:
        yield replace(both, http=http if request.param == "http" else None)
