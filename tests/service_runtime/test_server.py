"""What the server and the clients tell gRPC's core: names that it knows, and pings that fit together."""

from __future__ import annotations

import re
from pathlib import Path

import grpc
import pytest
from grpc._cython import cygrpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from contextkeep import AsyncEntityClient
from contextkeep.client import _base
from service_runtime import server
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
