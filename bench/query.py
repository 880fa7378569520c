"""The cost of context query: a call with five instant providers, over an echo of the same answer; and large sources.

`python -m bench.query [CALLS] [--passages 100000]`. First the overhead: CPU time and median of `QueryContext`
with five providers that answer at once, compared with those of a bare echo whose messages are as large as the answer;
the target is three times as much. With `--passages` a context and a node's records have that many passages each, and
the 95th percentile of the whole call over both native providers is the figure; the target is 60 ms, where an echo
takes .33.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import psutil

from bench.echo import METHOD
from bench.quality.talk import talk
from bench.recalls import filled
from bench.stack import beside
from context_service.commands import dev
from contextkeep import AsyncContextClient
from contextkeep.context.v1 import context_query_pb2 as pb
from contextkeep.context.v1.context_query_pb2_grpc import ContextQueryStub
from service_runtime.values.ids import new_id
from tests.fakes.context_providers import Answered, ProviderQuery, Stub, hit, written_package
from tests.ports import free_port

OVERHEAD_MAX, P95_MS_MAX = 3.0, 60.0
ROUNDS = 3
WARMING = 100
FACTS = (
    "The renewal of Acme was signed in March by Berta Quill.",
    "Acme asked for a discount of five percent.",
    "Berta Quill is the buyer of Acme.",
    "The contract of Acme has a term of two years.",
)


def _instant(number: int) -> type[Stub]:
    async def answered(self: Stub, asked: ProviderQuery, principal: object) -> Answered:
        return Answered(hits=[hit(str(place), f"{text} ({number})") for place, text in enumerate(FACTS)])

    fields = {"id": f"instant-{number}", "answered": answered}
    return type(f"Instant{number}", (Stub,), fields)


Instant1, Instant2, Instant3, Instant4, Instant5 = map(_instant, range(1, 6))
INSTANT = (Instant1, Instant2, Instant3, Instant4, Instant5)


async def timed(call: Callable[[], Awaitable[object]], process: psutil.Process, calls: int) -> tuple[float, float]:
    """Return the milliseconds of CPU that a process uses for a call, and the median of how long it takes."""
    for _ in range(WARMING):
        await call()
    before, took = sum(process.cpu_times()[:2]), []
    for _ in range(calls):
        began = time.perf_counter()
        await call()
        took.append(time.perf_counter() - began)
    return (sum(process.cpu_times()[:2]) - before) / calls * 1000, statistics.median(took) * 1000


async def overhead(services: dev.Stack, calls: int) -> bool:
    """Print what the call costs over an echo, and say whether it is within the target."""
    request = pb.QueryContextRequest(
        query="When was the renewal of Acme signed?", providers=pb.ProviderSelection(families=["external"])
    )
    port = free_port()
    with subprocess.Popen([sys.executable, "-m", "bench.echo", str(port)]) as echo:
        try:
            async with (
                grpc.aio.insecure_channel(services.context_address) as channel,
                grpc.aio.insecure_channel(f"127.0.0.1:{port}") as bare,
            ):
                await asyncio.wait_for(bare.channel_ready(), 30)
                ask = ContextQueryStub(channel).QueryContext
                answer = await ask(request)
                assert len(answer.providers) == len(INSTANT), "all are searched"
                body = answer.SerializeToString()
                call = bare.unary_unary(METHOD)
                asked = psutil.Process(services.processes["context-service"].pid)
                ours, floors = [], []
                for _ in range(ROUNDS):
                    ours.append(await timed(lambda: ask(request), asked, calls))
                    floors.append(await timed(lambda: call(body), psutil.Process(echo.pid), calls))
        finally:
            echo.kill()
    (cpu, p50), (echo_cpu, echo_p50) = min(ours), min(floors)
    print(f"an answer of {len(body):,} bytes, {len(answer.hits)} hits of {len(INSTANT)} instant providers")
    print(
        f"  CPU of a call  {cpu:6.2f} ms, of an echo of it {echo_cpu:6.2f} ms: "
        f"{cpu / echo_cpu:5.1f} (<= {OVERHEAD_MAX:g})"
    )
    print(f"  median         {p50:6.2f} ms, of an echo of it {echo_p50:6.2f} ms: {p50 / echo_p50:5.1f}")
    return cpu / echo_cpu <= OVERHEAD_MAX


async def large(services: dev.Stack, passages: int) -> bool:
    """Print the 95th percentile of calls over a large context and large records."""
    async with AsyncContextClient(services.context_address, timeout_s=60) as context, beside() as floor:
        context_id, questions = await filled(context, passages)
        node_id = new_id()
        turns = [turn.text for turn in talk(turns=passages).turns]
        for start in range(0, passages, 2_000):
            text = "\n\n".join(turns[start : start + 2_000])
            await context.records.insert("text/markdown", f"{start}.md", content_text=text, entity_node_id=node_id)
        await asyncio.sleep(5)
        took = []
        for question in questions[:200]:
            began = time.perf_counter()
            found = await context.query.ask(question, context_ids=[context_id], node_ids=[node_id])
            took.append(time.perf_counter() - began)
            assert {provider.state for provider in found.providers if provider.family in ("context", "workspace")} == {
                "ok"
            }
            await floor.echo()
    p95 = statistics.quantiles(took, n=20)[-1] * 1000
    print(f"{passages:,} passages of a context, and as many of records: 95 % within {floor.said(p95, P95_MS_MAX)}")
    return floor.scaled(p95) <= P95_MS_MAX


def main() -> None:
    """Run the benchmark; exit with 1 if it misses a target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", nargs="?", type=int, default=500)
    parser.add_argument("--passages", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        packages = written_package(Path(name) / "packages", [f"bench.query:{item.__name__}" for item in INSTANT])
        os.environ["PYTHONPATH"] = os.pathsep.join([str(packages), str(Path.cwd())])
        with dev.stack(Path(name), keep=False) as services:
            is_met = asyncio.run(overhead(services, asked.calls))
            if asked.passages:
                is_met = asyncio.run(large(services, asked.passages)) and is_met
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
