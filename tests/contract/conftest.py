"""One running stack for all cases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

import context_service.app
import context_service.settings
import entity_service.app
import entity_service.settings
from service_runtime.embedded_postgres import EmbeddedPostgres
from tests.conftest import cloned
from tests.contract.running import AnyPrincipal, Stack


@pytest.fixture(scope="package")
async def stack(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """Both services, of all cases."""
    with cloned(postgres) as urls:
        common: Any = {"database_url": urls.service, "drain_s": 2}
        entity = entity_service.settings.Settings(entity_service_port=0, **common)
        async with entity_service.app.running(entity, callers=AnyPrincipal()) as entity_port:
            settings = context_service.settings.Settings(
                context_service_port=0,
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
                yield Stack(channels={"entity": entity_channel, "context": context_channel})
