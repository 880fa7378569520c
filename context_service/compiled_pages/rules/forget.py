"""Compiled pages that say something of a user's nodes: when the user is erased they go, or are empty until a compile.

A page stores the owners of its nodes, so the graph, which removes the nodes, need not be read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from context_service.compiled_pages.model import MentioningPage
from context_service.compiled_pages.store.pages import CompiledRows
from service_runtime.auth import Principal
from service_runtime.long_work import Pause, unpaused
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.table_pages import pages_of

_PAGES = 100  # of a transaction

Count = Callable[[Transaction, int], Awaitable[object]]


class Forgetting:
    """Lets compiled pages say nothing more of users.

    Args:
        database: Where they are.
        rows: Their SQL.
    """

    def __init__(self, database: Database, rows: CompiledRows) -> None:
        self._database = database
        self._rows = rows

    async def forget(self, tenant: Tenant, owner_id: str, *, count: Count, pause: Pause = unpaused) -> None:
        """Remove what pages say of a user's nodes.

        Args:
            tenant: Whose pages.
            owner_id: The user.
            count: Writes of how many pages, where those are.
            pause: Is awaited between two transactions.
        """
        door = self._database.of(Principal(tenant_id=tenant.tenant_id, subject="erasure"))

        async def forget(those: Sequence[MentioningPage], transaction: Transaction) -> None:
            await count(transaction, await self._rows.forget(transaction, owner_id, those))

        async for pages in pages_of(tenant, "context.page_dependency", pause=pause):
            found = await self._rows.saying(tenant, owner_id, pages)
            for start in range(0, len(found), _PAGES):
                began = time.monotonic()
                await door.transaction(partial(forget, found[start : start + _PAGES]))
                await asyncio.sleep(time.monotonic() - began)  # as long again for those who wait for an answer
                await pause()
