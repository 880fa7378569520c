"""A server that stops while callers send calls without waiting for answers, and while its event loop is full."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from contextlib import ExitStack
from itertools import cycle

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from service_runtime.grpc_server import server
from service_runtime.grpc_server.interceptors import Border
from service_runtime.rpc.principal import ApiKeys
from service_runtime.settings import ServiceSettings
from service_runtime.telemetry.metrics import Metrics

CONNECTIONS = 8
CALLS_PER_S = 400
BUSY_S = 0.003  # that each pass of the event loop takes: grpc.aio accepts some fifty calls a second


async def test_a_stop_cancels_no_call_that_core_has_received(monkeypatch: pytest.MonkeyPatch):
    """Callers retry UNAVAILABLE; calls that core had not handed over were CANCELLED, which they do not retry."""
    monkeypatch.setattr(server, "QUIET_S_MAX", 0.4)
    metrics = Metrics()
    border = Border(ApiKeys({}), limits=ServiceSettings().call_limits, metrics=metrics)
    options = server.ServerOptions(host="127.0.0.1", port=0, drain_s=10, connection_age_s=600, connections_max=100)
    services = [server.Service(full_name="one", add=lambda _: None, checks=[])]
    stop = threading.Event()

    async def busy() -> None:
        while True:
            time.sleep(BUSY_S)
            await asyncio.sleep(0)

    async with server.running(services, border, options, metrics) as port:
        calling = asyncio.create_task(asyncio.to_thread(codes_of_calls, port, stop))
        filling = asyncio.create_task(busy())
        await asyncio.sleep(0.4)
    stop.set()
    codes = await calling
    filling.cancel()

    # Core cancels calls that arrive between its stop and the GOAWAY: with `CALLS_PER_S`, less than one each time.
    assert codes.pop(grpc.StatusCode.CANCELLED, 0) <= 3
    assert codes.keys() <= {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
    assert codes.total() > 100


def codes_of_calls(port: int, stop: threading.Event) -> Counter[grpc.StatusCode]:
    """Send calls over all connections, at a fixed rate, until `stop`; return how often each status came."""
    options = [("grpc.enable_retries", 0), ("grpc.use_local_subchannel_pool", 1)]
    with ExitStack() as opened:
        channels = [
            opened.enter_context(grpc.insecure_channel(f"127.0.0.1:{port}", options)) for _ in range(CONNECTIONS)
        ]
        stubs = [health_pb2_grpc.HealthStub(channel) for channel in channels]
        calls = []
        for stub in cycle(stubs):
            calls.append(stub.Check.future(health_pb2.HealthCheckRequest(service="one"), timeout=20))
            if stop.wait(1 / CALLS_PER_S):
                break
        return Counter(call.code() for call in calls)
