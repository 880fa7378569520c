"""What it costs a call that tenants live in several databases.

`python -m bench.choice [QUERIES]`. A tenant lives in the home database. The same query of this tenant is made, in
turns, by a process that knows one database and by one that knows two. The difference is the cost of the choice: to find
the tenant's database, and to let that database confirm it. CPU is that of the process and of the backend that answers.
The target is 20 µs.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop

from context_service.commands import dev
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID, Principal

QUERIES = 30_000
AT_ONCE = 100  # of one kind, then of the other
CHOICE_US_MAX = 20.0
_QUERY = "SELECT pg_backend_pid() AS pid"
_PRINCIPAL = Principal(tenant_id=DEFAULT_TENANT_ID, subject="bench")


async def taken(database: Database) -> tuple[float, float]:
    """Return the microseconds of CPU of a query, here and in Postgres."""
    (row,) = await database.of(_PRINCIPAL).query(_QUERY)
    backend = Path(f"/proc/{row.pid}/schedstat")
    before, began = int(backend.read_text().split()[0]), time.process_time()
    for _ in range(AT_ONCE):
        await database.of(_PRINCIPAL).query(_QUERY)
    here = time.process_time() - began
    return here / AT_ONCE * 1e6, (int(backend.read_text().split()[0]) - before) / AT_ONCE / 1000


async def run(stack: dev.Stack, queries: int) -> bool:
    """Measure queries by both processes, print the difference, and say whether the target is met."""
    name, _, east = stack.environment["DATABASE_URLS"].partition("=")
    url = stack.postgres.service_url
    async with AsyncExitStack() as opened:
        one, many = [
            await opened.enter_async_context(Database.open(url, connections_max=1, name="bench", others=others))
            for others in (None, {name: east})
        ]
        for database in (one, many):
            await taken(database)
        rounds = [(await taken(one), await taken(many)) for _ in range(queries // AT_ONCE // 2)]
    total = 0.0
    for place, part in enumerate(("the service", "Postgres")):
        with_one = statistics.median(item[place] for item, _ in rounds)
        more = statistics.median(many[place] - item[place] for item, many in rounds)
        print(f"{part:12} {with_one:6.1f} us of CPU a query with one database, {more:5.1f} more with several")
        total += more
    print(f"the choice: {total:.1f} us (<= {CHOICE_US_MAX:g})")
    return total <= CHOICE_US_MAX


def main() -> None:
    """Run the benchmark; exit with 1 if it misses the target."""
    queries = int(sys.argv[1]) if len(sys.argv) > 1 else QUERIES
    with (
        TemporaryDirectory() as name,
        dev.stack(Path(name), keep=False, others=["east"]) as stack,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        is_met = runner.run(run(stack, queries))
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
