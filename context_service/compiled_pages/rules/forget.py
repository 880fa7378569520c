"""Removes the text of an erased user from compiled pages.

Pages of the user's nodes are removed. Other pages with text from such nodes are emptied, and the next compile fills
them. A page stores the owners of its nodes, so this needs no answer from the graph, which removes the nodes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from context_service.compiled_pages.model import MentioningPage
from context_service.compiled_pages.store.pages import CompiledRows
from service_runtime.background_work.long_work import Pause, unpaused
from service_runtime.background_work.table_pages import pages_of
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.rpc.principal import Principal

_PAGES = 100  # pages of one transaction

Count = Callable[[Transaction, int], Awaitable[object]]


class Forgetting:
    """Removes the text of erased users from compiled pages.

    Args:
        database: The database that holds the compiled pages.
        rows: The SQL statements on compiled pages.
    """

    def __init__(self, database: Database, rows: CompiledRows) -> None:
        self._database = database
        self._rows = rows

    async def forget(self, tenant: Tenant, owner_id: str, *, count: Count, pause: Pause = unpaused) -> None:
        """Remove the text of a user's nodes from all pages of a tenant.

        Args:
            tenant: The tenant of the user.
            owner_id: The id of the user, which owns the nodes.
            count: Called with a transaction and the number of pages that it changed, to count them on a receipt.
            pause: Awaited between two transactions, so that other work of the process gets a turn.
        """
        tenant_rows = self._database.of(Principal(tenant_id=tenant.tenant_id, subject="erasure"))

        async def forget(those: Sequence[MentioningPage], transaction: Transaction) -> None:
            await count(transaction, await self._rows.forget(transaction, owner_id, those))

        async for pages in pages_of(tenant, "context.page_dependency", pause=pause):
            page_ids = await self._rows.saying(tenant, owner_id, pages)
            for start in range(0, len(page_ids), _PAGES):
                began = time.monotonic()
                await tenant_rows.transaction(partial(forget, page_ids[start : start + _PAGES]))
                await asyncio.sleep(time.monotonic() - began)  # leave half of the time to waiting calls
                await pause()
