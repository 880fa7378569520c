"""The Azure backend on Azurite: the suite, and what only Azure has."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from context_service.blobs import azure
from context_service.blobs.azure import AzureBackend
from context_service.settings import Settings
from contextkeep.errors import Unavailable
from tests.conformance.blob_backend import BlobBackendConformance, keys, read
from tests.conformance.cloud_backend import CloudBackendConformance
from tests.conformance.large_blobs import LargeBlobConformance
from tests.emulators.azurite import ACCOUNT, KEY, Azurite
from tests.emulators.proxy import Answer, Proxy, Request, proxied


def azure_settings(azurite: Azurite, *, port: int | None = None, **values: Any) -> Settings:
    return Settings(
        **{
            "working_memory_storage_account": ACCOUNT,
            "working_memory_storage_key": KEY,
            "working_memory_storage_container": "test",
            "working_memory_storage_endpoint": azurite.endpoint(port),
            "working_memory_storage_create_container": True,
            **values,
        }
    )


@pytest.fixture(scope="session")
async def azure_backend(azurite: Azurite) -> AsyncIterator[AzureBackend]:
    async with azure.opened(azure_settings(azurite)) as opened:
        yield opened


class TestAzure(CloudBackendConformance):
    @pytest.fixture
    async def backend(self, azure_backend: AzureBackend) -> AzureBackend:
        return azure_backend

    @pytest.fixture
    async def through(self, azurite: Azurite, azure_backend: AzureBackend) -> AsyncIterator[tuple[AzureBackend, Proxy]]:
        async with proxied(azurite.port) as proxy:
            settings = azure_settings(azurite, port=proxy.port, working_memory_storage_create_container=False)
            async with azure.opened(settings) as backend:
                yield backend, proxy

    @pytest.fixture
    async def without_container(self, azurite: Azurite) -> AsyncIterator[AzureBackend]:
        settings = azure_settings(
            azurite,
            working_memory_storage_container="nowhere",
            working_memory_storage_create_container=False,
        )
        async with azure.opened(settings) as backend:
            yield backend

    @pytest.fixture
    async def without_credentials(self, azurite: Azurite) -> AsyncIterator[AzureBackend]:
        settings = azure_settings(
            azurite, working_memory_storage_key="d3Jvbmc=", working_memory_storage_create_container=False
        )
        async with azure.opened(settings) as backend:
            yield backend

    def completes(self, request: Request) -> bool:
        return request.method == "PUT" and "comp=blocklist" in request.target


class TestAzureUnderAPrefix(BlobBackendConformance):
    prefix = "some/pre-fix/"

    @pytest.fixture
    async def backend(self, azure_backend: AzureBackend) -> AzureBackend:
        return azure_backend


class RealAzure(LargeBlobConformance):
    """The suite on the account that the environment names, in a folder of its own."""

    prefix = f"conformance-{uuid.uuid4().hex}/"

    @pytest.fixture
    async def backend(self) -> AsyncIterator[AzureBackend]:
        async with azure.opened(Settings()) as opened:
            yield opened
            for key in await keys(opened, self.prefix):
                await opened.delete(key)


if os.environ.get("WORKING_MEMORY_STORAGE_ACCOUNT"):

    class TestRealAzure(RealAzure):
        pass


async def test_a_page_of_a_gateway_is_no_blob(azurite: Azurite):
    async with proxied(azurite.port) as proxy:
        settings = azure_settings(azurite, port=proxy.port, working_memory_storage_create_container=False)
        async with azure.opened(settings) as backend:
            proxy.fault = lambda request: Answer(status=200, headers={"content-type": "text/html"}, body=b"<html>")

            with pytest.raises(Unavailable):
                await read(backend, "a/b", 0, 1)
