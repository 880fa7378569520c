"""Contexts: what a message costs to send, whether length matters, and what others notice of one with many writers.

`python -m bench.contexts [SECONDS]`. A message of `TEXT_BYTES` is sent without recall, index included, against an
echo and one INSERT of the same bytes; into a context of `LONG` messages, against one of `SHORT`; and by `WRITERS` at
once, in a process of their own, into one context, while another caller reads headers and appends to a context of its
own. Last, what the long context takes on disk.
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

import grpc
import psycopg

from bench.echo import METHOD
from bench.stack import echoes, running
from bench.table import HEADER, Processes, compare
from bench.turns import at
from context_service.commands import dev
from contextkeep import AsyncContextClient

TEXT_BYTES = 400
SENDS = 200
SHORT, LONG = 10, 100_000
BATCH = 500
WRITERS = 64
ROUNDS = 3
SEND_MAX = 2.5  # times the floor
LENGTH_MAX = 1.2  # times what it takes in a short context
BESIDE_MAX = 3.0  # times the p99 of a quiet context
TABLES = ("message", "passage", "passage_session", "passage_scope")

Calls = Mapping[str, Callable[[], Awaitable[object]]]  # by name

# Words, not one letter again and again: text that is cut and indexed like text.
_WORDS = Path(__file__).read_text(encoding="utf-8") * 2
_NUMBERS = count()


def text() -> str:
    """Return another message each time."""
    return _WORDS[next(_NUMBERS) % 1009 :][:TEXT_BYTES]


class Bench:
    """The running stack, the floor, and the client that measures both."""

    def __init__(self, stack: dev.Stack, context: AsyncContextClient, floor: psycopg.AsyncConnection[object]) -> None:
        self.context = context
        self.floor = floor
        self.stack = stack
        self.processes = Processes({"context": stack.processes["context-service"].pid, "postgres": stack.postgres.pid})

    async def begun(self, messages: int) -> str:
        """Return a context with a number of messages."""
        context_id = ""
        while messages > 0:
            said = [text() for _ in range(min(messages, BATCH))]
            context_id = (await self.context.contexts.append(said, context_id or None))[0].context_id
            messages -= len(said)
        return context_id

    async def send(self, context_id: str) -> None:
        """Send a message."""
        await self.context.contexts.send(text(), context_id, recall=False)

    async def against_the_floor(self, echo: grpc.aio.Channel) -> bool:
        """Compare with an echo and an INSERT; say whether the target is met."""
        await self.floor.execute("CREATE SCHEMA floor")
        await self.floor.execute("CREATE TABLE floor.message (id uuid PRIMARY KEY, body text)")
        context_id = await self.begun(SHORT)

        async def floor() -> None:
            said = text()
            await echo.unary_unary(METHOD)(said.encode())
            await self.floor.execute("INSERT INTO floor.message VALUES (%s, %s)", (uuid.uuid4(), said))

        return await self._compare("a message, indexed", lambda: self.send(context_id), floor, target=SEND_MAX)

    async def by_length(self) -> bool:
        """Compare a long context with a short one, and print what it takes on disk; say whether the target is met."""
        before = self._disk_bytes()
        long = await self.begun(LONG)
        disk = self._disk_bytes() - before
        short = await self.begun(SHORT)
        met = await self._compare(
            f"one after {LONG:,} others", lambda: self.send(long), lambda: self.send(short), target=LENGTH_MAX
        )
        print(f"{disk / (LONG * TEXT_BYTES):.2f} bytes on disk for a byte of text, everything included", flush=True)
        return met

    def _disk_bytes(self) -> int:
        with psycopg.connect(self.stack.postgres.url(role="postgres")) as connection:
            names = [f"context.{name}" for name in TABLES]
            sizes = connection.execute(
                "SELECT sum(pg_total_relation_size(t::regclass)) FROM unnest(%s::text[]) t", (names,)
            )
            (size,) = sizes.fetchone() or (0,)
            return int(size)

    async def _compare(
        self, name: str, ours: Callable[[], Awaitable[None]], floor: Callable[[], Awaitable[None]], *, target: float
    ) -> bool:
        row = await compare(name, ours, floor, target=target, processes=self.processes, repeat=SENDS)
        return row.ratio <= target

    async def beside_writers(self, seconds: float) -> bool:
        """Measure calls to other contexts while many writers send to one; return whether the target is met."""
        busy, own = await self.begun(SHORT), await self.begun(SHORT)
        calls: Calls = {
            "GetContext": lambda: self.context.contexts.get(own, history_length=0),
            "SendMessage": lambda: self.send(own),
        }
        quiet: dict[str, list[float]] = {name: [] for name in calls}
        beside: dict[str, list[float]] = {name: [] for name in calls}
        rates = []
        await _timed(calls, {name: [] for name in calls}, 1)  # plans are there then
        for _ in range(ROUNDS):
            await _timed(calls, quiet, seconds)
            async with _writers(self.stack.context_address, busy):
                written, began = await self._last_seq(busy), time.perf_counter()
                await _timed(calls, beside, seconds)
                rates.append((await self._last_seq(busy) - written) / (time.perf_counter() - began))
        print(f"{WRITERS} writers of one context: {max(rates):.0f} messages a second; meanwhile, in ms:")
        worst = 0.0
        for name in calls:
            ratio = at(beside[name], 0.99) / at(quiet[name], 0.99)
            worst = max(worst, ratio)
            medians, last = ([at(item[name], part) * 1000 for item in (quiet, beside)] for part in (0.5, 0.99))
            print(
                f"  {name:12} median {medians[0]:.1f} -> {medians[1]:.1f}, p99 {last[0]:.1f} -> {last[1]:.1f}:"
                f" {ratio:.1f} times (<= {BESIDE_MAX:g})"
            )
        return worst <= BESIDE_MAX

    async def _last_seq(self, context_id: str) -> int:
        return (await self.context.contexts.get(context_id, history_length=0)).context.last_seq


async def _timed(calls: Calls, taken: Mapping[str, list[float]], seconds: float) -> None:
    """Make the calls one after the other until the time is up, and add the duration of each to `taken`."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for name, call in calls.items():
            began = time.perf_counter()
            await call()
            taken[name].append(time.perf_counter() - began)


@asynccontextmanager
async def _writers(address: str, context_id: str) -> AsyncIterator[None]:
    """Let a process of its own write to one context for the block, as fast as it can."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.contexts", "--write", address, context_id
    )
    try:
        await asyncio.sleep(2)
        yield
    finally:
        process.kill()
        await process.wait()
        await asyncio.sleep(1)


async def write_for_ever(address: str, context_id: str) -> None:
    """Write to one context by many writers at once."""

    async def write(context: AsyncContextClient) -> None:
        while True:
            await context.contexts.send(text(), context_id, recall=False)

    async with AsyncContextClient(address) as context, asyncio.TaskGroup() as tasks:
        for _ in range(WRITERS):
            tasks.create_task(write(context))


async def run(stack: dev.Stack, echo_port: int, seconds: float) -> bool:
    """Run all three measurements, print them, and say whether all targets are met."""
    url = stack.postgres.url(role="postgres")
    async with (
        await psycopg.AsyncConnection.connect(url, autocommit=True) as floor,
        AsyncContextClient(stack.context_address) as context,
        grpc.aio.insecure_channel(f"127.0.0.1:{echo_port}") as echo,
    ):
        print(HEADER)
        bench = Bench(stack, context, floor)
        met = [await bench.against_the_floor(echo), await bench.beside_writers(seconds), await bench.by_length()]
        return all(met)


def main() -> int:
    """Start everything, measure; 1 if a target is missed."""
    if sys.argv[1:2] == ["--write"]:
        asyncio.run(write_for_ever(*sys.argv[2:]))
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    with running() as (stack, _), echoes() as echo_ports:
        return int(not asyncio.run(run(stack, echo_ports[1], seconds)))


if __name__ == "__main__":
    sys.exit(main())
