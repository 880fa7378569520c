"""Forks: the cost of forking a window and merging its result, after few steps and after many.

`python -m bench.forks [STEPS]`. An agent's steps are short: their number matters, and how many facts of them are kept.
An answer is written to each fork, and merged.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from itertools import chain

from bench.packs import LIMIT, Calls
from bench.stack import Beside, measured, services_of
from bench.table import Processes
from context_service.commands import dev
from contextkeep import AsyncContextClient, MessageInput, PartInput, ToolCallInput, ToolResultInput, Window
from contextkeep.errors import WindowBehind

STEPS = 10_000
FEW = 100
MEASURED = 60
STEPS_AT_ONCE = 100  # of an append
FORK_P95_MS = MERGE_P95_MS = 30


def step(number: int) -> list[MessageInput]:
    """Return what an agent writes in a step: it edits a file, and sometimes decides something, or gets a value."""
    call = ToolCallInput(id=f"c{number}", name="edit_file", arguments={"path": f"src/part_{number % 997}.py"})
    says = f"We decided to split part {number} because it is long." if number % 5 == 0 else f"I edit part {number}."
    told = [MessageInput(f"The port of part {number % 50} is {8_000 + number}.")] if number % 20 == 0 else []
    return [
        *told,
        MessageInput(says, role="assistant", parts=[PartInput(tool_call=call)]),
        MessageInput(
            role="tool", parts=[PartInput(tool_result=ToolResultInput(tool_call_id=f"c{number}", content="edited"))]
        ),
    ]


async def run(stack: dev.Stack, context: AsyncContextClient, floor: Beside, steps: int) -> bool:
    """Work, fork and merge, and print what it took; say whether the targets are met."""
    context_id = (await context.contexts.send("Edit all of it. Never touch part 0.", recall=False)).context_id
    given = {"context_tokens": LIMIT + 1, "token_budget": 1.0, "output_reservation": 1}
    window = await context.windows.open(context_id, "m", compression_profile="coding", **given)
    processes = Processes({"service": services_of(stack)[1].pid, "postgres": stack.postgres.pid})
    done = 0
    for upto in (FEW, steps):
        for start in range(done + 1, upto + 1, STEPS_AT_ONCE):
            numbers = range(start, min(start + STEPS_AT_ONCE, upto + 1))
            await context.contexts.append(list(chain.from_iterable(map(step, numbers))), context_id)
        done = upto
        await _packed(context, window)
        calls = Calls(processes, floor)
        for number in range(MEASURED):
            await _forked(context, window, calls, number)
        print(f"after {upto:,} steps:\n{calls}")
    fork_ms, merge_ms = (sorted(calls.seconds[name])[int(0.95 * (MEASURED - 1))] * 1000 for name in ("fork", "merge"))
    print(f"fork, p95 {floor.said(fork_ms, FORK_P95_MS)}; merge, p95 {floor.said(merge_ms, MERGE_P95_MS)}")
    return floor.scaled(fork_ms) <= FORK_P95_MS and floor.scaled(merge_ms) <= MERGE_P95_MS


async def _forked(context: AsyncContextClient, window: Window, calls: Calls, number: int) -> None:
    fork = (await calls.measured("fork", context.windows.fork(window.window_id, f"Look at part {number}."))).window
    said = [MessageInput("looks fine", role="assistant") for _ in range(10)]
    await context.contexts.append([*said, MessageInput(f"Part {number} is fine.", role="assistant")], fork.context_id)
    await context.windows.pack(fork.window_id, without_recall=True)
    await calls.measured("merge", context.windows.merge(fork.window_id))
    await context.windows.pack(window.window_id, without_recall=True)


async def _packed(context: AsyncContextClient, window: Window) -> None:
    while True:
        with suppress(WindowBehind):
            await context.windows.pack(window.window_id, without_recall=True, timeout_s=30)
            return


if __name__ == "__main__":
    sys.exit(measured(run, STEPS))
