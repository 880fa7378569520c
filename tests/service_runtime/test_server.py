"""What the server and the clients tell gRPC's core: names that it knows, and pings that fit together."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc._cython import cygrpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from contextkeep import AsyncEntityClient
from contextkeep.client import _base
from service_runtime.grpc_server import server
from service_runtime.http.listening import listening
from tests.faults import floods
from tests.service_runtime.test_health import serving

ROOT = Path(__file__).parents[2]
PYTHON = [
    path
    for folder in ("service_runtime", "context_service", "entity_service", "clients/python/contextkeep")
    for path in (ROOT / folder).rglob("*.py")
]
TYPESCRIPT = ROOT / "clients/typescript/src/connection.ts"
GRPC_JS = ROOT / "node_modules/@grpc/grpc-js/build/src/channel-options.js"


def test_core_knows_the_name_of_every_option():
    """Core takes no notice of an option whose name it does not know, and says nothing."""
    names = {name for path in PYTHON for name in re.findall(r'\("(grpc\.[\w.]+)",', path.read_text())}
    core = Path(cygrpc.__file__).read_bytes()
    assert len(names) > 10
    assert [name for name in sorted(names) if name.encode() not in core] == []


@pytest.mark.skipif(not GRPC_JS.exists(), reason="npm has installed nothing")
def test_grpc_js_knows_the_name_of_every_option():
    names = re.findall(r'"(grpc\.[\w.]+)":', TYPESCRIPT.read_text())
    known = GRPC_JS.read_text()
    assert len(names) > 5
    assert [name for name in names if f"'{name}'" not in known] == []


async def test_a_silent_call_outlives_the_pings_of_our_client(monkeypatch: pytest.MonkeyPatch):
    """Core hangs up, with "too_many_pings", on a peer that pings more often than the server allows."""
    monkeypatch.setattr(server, "PING_INTERVAL_S_MIN", server.PING_INTERVAL_S_MIN / 100)
    often = {"grpc.keepalive_time_ms": 200, "grpc.http2.max_pings_without_data": 0}
    monkeypatch.setattr(_base, "_CHANNEL_OPTIONS", list({**dict(_base._CHANNEL_OPTIONS), **often}.items()))

    async with serving({"one": []}) as port, AsyncEntityClient(f"127.0.0.1:{port}") as client:
        watch = health_pb2_grpc.HealthStub(client.channel()).Watch(
            health_pb2.HealthCheckRequest(service="one"), timeout=5
        )
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            async for _ in watch:
                pass
    # Not UNAVAILABLE. Core sends one ping a second at most, and the fourth would be one too many.
    assert ended.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_calls_over_the_limit_of_a_connection_wait_at_a_plain_client():
    """Core refused calls of a client that always had as many open as it may: those that were over still counted."""
    async with (
        serving({"one": []}) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.enable_retries", 0)]) as channel,
    ):
        check = health_pb2_grpc.HealthStub(channel).Check

        async def caller() -> None:
            for _ in range(5):
                await check(health_pb2.HealthCheckRequest(service="one"), timeout=60)

        await asyncio.gather(*(caller() for _ in range(4 * server.STREAMS_MAX)))


async def test_a_flood_of_resets_over_many_connections_cancels_no_call_of_others():
    """Core keeps a call that was reset until it is asked for a call; by default it cancels any call past 1,000."""

    def flood(port: int) -> int:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            return floods.reset_streams(connection, 500, path="/grpc.health.v1.Health/Check")

    def check(port: int) -> int:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            return int(stub.Check(health_pb2.HealthCheckRequest(service="one"), timeout=60).status)

    async with serving({"one": []}) as port:
        with ThreadPoolExecutor(30) as pool:
            # Nothing of this waits with `await`: a busy event loop takes over no call.
            assert sum(pool.map(flood, [port] * 30)) > 25 * 500
            time.sleep(0.5)
            calls = [asyncio.wrap_future(pool.submit(check, port)) for _ in range(10)]
            time.sleep(0.5)
            assert set(await asyncio.gather(*calls)) == {health_pb2.HealthCheckResponse.SERVING}


async def test_connections_over_the_limit_are_closed_until_others_end():
    async with serving({"one": []}, connections_max=3) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        assert await is_closed(port)
        for _, writer in silent:
            writer.close()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            await stub.Check(health_pb2.HealthCheckRequest(service="one"), wait_for_ready=True, timeout=20)


async def test_a_connection_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "HANDSHAKE_S_MAX", 0.2)
    async with serving({"one": []}) as port:
        assert await is_closed(port)


async def test_connections_over_the_limit_of_an_http_port_are_closed():
    async def app(scope: object, receive: object, send: object) -> None:
        raise AssertionError("nothing was sent")

    async with listening(
        app, host="127.0.0.1", port=0, connections_max=1, drain_s=0, tls=None, log=logging.getLogger("test")
    ) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await is_closed(port)
        writer.close()


async def is_closed(port: int) -> bool:
    """Say whether the other side closes a new connection that sends nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(3):
            while await reader.read(1000):  # its SETTINGS
                pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    finally:
        writer.close()
    return True
