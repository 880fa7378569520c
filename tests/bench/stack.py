"""What a benchmark starts: the stack that it measures, and the echoes that it measures it by."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc

from context_service import dev
from contextkeep import AsyncContextClient
from tests.ports import free_port


@contextmanager
def running(*, run_with: tuple[str, ...] = ("-m",)) -> Iterator[tuple[dev.Stack, Path]]:
    """Run both services and Postgres for the block, in a folder that goes with them.

    Args:
        run_with: What stands between the interpreter and the name of a service.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        dev.stack(Path(folder), keep=False, run_with=run_with) as stack,
    ):
        yield stack, Path(folder)


def measured(run: Callable[[dev.Stack, AsyncContextClient, int], Awaitable[bool]], steps: int) -> int:
    """Run a benchmark on a stack of its own; return 1 if a target is missed.

    Args:
        run: Measures with so many steps; says whether the targets are met.
        steps: Unless the command says how many.
    """

    async def called(stack: dev.Stack) -> bool:
        async with AsyncContextClient(stack.context_address) as context:
            return await run(stack, context, int(sys.argv[1]) if len(sys.argv) > 1 else steps)

    with running() as (stack, _):
        return 0 if asyncio.run(called(stack)) else 1


def services_of(stack: dev.Stack) -> tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]:
    """Return the processes of the Entity Service and of the Context Service; a stack may have others, too."""
    return stack.processes["entity-service"], stack.processes["context-service"]


@contextmanager
def echoes() -> Iterator[dict[int, int]]:
    """Run two echoes for the block; yields the ports to call by how many servers a call goes through."""
    with _echo(free_port()) as last, _echo(free_port(), last) as first:
        yield {1: last, 2: first}


@contextmanager
def _echo(*ports: int) -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.echo", *map(str, ports)])
    try:
        with grpc.insecure_channel(f"127.0.0.1:{ports[0]}") as channel:
            grpc.channel_ready_future(channel).result(timeout=20)
        yield ports[0]
    finally:
        process.kill()
        process.wait()
