"""Our services as an operator starts them: processes that can be stopped, killed and frozen."""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from tests.commands import Commands, Started, loaded

# As `python -m`, but ended by the kernel when we die. Not a `preexec_fn`: a fork with gRPC's threads sometimes crashes.
_RUN = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)
os.execv(sys.executable, [sys.executable, "-m", *sys.argv[1:]])
"""
Process = subprocess.Popen[bytes] | Started
START_TIMEOUT_S = 60.0


@cache
def _loaded() -> Commands:
    """Return what forks our services: a start of one takes 0.7 s of CPU that a fork does not."""
    opened = ExitStack()
    atexit.register(opened.close)
    return opened.enter_context(loaded())


def spawn(*arguments: str, environment: Mapping[str, str], log: Path) -> Process:
    """Run a module of ours, such as `context_service`, with its arguments; it dies with us."""
    if "LD_PRELOAD" not in environment:  # which a fork comes too late for
        return _loaded().start(*arguments, environment=environment, log=log)
    with log.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-c", _RUN, *arguments],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )


class Service:
    """One service, through all of its lives.

    Args:
        module: "context_service" or "entity_service".
        port: Where it listens.
        environment: Its settings, but the port.
        log: Where it writes.
        runner: A module that runs it, such as `bench.bare`; by default it runs itself.
        root_certificates: PEM, of a service that speaks TLS.
        host: Where it listens.
    """

    def __init__(
        self,
        module: str,
        port: int,
        *,
        environment: Mapping[str, str],
        log: Path,
        runner: str = "",
        root_certificates: bytes | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.module = module
        self.port = port
        self.log = log
        self._command = [runner, module, "serve"] if runner else [module, "serve"]
        self._environment = {
            "ALLOW_ANONYMOUS": "true",  # these tests are about faults; keys have their own
            **environment,
            f"{module.upper()}_HOST": host,
            f"{module.upper()}_PORT": str(port),
        }
        self._host = host
        self._root_certificates = root_certificates
        self._process: Process | None = None
        self._told_to_end = False

    @property
    def address(self) -> str:
        return f"{self._host}:{self.port}"

    @property
    def process(self) -> Process:
        assert self._process is not None, "it was never started"
        return self._process

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def is_draining(self) -> bool:
        """Whether it still runs though it was told to end."""
        return self.is_running and self._told_to_end

    async def start(self, *, until: str = "", timeout_s: float = START_TIMEOUT_S, **environment: str) -> None:
        """Start it, and wait until a health service name says that it serves; by default all of it.

        Args:
            until: The health service name.
            timeout_s: How long that may take.
            environment: Settings of this life.
        """
        self._told_to_end = False
        self._process = spawn(*self._command, environment={**self._environment, **environment}, log=self.log)
        await self.until_serving(until, timeout_s=timeout_s)

    async def until_serving(self, name: str = "", *, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until a health service name says that it serves."""
        give_up_at = time.monotonic() + timeout_s
        async with self._channel() as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            while True:
                try:
                    request = health_pb2.HealthCheckRequest(service=name)
                    answer = await stub.Check(request, timeout=2, wait_for_ready=True)
                    if answer.status == health_pb2.HealthCheckResponse.SERVING:
                        return
                except grpc.aio.AioRpcError:
                    pass
                ended = self.process.poll()
                if ended is not None or time.monotonic() > give_up_at:
                    tail = self.log.read_text(errors="replace").splitlines()[-5:]
                    raise AssertionError("\n".join([f"{self.module} does not serve (ended: {ended})", *tail]))
                await asyncio.sleep(0.02)

    def _channel(self) -> grpc.aio.Channel:
        options = [("grpc.max_reconnect_backoff_ms", 100)]
        if self._root_certificates is None:
            return grpc.aio.insecure_channel(self.address, options)
        return grpc.aio.secure_channel(self.address, grpc.ssl_channel_credentials(self._root_certificates), options)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self.is_running:
            self._told_to_end |= number in (signal.SIGTERM, signal.SIGINT)
            self.process.send_signal(number)

    async def ended(self, *, timeout_s: float) -> int:
        """Wait for its end, and return its exit status."""
        return await asyncio.to_thread(self.process.wait, timeout_s)

    async def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        self.send(signal.SIGKILL)
        await self.ended(timeout_s=30)
