"""Starts the stack that a benchmark measures, and the echoes that it is compared with.

Targets in milliseconds are for a machine whose echo takes `ECHO_MS`: times are scaled by an echo of the same run.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import grpc

from bench.echo import METHOD
from context_service.commands import dev
from contextkeep import AsyncContextClient
from service_runtime.auth.keys import KeyAdministration, NewKey
from tests.ports import free_port

ECHO_MS = 0.33  # at the median, of the machine that the targets are for
_MESSAGE = b"x" * 400


@contextmanager
def running(*, run_with: tuple[str, ...] = ("-m",)) -> Iterator[tuple[dev.Stack, Path]]:
    """Run both services and Postgres for the block, in a folder that goes with them.

    Args:
        run_with: Arguments between the interpreter and the name of a service.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        dev.stack(Path(folder), keep=False, run_with=run_with) as stack,
    ):
        yield stack, Path(folder)


def measured(run: Callable[[dev.Stack, AsyncContextClient, Beside, int], Awaitable[bool]], steps: int) -> int:
    """Run a benchmark on a stack of its own; return 1 if a target is missed.

    Args:
        run: Measures with a number of steps, with an echo for comparison; returns whether the targets are met.
        steps: Number of steps, unless the command line gives another.
    """

    async def called(stack: dev.Stack) -> bool:
        async with AsyncContextClient(stack.context_address) as context, beside() as floor:
            return await run(stack, context, floor, int(sys.argv[1]) if len(sys.argv) > 1 else steps)

    with running() as (stack, _):
        return 0 if asyncio.run(called(stack)) else 1


def keys_of(stack: dev.Stack, *tenants: str) -> dict[str, str]:
    """Make tenants with these names, and return a key of each that reads and writes."""
    administration = KeyAdministration(stack.postgres.admin_url)
    for name in tenants:
        administration.add_tenant(name)
    return {
        name: administration.create(NewKey(tenant=name, subject=name, scopes=["read", "write"])) for name in tenants
    }


def services_of(stack: dev.Stack) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]:
    """Return the processes of the Entity Service and of the Context Service; a stack may have others, too."""
    return stack.processes["entity-service"], stack.processes["context-service"]


class Beside:
    """Calls an echo between the calls that are measured, so that both meet the same machine; made by `beside`."""

    def __init__(self, call: Callable[[bytes], Awaitable[bytes]]) -> None:
        self._call = call
        self._seconds: list[float] = []

    async def echo(self) -> None:
        """Call the echo once, and remember how long it took."""
        began = time.perf_counter()
        await self._call(_MESSAGE)
        self._seconds.append(time.perf_counter() - began)

    @property
    def median_ms(self) -> float:
        """Milliseconds of an echo at the median so far."""
        return statistics.median(self._seconds) * 1000

    def scaled(self, ms: float) -> float:
        """Return the time that this one would be on the machine that the targets are for."""
        return ms * ECHO_MS / self.median_ms

    def said(self, ms: float, target_ms: float) -> str:
        """Return a time as text: the measured one, the scaled one and the target."""
        return f"{ms:.1f} ms, {self.scaled(ms):.1f} scaled by an echo of {self.median_ms:.2f} (<= {target_ms:g})"


@asynccontextmanager
async def beside() -> AsyncIterator[Beside]:
    """Run an echo for the block."""
    with echoes() as ports:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{ports[1]}") as channel:
            call = channel.unary_unary(METHOD)
            for _ in range(20):
                await call(_MESSAGE)
            yield Beside(call)


@contextmanager
def echoes() -> Iterator[dict[int, int]]:
    """Run two echoes for the block; yields the ports to call by how many servers a call goes through."""
    with _echo(free_port()) as last, _echo(free_port(), last) as first:
        yield {1: last, 2: first}


@contextmanager
def _echo(*ports: int) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-m", "bench.echo", *map(str, ports)])
    try:
        with grpc.insecure_channel(f"127.0.0.1:{ports[0]}") as channel:
            grpc.channel_ready_future(channel).result(timeout=20)
        yield ports[0]
    finally:
        process.kill()
        process.wait()
