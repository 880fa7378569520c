"""A table read once from its beginning to its end, some pages at a time: for rare work that no index is worth.

Statements take the rows from `first` to `end` (exclusive) by `ctid`, which Postgres reads without looking at others. A
row that is changed meanwhile may move to a page that was read already, so a caller that must not miss one reads again
until it finds none.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from service_runtime.background_work.long_work import Pause, unpaused
from service_runtime.postgres import Tenant
from service_runtime.statements.sql_files import SqlFile

PAGES = 512  # pages of 8 KiB in one part

SQL = SqlFile.of(__file__)
_SIZE = SQL["size"]


async def pages_of(tenant: Tenant, table: str, *, pause: Pause = unpaused) -> AsyncIterator[dict[str, str]]:
    """Yield `first` and `end` of all parts of a table, and pause after each part for as long as it took.

    Args:
        tenant: A tenant in whose database the table is.
        table: Name of the table, with its schema.
        pause: Awaited between two parts, so that other work can run.
    """
    (row,) = await tenant.query(_SIZE, (table,))
    for first in range(0, row.pages + 1, PAGES):
        began = time.monotonic()
        yield {"first": f"({first},0)", "end": f"({first + PAGES},0)"}
        await asyncio.sleep(time.monotonic() - began)
        await pause()
