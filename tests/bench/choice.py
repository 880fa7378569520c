"""What it costs a call that tenants live in several databases.

`python -m tests.bench.choice [CALLS]`. Two stacks, one with another database and one without, answer the same look-up
of a record in turns. What is more on the first is the choice: who lives where, and that the database confirms it. The
target is 20 µs of CPU.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

from context_service import dev
from contextkeep import AsyncContextClient
from service_runtime.keys import KeyAdministration, NewKey
from tests.bench.table import Processes

CALLS = 2_000  # of a round
ROUNDS = 7
CHOICE_US_MAX = 20.0


async def prepared(stack: dev.Stack, opened: AsyncExitStack) -> Callable[[], Awaitable[object]]:
    """Return a call of a look-up."""
    keys = KeyAdministration(stack.postgres.admin_url)
    key = keys.create(NewKey(tenant="default", subject="bench", scopes=["read", "write"]))
    context = await opened.enter_async_context(AsyncContextClient(stack.context_address, api_key=key))
    record = await context.insert_wm_record("data/json", "one", content={"a": 1})
    return lambda: context.fetch_wm_record(record.working_memory_id)


async def run(stacks: dict[str, dev.Stack], calls: int) -> bool:
    """Measure and print; say whether the target is met."""
    processes = {
        name: Processes({"service": one.processes["context-service"].pid, "postgres": one.postgres.pid})
        for name, one in stacks.items()
    }
    used: dict[str, list[dict[str, float]]] = {name: [] for name in stacks}
    async with AsyncExitStack() as opened:
        looks = {name: await prepared(one, opened) for name, one in stacks.items()}
        for _ in range(ROUNDS + 1):  # the first one warms
            for name, look in looks.items():
                before = processes[name].cpu_s()
                for _ in range(calls):
                    await look()
                after = processes[name].cpu_s()
                used[name].append({one: (after[one] - before[one]) / calls * 1e6 for one in after})
    total = 0.0
    for part in ("service", "postgres"):
        one, many = (statistics.median(round_[part] for round_ in used[name][1:]) for name in ("one", "many"))
        print(
            f"{part:9} {one:7.0f} us of CPU a call with one database, {many:7.0f} with several: {many - one:5.0f} more"
        )
        total += many - one
    print(f"the choice: {total:.0f} us (<= {CHOICE_US_MAX:g})")
    return total <= CHOICE_US_MAX


def main() -> None:
    """Run it; exit with 1 if it misses the target."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else CALLS
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        stacks = {
            kind: opened.enter_context(dev.stack(Path(name) / kind, keep=False, others=others))
            for kind, others in (("one", ()), ("many", ("east",)))
        }
        is_met = asyncio.run(run(stacks, calls))
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
