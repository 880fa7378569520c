"""Windows that read long logs in the background, so that no call has to.

A pack queues its window if many messages of the log are unread (`newest_steps`). The worker reads for one second for
each tenant in turn, and other calls of the window run in between. Any number of replicas may run it: a window is
claimed by one of them.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from context_service.kernel.keyed_locks import KeyedLocks
from context_service.packing.rules.catch_up import CatchingUp
from contextkeep.errors import ContextKeepError, WindowBehind, WindowClosed, WindowNotFound
from service_runtime.auth.tenants import Rounds
from service_runtime.background_work.outbox import QueuedItem
from service_runtime.postgres import Database, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.statements.optimistic import RowsChanged

if TYPE_CHECKING:
    from context_service.windows.room import WindowQueue

TOPIC = "window"
INTERVAL_S = 0.5
STEP_S = 1.0  # seconds for a tenant before the next tenant's turn
LOCKED_S = 0.25  # seconds for which a window is locked, and one round of reading
DELAY_S = 5.0  # after a failure


class CatchingUpAhead:
    """The worker; each window is read as its owner.

    Args:
        database: The database that has the queue.
        queue: The queued windows.
        writer_locks: Locks by window: in this process, one call at a time writes a window.
        catching_up: Reads the new messages of the log into a window.
    """

    def __init__(
        self, database: Database, queue: WindowQueue, *, writer_locks: KeyedLocks, catching_up: CatchingUp
    ) -> None:
        self._queue = queue
        self._writer_locks = writer_locks
        self._catching_up = catching_up
        self._rounds = Rounds(database, self._read_some, queue=queue.outbox.queue)

    async def keep_reading(self) -> None:
        """Let queued windows read their logs, until cancelled."""
        await self._rounds.keep_running(self._rounds.run, interval_s=INTERVAL_S)

    async def _read_some(self, tenant: Tenant) -> tuple[int, bool]:
        """Let one queued window of a tenant read for `STEP_S`; return 1 if there was one, and whether to come again."""
        async with self._queue.outbox.claimed(tenant, count_max=1) as claimed:
            for item in claimed:
                await self._read(tenant, item)
        return len(claimed), bool(claimed)

    async def _read(self, tenant: Tenant, item: QueuedItem) -> None:
        """Let a claimed window read for `STEP_S`, and queue it again if its log has more."""
        failed_by = ""
        try:
            again_in_s = None if await self._is_read(tenant, item) else 0.0
        except ContextKeepError as error:
            again_in_s, failed_by = DELAY_S, str(error)
        await self._queue.outbox.settle(tenant, item, again_in_s=again_in_s, error=failed_by)

    async def _is_read(self, tenant: Tenant, item: QueuedItem) -> bool:
        """Read for `STEP_S`; return whether the window has read its log to the end, or is gone."""
        window_id, until = item.subject_id, time.monotonic() + STEP_S
        owner = await self._queue.owner_of(tenant, window_id)
        if owner is None:
            return True
        principal = Principal(tenant_id=tenant.tenant_id, subject="reading", scopes=frozenset(), user_id=owner)
        while time.monotonic() < until:
            with suppress(WindowBehind, RowsChanged):
                async with self._writer_locks.hold((tenant.tenant_id, window_id)):
                    with suppress(WindowNotFound, WindowClosed):
                        await self._catching_up.window(window_id, principal, for_s=LOCKED_S)
                    return True
        return False
