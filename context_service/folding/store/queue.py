"""The queue of windows whose next fold a model prepares: rows of the transactional outbox, one for each window."""

from __future__ import annotations

import logging
from collections import OrderedDict
from functools import partial
from uuid import UUID

from context_service.contexts.room import Log
from context_service.packing.model import Pack
from context_service.packing.pure.body.caught_up_window import half_way
from context_service.windows.pure.config import NO_MODEL
from contextkeep.errors import ContextKeepError
from service_runtime.background_work.outbox import Outbox
from service_runtime.postgres import Across, Tenant
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

_log = logging.getLogger("folds")

TOPIC = "fold"
STEPS_AHEAD = 5  # a fold is prepared when the window is estimated to reach its high mark in so many steps
_QUEUED_MAX = 10_000  # the most items of a tenant in the queue
_WINDOWS_MAX = 10_000  # the most windows whose last item is remembered

SQL = SqlFile.of(__file__)
_OWNER = Across(
    sql=SQL["owner"],
    contexts=True,
    subjects=True,
    why="the queue names the window, and the fold is prepared for its owner",
)


class FoldQueue:
    """Queues windows that come near a fold; packs call it, and it never fails them.

    Args:
        log: The contexts of the windows.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self.outbox = Outbox("context", TOPIC, queued_max=_QUEUED_MAX)
        self._queued: OrderedDict[tuple[UUID, UUID], int] = OrderedDict()  # by tenant and window: its epoch then

    async def note(self, pack: Pack, *, principal: Principal) -> None:
        """Queue the window of a pack if it folds soon; once in each epoch, as far as this process remembers."""
        window = pack.window
        key = principal.tenant_id, window.window_id
        is_near = pack.fold_eta_steps <= STEPS_AHEAD and pack.zones.all > half_way(window)
        if not is_near or window.config.summarization_model == NO_MODEL or self._queued.get(key) == window.epoch:
            return
        self._queued[key] = window.epoch
        self._queued.move_to_end(key)
        if len(self._queued) > _WINDOWS_MAX:
            self._queued.popitem(last=False)
        door = self._log.of(principal, window.context_id)
        try:
            await self.outbox.take_room(door)
            await door.transaction(partial(self.outbox.put, subject_id=window.window_id))
        except ContextKeepError as error:
            del self._queued[key]  # the next pack tries again
            _log.warning("fold not queued", extra={"window_id": str(window.window_id), "error": str(error)})


async def owner_of(tenant: Tenant, window_id: UUID) -> str | None:
    """Return the user that owns an open window, empty if there is none; None if there is no such window."""
    rows = await tenant.query(_OWNER, {"tenant_id": tenant.tenant_id, "window_id": window_id})
    return str(rows[0].owner_user_id) if rows else None
