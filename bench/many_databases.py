"""What many databases cost a process: our own loops over them, with stubs in their place that answer after a while.

`python -m bench.many_databases [DATABASES ...]`. Tenants are spread evenly. It prints the CPU and the time of a health
check of all databases, which runs once a second; of a statement that runs in each; of the list of all tenants; and the
CPU of finding a tenant's database for a call. In the last line a tenth of the databases is down: a health check of them
waits as long as ours does for a database that does not answer.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, cast
from uuid import UUID

import uvloop

from contextkeep.errors import Unavailable
from service_runtime.postgres import Database
from service_runtime.postgres.pool import Pool
from service_runtime.values.ids import new_id

DATABASES = (1, 10, 100, 1_000)
TENANTS = 10_000
ANSWER_S = 0.001  # of a database in the same zone
SILENT_S = 2.0  # that a look waits for one that is down
CALLS = 100_000


class Lives(NamedTuple):
    """A row of the directory."""

    id: UUID
    database: str | None


class Stub:
    """Takes the place of a pool to a database."""

    def __init__(self, rows: list[Lives] | None = None) -> None:
        self.answers, self.is_down = True, False
        self._rows = rows or []
        self.connection = None  # none is lent
        self._by_id = {row.id: row for row in self._rows}

    async def untenanted(self, _sql: str, parameters: tuple[Any, ...] = (), **_how: object) -> list[Any]:
        """Answer after a while."""
        await asyncio.sleep(ANSWER_S)
        return [self._by_id[parameters[0]]] if parameters else self._rows

    async def healthy(self, _sql: str) -> list[Any]:
        """Answer after a while, or not at all."""
        await asyncio.sleep(SILENT_S if self.is_down else ANSWER_S)
        if self.is_down:
            raise Unavailable("down", dependency="postgres")
        return []


async def taken(work: Callable[[], Awaitable[object]]) -> str:
    """Return the CPU and the time that something takes, in milliseconds."""
    began, cpu = time.perf_counter(), time.process_time()
    await work()
    return f"{(time.process_time() - cpu) * 1000:8.1f}{(time.perf_counter() - began) * 1000:9.0f}"


async def line(databases: int, *, down: int = 0) -> str:
    """Return the line of the table for a number of databases besides the home."""
    names = [f"db-{number}" for number in range(databases)]
    rows = [Lives(new_id(), names[number % databases]) for number in range(TENANTS)]
    others = {name: Stub() for name in names}
    for name in names[:down]:
        others[name].is_down = True
    database = Database(cast(Pool, Stub(rows)), cast(dict[str, Pool], others))

    async def look() -> None:
        await database.healthy("", problem=lambda named, rows: None)

    await look()
    figures = [await taken(look), await taken(lambda: database.everywhere(""))]
    figures.append(await taken(database.tenants))
    asked = random.Random(1).choices([row.id for row in rows], k=CALLS)
    cpu = time.process_time()
    for tenant_id in asked:
        await database._directory.database_of(tenant_id)
    microseconds = (time.process_time() - cpu) / CALLS * 1e6
    return f"{databases:9,}{down:6,}{''.join(figures)}{microseconds:12.2f}"


async def run(sizes: tuple[int, ...]) -> None:
    """Measure each number of databases, and print a line for each."""
    print(f"{'':15}{'health':>17}{'in each':>17}{'all tenants':>17}{'a call':>12}")
    print(f"{'databases':>9}{'down':>6}" + f"{'CPU ms':>8}{'ms':>9}" * 3 + f"{'CPU us':>12}")
    for databases in sizes:
        print(await line(databases), flush=True)
    print(await line(max(sizes), down=max(sizes) // 10))


if __name__ == "__main__":
    uvloop.run(run(tuple(map(int, sys.argv[1:])) or DATABASES))
