"""Calls a second with tenants in one, two and three databases of one machine, as ratios to one.

`python -m bench.spread [SECONDS]`. No part of `make bench`. Each database is a Postgres of its own; all three run
all the while, and both services know all of them. Callers append a message and read the last ten, in turns; in each
round those of the first database have their seconds, then those of the first two, then those of all. On a machine whose
cores are full anyway more databases are no faster: this measures their cost.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from bench.load import READ, Turn, load
from bench.stack import services_of
from bench.table import Processes
from context_service.commands import dev
from contextkeep import AsyncContextClient, AsyncEntityClient
from service_runtime.auth.keys import KeyAdministration, NewKey
from service_runtime.databases.placement import Databases

SECONDS = 5.0
ROUNDS = 5
CALLERS = 24  # of six tenants, however many databases they are in
TENANTS = 6
OTHERS = ("east", "west")


async def callers_of(stack: dev.Stack, keys: list[str], opened: AsyncExitStack) -> list[Turn]:
    """Return a turn of calls for each key, each with a session of its own."""
    callers: list[Turn] = []
    for number in range(CALLERS):
        key = keys[number % len(keys)]
        entity = await opened.enter_async_context(AsyncEntityClient(stack.entity_address, api_key=key))
        context = await opened.enter_async_context(AsyncContextClient(stack.context_address, api_key=key))
        session = (await entity.graph.create_node("Session")).id
        callers.append(
            {
                "append": lambda entity=entity, session=session: entity.graph.append_message(
                    session, "user", "It rains."
                ),
                "read": lambda context=context, session=session: context.history.get(session, max_messages=READ),
            }
        )
    return callers


async def run(stack: dev.Stack, keys: list[list[str]], seconds: float) -> int:
    """Measure the calls with tenants in one, two and three databases, and return how many calls failed."""
    rates: list[list[float]] = [[] for _ in keys]
    cpu_ms: list[list[float]] = [[] for _ in keys]
    entity, context = services_of(stack)
    processes = Processes({"entity": entity.pid, "context": context.pid})
    errors = 0
    async with AsyncExitStack() as opened:
        callers = [await callers_of(stack, some, opened) for some in keys]
        for some in callers:
            await load(some, 1)  # connections are made
        for _ in range(ROUNDS):
            for number, some in enumerate(callers):
                before = processes.cpu_s()
                done = await load(some, seconds)
                after = processes.cpu_s()
                errors += done.errors
                calls = sum(map(len, done.seconds.values()))
                rates[number].append(calls / done.elapsed_s)
                used = sum(after[name] - before[name] for name in ("entity", "context"))
                cpu_ms[number].append(used / calls * 1000)
    print("| databases | calls a second | ratio to one | ms of CPU of both services a call | ratio to one |")
    print("| --- | --- | --- | --- | --- |")
    for number in range(len(keys)):
        cells = []
        for figures, shown in ((rates, ".0f"), (cpu_ms, ".2f")):
            ratios = [figure / item for figure, item in zip(figures[number], figures[0], strict=True)]
            cells += [format(statistics.median(figures[number]), shown), f"{statistics.median(ratios):.2f}"]
        print(f"| {number + 1} | {' | '.join(cells)} |")
    return errors


def main() -> None:
    """Run the benchmark; exit with 1 if a call failed."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    with (
        tempfile.TemporaryDirectory() as name,
        dev.stack(Path(name), keep=False, others=OTHERS) as stack,
    ):
        home = stack.environment["DATABASE_ADMIN_URL"]
        others = dict(item.split("=", 1) for item in stack.environment["DATABASE_ADMIN_URLS"].split())
        databases, administration = Databases(home, others), KeyAdministration(home)
        keys: list[list[str]] = []
        for count in range(1, len(OTHERS) + 2):
            keys.append([])
            for number in range(TENANTS):
                tenant = f"tenant-{count}-{number}"
                databases.add_tenant(tenant, database=("home", *OTHERS)[number % count])
                keys[-1].append(administration.create(NewKey(tenant=tenant, subject="bench", scopes=("read", "write"))))
        errors = asyncio.run(run(stack, keys, seconds))
    sys.exit(errors > 0)


if __name__ == "__main__":
    main()
