"""How much a tenant may queue for background work: more is refused when it is written, and nothing is dropped."""

from __future__ import annotations

from uuid import UUID

from contextkeep.errors import LimitExceeded
from service_runtime.postgres import Across, Tenant, Transaction

QUEUED_MAX = 100_000
_TENANTS_MAX = 10_000  # tenants whose room is remembered


class QueueRoom:
    """The room that each tenant has left in one queue.

    Args:
        counting: Counts the items of a tenant, `count_max` at most, as `queued`. Its parameters: `tenant_id`, `topic`,
            `count_max`. In a transaction, this one must look as far as the statement.
        topic: Name of the queue, in the statement and the error.
        queued_max: About how many items a tenant may have: each replica counts by itself.
    """

    def __init__(self, counting: str | Across, *, topic: str, queued_max: int = QUEUED_MAX) -> None:
        self._counting = counting
        self._topic = topic
        self._queued_max = queued_max
        self._room: dict[UUID, int] = {}  # by tenant: items that are let in before the queue is counted again

    async def take(self, connection: Tenant | Transaction, *, items: int = 1) -> None:
        """Check that a tenant's queue has room; calls that queue items do so first.

        The queue is counted only once half of the room that it had is used up: an ordinary write costs nothing.

        Raises:
            LimitExceeded: the tenant would have more than `queued_max` items in the queue.
        """
        room = self._room.pop(connection.tenant_id, 0)
        if room < items:
            left = await self._room_left_for(connection, items)
            room = max((left + 1) // 2, items)
        if len(self._room) >= _TENANTS_MAX:
            self._room.clear()
        self._room[connection.tenant_id] = room - items

    async def _room_left_for(self, connection: Tenant | Transaction, items: int) -> int:
        """Count a tenant's queue, and return the room that is left.

        Raises:
            LimitExceeded: there is too little room for `items`.
        """
        named = {"tenant_id": connection.tenant_id, "topic": self._topic, "count_max": self._queued_max}
        counting = self._counting
        if isinstance(connection, Tenant):
            (row,) = await connection.query(counting, named)
        else:
            (row,) = await connection.query(counting.sql if isinstance(counting, Across) else counting, named)
        left = self._queued_max - int(row.queued)
        if left < items:
            raise LimitExceeded(
                f"{row.queued} items of the tenant wait for background work ({self._topic}), and the limit is "
                f"{self._queued_max}; write more when some are done",
                limit="queued_items",
                limit_max=self._queued_max,
                value=row.queued + items,
            )
        return left
