"""SIGTERM while MCP over HTTPS is being used: what runs finishes, and both ports drain at the same time."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx2
import psycopg
import pytest

from contextkeep import AsyncContextClient, new_id
from contextkeep.errors import Unavailable
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.conftest import Urls, cloned
from tests.faults.processes import Service
from tests.locks import until_waiting
from tests.ports import free_port
from tests.service_runtime.test_tls import AUTHORITY, issue

DRAIN_S = 30  # for what finishes: a machine may be slow
HASTY_DRAIN_S = 1  # for what does not
KEY = "key-of-the-drained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A Context Service with TLS on both ports."""

    service: Service
    mcp_url: str
    urls: Urls

    async def start(self, *, drain_s: int = DRAIN_S) -> None:
        await self.service.start(until="contextkeep.context.v1.WorkingMemory", DRAIN_S=str(drain_s))

    @asynccontextmanager
    async def http(self) -> AsyncIterator[httpx2.AsyncClient]:
        trust = ssl.create_default_context(cadata=AUTHORITY.pem[0].decode())
        headers = {"authorization": f"Bearer {KEY}", "accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient(verify=trust, headers=headers, timeout=60) as client:
            yield client

    def grpc(self, **options: Any) -> AsyncContextClient:
        return AsyncContextClient(
            f"https://localhost:{self.service.port}", api_key=KEY, root_certificates=AUTHORITY.pem[0], **options
        )


@pytest.fixture(scope="module")
async def shared(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Running]:
    folder = tmp_path_factory.mktemp("mcp")
    for path, text in zip((folder / "tls.crt", folder / "tls.key"), issue("service", AUTHORITY).pem, strict=True):
        path.write_bytes(text)
    async with AsyncExitStack() as stack:
        urls = stack.enter_context(cloned(postgres))
        mcp_port = free_port()
        service = Service(
            "context_service",
            free_port(),
            environment={
                "DATABASE_URL": urls.service,
                "API_KEY": KEY,
                "MCP_PORT": str(mcp_port),
                "TLS_CERTIFICATE_PATH": str(folder / "tls.crt"),
                "TLS_KEY_PATH": str(folder / "tls.key"),
                "WORKING_MEMORY_STORAGE_PATH": str(folder / "blobs"),
            },
            log=folder / "context.log",
            root_certificates=AUTHORITY.pem[0],
        )
        stack.push_async_callback(service.kill)
        yield Running(service=service, mcp_url=f"https://localhost:{mcp_port}/mcp", urls=urls)


@pytest.fixture
async def running(shared: Running) -> AsyncIterator[Running]:
    """Each test starts it for itself."""
    yield shared
    await shared.service.kill()


def upload(name: str, request_id: str) -> dict[str, Any]:
    arguments = {"name": name, "content": "under way", "request_id": request_id}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wm_upload", "arguments": arguments}}


@asynccontextmanager
async def writes_waiting(urls: Urls) -> AsyncIterator[None]:
    """Let no record be written for the block."""
    async with await psycopg.AsyncConnection.connect(urls.superuser) as connection:
        await connection.execute("LOCK TABLE context.wm_record IN EXCLUSIVE MODE")
        yield


async def test_a_call_under_way_finishes_and_no_port_takes_a_new_one(running: Running):
    await running.start()
    async with running.http() as http, running.http() as newcomer, running.grpc(retries=0) as grpc:
        async with writes_waiting(running.urls):
            calling = asyncio.create_task(http.post(running.mcp_url, json=upload("a.txt", str(new_id()))))
            await until_waiting(running.urls.superuser, 1)
            running.service.send(signal.SIGTERM)
            async with asyncio.timeout(DRAIN_S / 2):
                with pytest.raises(Unavailable):
                    while True:  # until the signal has arrived
                        await grpc.tools.list()
                with pytest.raises(httpx2.ConnectError):
                    while True:
                        with suppress(httpx2.ReadError, httpx2.RemoteProtocolError):  # it is just closing
                            await newcomer.get(running.mcp_url, headers={"connection": "close"})
            assert not calling.done()
        answer = await calling

    assert answer.status_code == 200, answer.text
    assert await running.service.ended(timeout_s=DRAIN_S / 2) == 0
    stored = json.loads(answer.json()["result"]["content"][0]["text"])
    await running.start()
    async with running.grpc() as grpc:
        assert (await grpc.records.get(stored["working_memory_id"])).name == "a.txt"


async def test_what_takes_longer_than_the_drain_is_told_so_and_leaves_nothing(running: Running):
    await running.start(drain_s=HASTY_DRAIN_S)
    async with running.http() as http, running.http() as slow:
        async with writes_waiting(running.urls):
            calls = asyncio.gather(
                http.post(running.mcp_url, json=upload("late.txt", str(new_id()))),
                slow.post(running.mcp_url, content=whole_too_late()),
                return_exceptions=True,
            )
            await until_waiting(running.urls.superuser, 1)
            running.service.send(signal.SIGTERM)
            assert await running.service.ended(timeout_s=DRAIN_S) == 0
        late, sending = await calls

    assert isinstance(late, httpx2.Response), late
    assert (late.status_code, late.json()["error"]["reason"]) == (503, "UNAVAILABLE")
    # Who still sends may find the connection gone instead of the answer.
    assert isinstance(sending, httpx2.TransportError) or sending.status_code == 503
    async with await psycopg.AsyncConnection.connect(running.urls.superuser) as connection:
        found = await connection.execute("SELECT 1 FROM context.wm_record WHERE name = 'late.txt'")
        assert await found.fetchone() is None


async def whole_too_late() -> AsyncIterator[bytes]:
    yield b'{"jsonrpc":'
    await asyncio.sleep(HASTY_DRAIN_S + 2)
    yield b"1}"
