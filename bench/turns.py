"""Forty hostile histories of one key: what the calls of another key wait for them.

`python -m bench.turns [SECONDS]`. The hostile key reads, forty times at once and again and again, a history whose rule
costs nearly all that an evaluation may, on each of 1,000 nodes. The other key, of another tenant, makes one call after
the other: a look-up, a search, and an ordinary history. Its slowest call of a hundred may take `RATIO_MAX` times as
long as without the others; the two are measured in turns. The CPU time that the event loops work while a call is under
way, for this call or for others, is printed next to it. It moves less than the clock on a quiet machine; on a machine
with other work it also counts slices that the call did not meet.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.stack import keys_of, running, services_of
from context_service.commands import dev
from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput
from contextkeep.context.v1 import chat_history_pb2 as pb
from contextkeep.errors import ContextKeepError

HOSTILE = 40
NODES = 1000
ROUNDS = 3
RATIO_MAX = 3.0
_TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
DEAR = f"{_TEN}.all(a, {_TEN}.all(b, {_TEN}.all(c, a + b + c > 0))) ? 'a' : 'b'"


async def session(graph: AsyncEntityClient, turns: int) -> str:
    """Return a node with a number of turns below it."""
    root = NodeInput("Session")
    await graph.graph.write([root])
    for start in range(0, turns, 500):
        nodes = [
            NodeInput("Turn", data={"user_input": f"question {number}", "assistant_output": "answer"})
            for number in range(start, min(start + 500, turns))
        ]
        await graph.graph.write(nodes, [EdgeInput(root.id, node.id, "Contains") for node in nodes])
    return root.id


async def register_dear(context: AsyncContextClient) -> None:
    """Register the hostile mapping."""
    rule = pb.MessageRule(role="'user'", content=DEAR)
    rules = pb.MappingRules(messages=[rule])
    await context.call("RegisterMapping", pb.RegisterMappingRequest(mapping_name="dear", rules=rules))


async def read_for_ever(address: str, key: str, node_id: str) -> None:
    """Read forty dear histories at once, again and again."""

    async def read(context: AsyncContextClient) -> None:
        while True:
            try:
                await context.call("GetChatHistory", pb.GetChatHistoryRequest(node_id=node_id, mapping_name="dear"))
            except ContextKeepError as error:
                print(repr(error), file=sys.stderr)

    async with AsyncContextClient(address, api_key=key, retries=0) as context, asyncio.TaskGroup() as tasks:
        for _ in range(HOSTILE):
            tasks.create_task(read(context))


@asynccontextmanager
async def hostile(address: str, key: str, node_id: str) -> AsyncIterator[None]:
    """Let a process of its own be hostile for the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.turns", "--hostile", address, key, node_id
    )
    try:
        await asyncio.sleep(3)
        yield
    finally:
        process.kill()
        await process.wait()
        await asyncio.sleep(1)


class Loops:
    """The event loops of the services."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._paths = [Path(f"/proc/{pid}/task/{pid}/schedstat") for pid in pids]

    def cpu_ms(self) -> float:
        """Return how long the loops have worked, in milliseconds of CPU."""
        return sum(int(path.read_bytes().split()[0]) for path in self._paths) / 1e6


Calls = dict[str, tuple[Callable[[], Awaitable[object]], Loops]]  # by name: a call, and the loops that it goes through


@dataclass(frozen=True, slots=True)
class Taken:
    """The durations of the calls of one kind, by the clock and by the loops' CPU."""

    clock_ms: list[float]
    cpu_ms: list[float]


def at(values: Sequence[float], part: float) -> float:
    """Return the value that a part of the values is below, such as .99 of them."""
    return sorted(values)[int(len(values) * part)]


async def called(calls: Calls, seconds: float) -> dict[str, Taken]:
    """Make the calls one after the other until the time is up."""
    taken = {name: Taken([], []) for name in calls}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for name, (call, loops) in calls.items():
            began, cpu_before = time.perf_counter(), loops.cpu_ms()
            await call()
            taken[name].clock_ms.append((time.perf_counter() - began) * 1000)
            taken[name].cpu_ms.append(loops.cpu_ms() - cpu_before)
    return taken


def merge(into: dict[str, Taken], more: dict[str, Taken]) -> None:
    """Add the figures of `more` to those of `into`."""
    for name, taken in more.items():
        into[name].clock_ms.extend(taken.clock_ms)
        into[name].cpu_ms.extend(taken.cpu_ms)


async def run(stack: dev.Stack, keys: dict[str, str], seconds: float) -> float:
    """Measure the calls with and without the hostile key, print them, and return the worst ratio."""
    async with (
        AsyncEntityClient(stack.entity_address, api_key=keys["hostile"]) as their_graph,
        AsyncContextClient(stack.context_address, api_key=keys["hostile"], retries=0) as theirs,
        AsyncEntityClient(stack.entity_address, api_key=keys["other"]) as graph,
        AsyncContextClient(stack.context_address, api_key=keys["other"], retries=0) as ours,
    ):
        large = await session(their_graph, NODES)
        small = await session(graph, 100)
        record = await ours.records.insert("data/json", "needle", content={"a": 1})
        await register_dear(theirs)
        both = Loops([process.pid for process in services_of(stack)])
        one = Loops([stack.processes["context-service"].pid])  # the Context Service's
        calls: Calls = {
            "FetchWMRecord": (lambda: ours.records.get(record.working_memory_id), one),
            "SearchWMRecords": (lambda: ours.records.search("needle"), one),
            "GetChatHistory, 100 nodes": (lambda: ours.history.get(small), both),
        }
        await called(calls, 2)
        alone, beside = ({name: Taken([], []) for name in calls} for _ in range(2))
        for _ in range(ROUNDS):
            merge(alone, await called(calls, seconds))
            async with hostile(stack.context_address, keys["hostile"], large):
                merge(beside, await called(calls, seconds))
    print(
        f"{'ms of CPU (of the clock)':26} {'alone: median':>15} {'p99':>15} {'beside: median':>17} {'p99':>17}  ratio"
    )
    worst = 0.0
    for name in calls:
        columns = [
            f"{at(item.cpu_ms, part):7.1f} ({at(item.clock_ms, part):6.1f})"
            for item in (alone[name], beside[name])
            for part in (0.5, 0.99)
        ]
        ratio = at(beside[name].clock_ms, 0.99) / at(alone[name].clock_ms, 0.99)
        cpu_ratio = at(beside[name].cpu_ms, 0.99) / at(alone[name].cpu_ms, 0.99)
        worst = max(worst, ratio)
        print(f"{name:26} {'  '.join(columns)}  {cpu_ratio:.1f} ({ratio:.1f} ≤ {RATIO_MAX:g})")
    return worst


def main() -> None:
    """Start the stack, measure, exit with 1 if the ratio is missed."""
    if sys.argv[1:2] == ["--hostile"]:
        asyncio.run(read_for_ever(*sys.argv[2:]))
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    with running() as (stack, _):
        worst = asyncio.run(run(stack, keys_of(stack, "hostile", "other"), seconds))
    if worst > RATIO_MAX:
        sys.exit("the hostile key moves the other's calls too far")


if __name__ == "__main__":
    main()
