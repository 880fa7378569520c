"""Windows over gRPC and Postgres: the cost of a pack while an agent works on, the cost of a fold, the size on disk.

`python -m bench.packs [STEPS]`. An agent's steps of `STEP_TOKENS` or so are appended one by one, and a window of
`LIMIT` tokens is packed after each, without recall. Times are of `MEASURED` steps, at a thousand and at the end; of
the last ones, each is packed three times: when it is new, again, and by a caller that names the pack it has. CPU by
process is of the same calls. Then another window reads the whole log at once.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import psycopg

from bench.stack import Beside, measured
from bench.table import Processes
from context_service.commands import dev
from contextkeep import AsyncContextClient, MessageInput, Pack, PartInput, ToolCallInput, ToolResultInput, Window

STEPS = 10_000
EARLY = 1_000
MEASURED = 300
LIMIT = 68_000
STEP_TOKENS = 900
ASKED_EVERY_S = 5.0  # whether a window has read its log
PACK_P50_MS, PACK_P95_MS = 6, 15  # at the end
APPEND_RATIO = 1.5  # p95 at the end over that of a thousand steps
DISK_RATIO = 1.2  # bytes for a byte of text, in addition to the log
OF_WINDOWS = ("context_window", "window_block", "window_summary", "window_entry", "window_fold", "window_checkpoint")

_T = TypeVar("_T")
_LINES = Path(__file__).read_text(encoding="utf-8").splitlines()


def step(number: int, randomly: random.Random) -> list[MessageInput]:
    """Return what an agent writes in a step: it reads a file, and sees a number of tokens of it."""
    seen = "\n".join(f"{number + n}: {randomly.choice(_LINES)}" for n in range(STEP_TOKENS // 14))
    call = ToolCallInput(id=f"c{number}", name="read_file", arguments={"path": f"src/part_{number % 97}.py"})
    return [
        MessageInput(f"I look at part {number}.", role="assistant", parts=[PartInput(tool_call=call)]),
        MessageInput(
            role="tool", parts=[PartInput(tool_result=ToolResultInput(tool_call_id=f"c{number}", content=seen))]
        ),
    ]


class Calls:
    """Calls of some kinds: how long each took, and the CPU of each process for all of a kind.

    Args:
        processes: The processes whose CPU is counted.
        floor: An echo that is called after each call.
    """

    def __init__(self, processes: Processes, floor: Beside) -> None:
        self._processes = processes
        self._floor = floor
        self.seconds: dict[str, list[float]] = {}
        self._cpu_s: dict[str, Counter[str]] = {}

    async def measured(self, kind: str | Callable[[Any], str], call: Awaitable[_T]) -> _T:
        """Await a call, count it under its kind, and return its answer. `kind` may be a function of the answer."""
        before, own, began = self._processes.cpu_s(), time.process_time(), time.perf_counter()
        answer = await call
        took, own = time.perf_counter() - began, time.process_time() - own
        after = {**self._processes.cpu_s(), "client": before["client"] + own}  # without what counting takes
        name = kind if isinstance(kind, str) else kind(answer)
        self.seconds.setdefault(name, []).append(took)
        self._cpu_s.setdefault(name, Counter()).update({item: after[item] - before[item] for item in after})
        await self._floor.echo()
        return answer

    def __str__(self) -> str:
        lines = []
        for name, seconds in self.seconds.items():
            cpu = "  ".join(f"{item} {used / len(seconds) * 1000:.1f}" for item, used in self._cpu_s[name].items())
            times = f"p50 {statistics.median(seconds) * 1000:.1f}, p95 {_p95(seconds) * 1000:.1f} ms"
            lines.append(f"{name:24} {len(seconds):5,} times: {times:28} CPU ms: {cpu}")
        return "\n".join(lines)


async def run(stack: dev.Stack, context: AsyncContextClient, floor: Beside, steps: int) -> bool:
    """Work, and print what it took; say whether the targets are met."""
    randomly, text_bytes = random.Random(1), 0
    context_id = (await context.contexts.send("Read all of it.", recall=False)).context_id
    given = {"context_tokens": LIMIT + 1, "token_budget": 1.0, "output_reservation": 1}
    window = await context.windows.open(context_id, "m", compression_profile="coding", **given)
    processes = Processes({"service": stack.processes["context-service"].pid, "postgres": stack.postgres.pid})
    early, calls = Calls(processes, floor), Calls(processes, floor)
    pack = await context.windows.pack(window.window_id, without_recall=True)
    for number in range(1, steps + 1):
        messages = step(number, randomly)
        text_bytes += sum(len(str(message)) for message in messages)
        is_measured = number > steps - MEASURED
        of = calls if is_measured else early if EARLY - MEASURED < number <= EARLY else None
        append = context.contexts.append(messages, context_id)
        await (of.measured("append", append) if of else append)
        before, packing = pack, context.windows.pack(window.window_id, without_recall=True)
        kind = partial(_kind, before)
        pack = await (of.measured(kind, packing) if of else packing)
        if is_measured:
            await of.measured("pack again", context.windows.pack(window.window_id, without_recall=True))
            since = context.windows.pack(window.window_id, without_recall=True, since=before)
            await of.measured("pack since the last one", since)
        if sys.stderr.isatty():
            print(f"\r{number:,} steps", end="", file=sys.stderr)
    disk = disk_bytes(stack)
    print(calls)
    ratio = _p95(calls.seconds["append"]) / _p95((early if early.seconds else calls).seconds["append"])
    print(f"append, p95 at the end over that at {EARLY:,}: {ratio:.2f} (target {APPEND_RATIO})")
    p50, p95 = statistics.median(calls.seconds["pack"]) * 1000, _p95(calls.seconds["pack"]) * 1000
    print(f"pack, p50 {floor.said(p50, PACK_P50_MS)}, p95 {floor.said(p95, PACK_P95_MS)}")
    share = sum(disk.values()) / text_bytes
    parts = ", ".join(f"{name} {size / text_bytes:.2f}" for name, size in disk.items())
    print(f"{share:.2f} bytes of the window on disk for a byte of text (target {DISK_RATIO}): {parts}")
    another = await context.windows.open(context_id, "m", compression_profile="coding", **given)
    behind = Calls(processes, floor)
    await behind.measured("reading the whole log", caught_up(context, another))
    print(behind)
    is_fast = floor.scaled(p50) <= PACK_P50_MS and floor.scaled(p95) <= PACK_P95_MS
    return ratio <= APPEND_RATIO and is_fast and share <= DISK_RATIO


def _kind(before: Pack, now: Pack) -> str:
    return "pack" if now.epoch == before.epoch else "pack that folds"


async def caught_up(context: AsyncContextClient, window: Window) -> Pack:
    """Return the first pack of a window that has read its log in the background."""
    while (pack := await context.windows.pack(window.window_id, without_recall=True)).is_catching_up:
        await asyncio.sleep(ASKED_EVERY_S)
    return pack


def _p95(seconds: Sequence[float]) -> float:
    return sorted(seconds)[int((len(seconds) - 1) * 0.95)]


def disk_bytes(stack: dev.Stack) -> dict[str, int]:
    """Return the bytes of each table, with its indexes."""
    with psycopg.connect(stack.postgres.url(role="postgres")) as connection:
        names = [f"context.{name}" for name in OF_WINDOWS]
        rows = connection.execute("SELECT pg_total_relation_size(t::regclass) FROM unnest(%s::text[]) t", (names,))
        return {name: int(size) for name, (size,) in zip(OF_WINDOWS, rows, strict=True)}


if __name__ == "__main__":
    sys.exit(measured(run, STEPS))
