"""One running stack for all cases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import fields, replace

import grpc
import httpx2
import pytest

from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.clients.stack import running
from tests.conftest import cloned
from tests.contract.python_client import PythonClient
from tests.contract.running import AnyPrincipal, Stack
from tests.fakes.mcp_server import FakeTool, fake_mcp


@pytest.fixture(scope="package")
async def both(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """Both services, of all cases."""
    with cloned(postgres) as urls, fake_mcp(json_response=True) as server:
        server.tools = {"search": FakeTool()}
        blobs = tmp_path_factory.mktemp("blobs")
        async with (
            running(urls.service, blobs, callers=AnyPrincipal(), http=True) as addresses,
            grpc.aio.insecure_channel(addresses.entity) as entity_channel,
            grpc.aio.insecure_channel(addresses.context) as context_channel,
        ):
            channels = {"entity": entity_channel, "context": context_channel}
            yield Stack(
                channels=channels,
                http_ports=dict(addresses.http_ports),
                addresses={"entity": addresses.entity, "context": addresses.context},
                admin_url=urls.admin,
                mcp_url=server.url,
            )


@pytest.fixture(scope="package")
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=30) as client:
        yield client


@pytest.fixture(scope="package")
async def python(both: Stack, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[PythonClient]:
    """Both services by the methods of the Python client."""
    shared = {field.name: getattr(both, field.name) for field in fields(both)}
    client = PythonClient(**shared, folder=tmp_path_factory.mktemp("files"))
    yield client
    await client.close()


@pytest.fixture
def stack(request: pytest.FixtureRequest, both: Stack) -> Stack:
    """Both services by one way to call them; streams are gRPC's by HTTP, too."""
    match request.param:
        case "python":
            return request.getfixturevalue("python")
        case "http":
            return replace(both, http=request.getfixturevalue("http"))
    return both
