"""Windows over gRPC and Postgres: what a pack takes as an agent works on, what a fold takes, and what it is on disk.

`python -m tests.bench.packs [STEPS]`. An agent's steps of `STEP_TOKENS` or so are appended one by one, and a window of
`LIMIT` tokens is packed behind each, without recall. Times are of `MEASURED` steps, at a thousand and at the end.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psycopg

from context_service import dev
from contextkeep import AsyncContextClient, MessageInput, PartInput, ToolCallInput, ToolResultInput
from tests.bench.stack import running
from tests.bench.table import Processes

STEPS = 10_000
EARLY = 1_000
MEASURED = 300
LIMIT = 68_000
STEP_TOKENS = 900
PACK_P50_MS, PACK_P95_MS = 6, 15  # at the end
APPEND_RATIO = 1.5  # p95 at the end over that of a thousand steps
DISK_RATIO = 1.2  # bytes for a byte of text, beside the log
OF_WINDOWS = ("context_window", "window_block", "window_summary", "window_entry", "window_fold")

_LINES = Path(__file__).read_text(encoding="utf-8").splitlines()


def step(number: int, randomly: random.Random) -> list[MessageInput]:
    """Return what an agent writes in a step: it reads a file, and sees so many tokens of it."""
    seen = "\n".join(f"{number + n}: {randomly.choice(_LINES)}" for n in range(STEP_TOKENS // 14))
    call = ToolCallInput(id=f"c{number}", name="read_file", arguments={"path": f"src/part_{number % 97}.py"})
    return [
        MessageInput(f"I look at part {number}.", role="assistant", parts=[PartInput(tool_call=call)]),
        MessageInput(
            role="tool", parts=[PartInput(tool_result=ToolResultInput(tool_call_id=f"c{number}", content=seen))]
        ),
    ]


async def run(stack: dev.Stack, context: AsyncContextClient, steps: int) -> bool:
    """Work, and print what it took; say whether the targets are met."""
    randomly, text_bytes = random.Random(1), 0
    context_id = (await context.send_message("Read all of it.", recall=False)).context_id
    window = await context.open_window(
        context_id, "m", context_tokens=LIMIT + 1, token_budget=1.0, output_reservation=1, compression_profile="coding"
    )
    processes = Processes({"context": stack.processes[1].pid, "postgres": stack.postgres.pid})
    appends: list[float] = []
    packs: list[float] = []
    folds: list[float] = []
    epoch, cpu = 0, processes.cpu_s()
    for number in range(1, steps + 1):
        messages = step(number, randomly)
        text_bytes += sum(len(str(message)) for message in messages)
        began = time.perf_counter()
        await context.append_messages(messages, context_id)
        appended = time.perf_counter()
        pack = await context.pack(window.window_id, without_recall=True)
        packed = time.perf_counter()
        appends.append(appended - began)
        (packs if pack.epoch == epoch else folds).append(packed - appended)
        epoch = pack.epoch
        if sys.stderr.isatty():
            print(f"\r{number:,} steps", end="", file=sys.stderr)
        if number == EARLY:
            early = _p95(appends[-MEASURED:])
    used = {name: (seconds - cpu[name]) / steps for name, seconds in processes.cpu_s().items()}
    late, last = _p95(appends[-MEASURED:]), packs[-MEASURED:]
    p50, p95 = statistics.median(last), _p95(last)
    disk = _disk_bytes(stack) / text_bytes
    print(f"append, p95 at the end over that at {EARLY:,}: {late / early:.2f} (target {APPEND_RATIO})")
    print(f"pack, p50 {p50 * 1000:.1f} ms (target {PACK_P50_MS}), p95 {p95 * 1000:.1f} (target {PACK_P95_MS})")
    print(f"{len(folds):,} packs that fold: p50 {statistics.median(folds) * 1000:.0f} ms, p95 {_p95(folds) * 1000:.0f}")
    print(f"{disk:.2f} bytes of the window on disk for a byte of text (target {DISK_RATIO})")
    print("CPU ms of a step: " + "  ".join(f"{name} {seconds * 1000:.1f}" for name, seconds in used.items()))
    return late <= early * APPEND_RATIO and p50 * 1000 <= PACK_P50_MS and disk <= DISK_RATIO


def _p95(seconds: Sequence[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.95)]


def _disk_bytes(stack: dev.Stack) -> int:
    with psycopg.connect(stack.postgres.url(role="postgres")) as connection:
        names = [f"context.{name}" for name in OF_WINDOWS]
        (size,) = connection.execute(
            "SELECT sum(pg_total_relation_size(t::regclass)) FROM unnest(%s::text[]) t", (names,)
        ).fetchone() or (0,)
        return int(size)


async def bench(stack: dev.Stack, steps: int) -> bool:
    """Measure; say whether the targets are met."""
    async with AsyncContextClient(stack.context_address) as context:
        return await run(stack, context, steps)


def main() -> int:
    """Run it; 1 if a target is missed."""
    with running() as (stack, _):
        return 0 if asyncio.run(bench(stack, int(sys.argv[1]) if len(sys.argv) > 1 else STEPS)) else 1


if __name__ == "__main__":
    sys.exit(main())
