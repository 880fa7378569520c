"""Many callers at once: appends and reads of the newest messages, against echoes in the same mix.

`python -m bench.load [SECONDS]`. Each of `CLIENTS` callers has a session of its own and takes turns: append a
message, read the last ten. The floor is the same callers with the same number of hops to bare echoes. Then the event
loops of both services are watched: no callback may use more than `CALLBACK_S_MAX` of CPU.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc

from bench.calls import message
from bench.echo import METHOD
from bench.stack import echoes, running
from context_service.commands import dev
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput

Turn = dict[str, Callable[[], Awaitable[object]]]  # the calls that one caller makes, one after the other

CLIENTS = 64
READ = 10
CALLBACK_S_MAX = 0.050


class Load:
    """The outcome of some seconds of calls."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {"append": [], "read": []}
        self.errors = 0
        self.elapsed_s = 0.0

    @property
    def rate(self) -> float:
        """Return the calls a second."""
        return sum(map(len, self.seconds.values())) / self.elapsed_s

    def percentile_ms(self, name: str, part: float) -> float:
        """Return the duration that a part of the calls was faster than, such as .99 of them."""
        durations = sorted(self.seconds[name])
        return durations[int(len(durations) * part)] * 1000


async def load(callers: list[Turn], seconds: float) -> Load:
    """Let every caller take its turns until the time is up."""
    result, started = Load(), time.perf_counter()

    async def turns(calls: Turn) -> None:
        while time.perf_counter() < started + seconds:
            for name, call in calls.items():
                begun = time.perf_counter()
                try:
                    await call()
                except Exception as error:
                    result.errors += 1
                    print(f"{name}: {error!r}", file=sys.stderr)
                else:
                    result.seconds[name].append(time.perf_counter() - begun)

    await asyncio.gather(*map(turns, callers))
    result.elapsed_s = time.perf_counter() - started
    return result


async def run(stack: dev.Stack, echo_ports: dict[int, int], seconds: float) -> int:
    """Measure our services and the echoes, print both, and return the number of failed calls."""
    echoes = {hops: grpc.aio.insecure_channel(f"127.0.0.1:{port}") for hops, port in echo_ports.items()}
    body = b"x" * 1000
    async with AsyncEntityClient(stack.entity_address) as graph, AsyncContextClient(stack.context_address) as context:
        sessions = [NodeInput("Session") for _ in range(CLIENTS)]
        await graph.graph.write(sessions, [])

        def caller(session: NodeInput) -> Turn:
            async def append() -> None:
                node = message(0, 900)
                await graph.graph.write([node], [EdgeInput(session.id, node.id, "Contains")])

            async def read() -> None:
                await context.history.get(session.id, max_messages=READ)

            return {"append": append, "read": read}

        floor_calls = {
            "append": lambda: echoes[1].unary_unary(METHOD)(body),
            "read": lambda: echoes[2].unary_unary(METHOD)(body),
        }
        await load([caller(session) for session in sessions], min(seconds, 2))  # connections and plans are there then
        floor = await load([dict(floor_calls)] * CLIENTS, seconds / 6)
        ours = await load([caller(session) for session in sessions], seconds)
    for channel in echoes.values():
        await channel.close()
    print(f"{CLIENTS} callers for {seconds:.0f} s: {ours.rate:.0f} calls/s; echoes {floor.rate:.0f};", end=" ")
    print(f"{ours.rate / floor.rate:.2f} of them; {ours.errors} errors")
    for name in ours.seconds:
        print(f"  {name:8} p50 {ours.percentile_ms(name, 0.5):.1f} ms, p99 {ours.percentile_ms(name, 0.99):.1f} ms")
    return ours.errors


def main() -> int:
    """Measure the rates, then the callbacks; 1 if a call failed or a callback was too long."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    errors = asyncio.run(measured(seconds))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LOOP_WATCH_FOLDER"] = folder
        errors += asyncio.run(measured(min(seconds, 10), run_with=("-m", "bench.watched")))
        longest = {name: float(Path(folder, name).read_text()) for name in ("entity_service", "context_service")}
    for name, cpu_s in longest.items():
        print(f"  {name}: at most {cpu_s * 1000:.1f} ms of CPU in a callback (limit {CALLBACK_S_MAX * 1000:.0f})")
    return int(errors > 0 or max(longest.values()) > CALLBACK_S_MAX)


async def measured(seconds: float, *, run_with: tuple[str, ...] = ("-m",)) -> int:
    """Start everything, measure, stop everything; return the number of failed calls."""
    with running(run_with=run_with) as (stack, _), echoes() as echo_ports:
        return await run(stack, echo_ports, seconds)


if __name__ == "__main__":
    sys.exit(main())
