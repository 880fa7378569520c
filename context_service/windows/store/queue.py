"""Queues of windows for background work: rows of the transactional outbox, one for each window."""

from __future__ import annotations

import logging
from collections import OrderedDict
from functools import partial
from uuid import UUID

from context_service.contexts.room import Log
from context_service.windows.model import Window
from contextkeep.errors import ContextKeepError
from service_runtime.background_work.outbox import Outbox
from service_runtime.postgres import Across, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

_log = logging.getLogger("windows")

_QUEUED_MAX = 10_000  # the most items of a tenant in the queue
_WINDOWS_MAX = 10_000  # the most windows whose last item is remembered

SQL = SqlFile.of(__file__)
_OWNER = Across(
    sql=SQL["owner"],
    contexts=True,
    subjects=True,
    why="the queue names the window, and the work is done as its owner",
)


class WindowQueue:
    """Queues windows for one kind of background work; calls use it, and it never fails them.

    Args:
        log: The contexts of the windows.
        topic: The kind of work.
    """

    def __init__(self, log: Log, topic: str) -> None:
        self._log = log
        self._topic = topic
        self.outbox = Outbox("context", topic, queued_max=_QUEUED_MAX)
        self._queued: OrderedDict[tuple[UUID, UUID], int] = OrderedDict()  # by tenant and window: the occasion

    async def put(self, window: Window, occasion: int, *, principal: Principal) -> None:
        """Queue a window; once for each occasion, as far as this process remembers.

        Args:
            window: The window.
            occasion: A number that differs for work that is not the same.
            principal: The caller; it must be allowed to see the window.
        """
        key = principal.tenant_id, window.window_id
        if self._queued.get(key) == occasion:
            return
        self._queued[key] = occasion
        self._queued.move_to_end(key)
        if len(self._queued) > _WINDOWS_MAX:
            self._queued.popitem(last=False)
        tenant = self._log.of(principal, window.context_id)
        try:
            await self.outbox.take_room(tenant)
            await tenant.transaction(partial(self.outbox.put, subject_id=window.window_id))
        except ContextKeepError as error:
            self._queued.pop(key, None)  # the next call tries again
            extra = {"topic": self._topic, "window_id": str(window.window_id), "error": str(error)}
            _log.warning("window not queued", extra=extra)

    async def owner_of(self, tenant: Tenant, window_id: UUID) -> str | None:
        """Return the user that owns an open window, empty if there is none; None if there is no such window."""
        rows = await tenant.query(_OWNER, {"tenant_id": tenant.tenant_id, "window_id": window_id})
        return str(rows[0].owner_user_id) if rows else None
