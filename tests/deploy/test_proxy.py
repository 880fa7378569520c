"""The proxy that we ship, in front of both services: calls go through it, and one address has its limits."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest
from grpc_health.v1 import health_pb2

from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput
from contextkeep.errors import Unavailable
from tests.conftest import KEY, Addresses
from tests.faults.floods import END_STREAM, PREFACE, frame, head_of, reset_streams
from tests.ports import free_port
from tests.service_runtime.test_tls import issue

HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
CONFIGURATION = Path(__file__).parents[2] / "deploy/haproxy.cfg"
CALLS = "/contextkeep.entity.v1.EntityGraph/GetNode"
MIB = 1024 * 1024


class Proxy:
    """HAProxy with our configuration: ports, and the certificate that it shows."""

    def __init__(self, root: bytes) -> None:
        self.root = root
        self.context_port, self.entity_port, self.http_port = free_port(), free_port(), free_port()

    @property
    def entity(self) -> str:
        return f"https://localhost:{self.entity_port}"

    @property
    def context(self) -> str:
        return f"https://localhost:{self.context_port}"

    def connect(self, source: str = "127.0.0.1") -> ssl.SSLSocket:
        """Connect to the port of the Entity Service, from an address of this machine; HTTP/2 is the caller's."""
        context = ssl.create_default_context(cadata=self.root.decode())
        context.set_alpn_protocols(["h2"])
        connection = socket.create_connection(("127.0.0.1", self.entity_port), timeout=20, source_address=(source, 0))
        return context.wrap_socket(connection, server_hostname="localhost")


@asynccontextmanager
async def running(services: Addresses, folder: Path, configuration: str) -> AsyncIterator[Proxy]:
    if HAPROXY is None:
        pytest.skip("no haproxy; Debian's package has it")
    certificate, key = issue("localhost").pem
    (folder / "proxy.pem").write_bytes(certificate + key)
    (folder / "haproxy.cfg").write_text(configuration)
    made = Proxy(certificate)
    environment = {
        "CERTIFICATE": str(folder / "proxy.pem"),
        "CONTEXT_GRPC": f"127.0.0.1:{made.context_port}",
        "CONTEXT_SERVER": services.context,
        "ENTITY_GRPC": f"127.0.0.1:{made.entity_port}",
        "ENTITY_SERVER": services.entity,
        "HTTP": f"127.0.0.1:{made.http_port}",
        "HTTP_SERVER": f"127.0.0.1:{free_port()}",
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [HAPROXY, "-f", folder / "haproxy.cfg", "-db"], env={**os.environ, **environment}, stdout=log, stderr=log
        )
    try:
        give_up_at = time.monotonic() + 30
        while True:
            assert process.poll() is None, (folder / "log").read_text()
            try:
                await asyncio.to_thread(lambda: made.connect().close())
                break
            except ConnectionError:
                assert time.monotonic() < give_up_at, "haproxy does not answer"
                await asyncio.sleep(0.05)
        yield made
    finally:
        process.kill()
        process.wait()


@pytest.fixture
async def proxy(services: Addresses, tmp_path: Path) -> AsyncIterator[Proxy]:
    async with running(services, tmp_path, CONFIGURATION.read_text()) as made:
        yield made


async def test_calls_and_streams_go_through_the_proxy(proxy: Proxy):
    async with (
        AsyncEntityClient(proxy.entity, api_key=KEY, root_certificates=proxy.root) as graph,
        AsyncContextClient(proxy.context, api_key=KEY, root_certificates=proxy.root) as context,
    ):
        session = NodeInput("Session")
        turns = [NodeInput("Turn", data={"user_input": str(number)}) for number in range(50)]
        await graph.graph.write([session, *turns], [EdgeInput(session.id, turn.id, "Contains") for turn in turns])
        assert len([node async for node in graph.graph.traverse(session.id)]) == 50
        assert len(await context.history.get(session.id)) == 50
        record = await context.blobs.upload(b"x" * (3 * MIB), name="large")
        async with await context.blobs.get(record) as reader:
            assert sum([len(chunk) async for chunk in reader]) == 3 * MIB
        nodes = await asyncio.gather(
            *(graph.graph.get_node(session.id) for _ in range(250))
        )  # over several connections
        assert {node.id for node in nodes} == {session.id}


async def test_a_flood_of_resets_on_the_proxy_costs_no_other_caller_a_call(proxy: Proxy, services: Addresses):
    """HAProxy makes dozens of connections to the service for it, so the limits of a connection alone do not hold it."""

    def flood() -> int:
        with proxy.connect("127.0.0.2") as connection:
            return reset_streams(connection, 20_000, path=CALLS)

    async with (
        AsyncEntityClient(services.entity, api_key=KEY, retries=0) as direct,
        AsyncEntityClient(proxy.entity, api_key=KEY, root_certificates=proxy.root, retries=0) as through,
    ):
        node = await direct.graph.create_node("Node")
        await through.graph.get_node(node.id)
        floods = [asyncio.create_task(asyncio.to_thread(flood)) for _ in range(3)]

        async def calls(other: AsyncEntityClient) -> int:
            served = 0
            while not (served and all(flooding.done() for flooding in floods)):
                await other.graph.get_node(node.id, timeout_s=60)
                served += 1
            return served

        assert all(await asyncio.gather(calls(direct), calls(through)))
    assert max([await flooding for flooding in floods]) > 0


async def test_an_address_has_so_many_calls(services: Addresses, tmp_path: Path):
    few = CONFIGURATION.read_text().replace("http_req_rate gt 20000", "http_req_rate gt 5")
    async with (
        running(services, tmp_path, few) as proxy,
        AsyncEntityClient(proxy.entity, api_key=KEY, root_certificates=proxy.root, retries=0) as graph,
    ):
        for _ in range(5):
            await graph.graph.create_node("Node")
        with pytest.raises(Unavailable, match="429"):
            for _ in range(2):
                await graph.graph.create_node("Node")


async def test_an_address_has_so_many_connections(proxy: Proxy):
    def count() -> int:
        with ExitStack() as stack:
            for number in range(200):
                try:
                    stack.enter_context(proxy.connect())
                except OSError:
                    return number
        return 200

    assert 90 < await asyncio.to_thread(count) <= 101


def test_the_health_check_is_a_call_of_health():
    (sent, *_) = re.findall(r"tcp-check send-binary ([0-9a-f]+)", CONFIGURATION.read_text())
    request = health_pb2.HealthCheckRequest().SerializeToString()
    expected = (
        PREFACE
        + frame(kind=4)
        + frame(kind=1, flags=4, stream=1, payload=head_of("/grpc.health.v1.Health/Check"))
        + frame(flags=END_STREAM, kind=0, stream=1, payload=b"\0" + len(request).to_bytes(4, "big") + request)
    )
    assert bytes.fromhex(sent) == expected
