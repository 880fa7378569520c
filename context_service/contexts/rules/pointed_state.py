"""The indexing state of the records that messages and artifacts point at: one kind of pending work of a context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from context_service.contexts.rules.index_state import IndexState, UnreadRecord
from context_service.contexts.store.log import SEQ_MAX
from context_service.contexts.store.pointed_state import OWED_FROM, STATE, WITHOUT_TEXT
from service_runtime.postgres import Across, Database, Tenant
from service_runtime.rpc.principal import Principal

UNREAD_MAX = 20  # unread records that the state names

_WHY = "an administrator reads all of the tenant"
_STATE_SEEN = Across(sql=STATE, administrators=True, why=_WHY)
_WITHOUT_TEXT_SEEN = Across(sql=WITHOUT_TEXT, administrators=True, why=_WHY)


class RecordsOwed:
    """The reading of records that messages and artifacts name, as a kind of pending work (`Owing`).

    Args:
        database: The database that holds the queue of these records.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def owed_from(self, tenant: Tenant, context_ids: Sequence[UUID]) -> Mapping[UUID, int]:
        """Return the contexts with records that wait to be read, and the first `seq` that points at one."""
        parameters = {"context_ids": list(context_ids)}
        return {row.context_id: row.seq for row in await tenant.query(OWED_FROM, parameters)}

    async def state(self, principal: Principal, context_id: UUID, *, seq_to: int | None) -> IndexState:
        """Count the records of a context that wait to be read, and list those that could not be read."""
        tenant = self._database.of(principal, context_id=context_id)
        parameters = {"context_id": context_id, "seq_to": SEQ_MAX if seq_to is None else seq_to}
        rows = await tenant.query(_STATE_SEEN, parameters)
        (without,) = await tenant.query(_WITHOUT_TEXT_SEEN, parameters)
        pending = [row for row in rows if row.state == "PENDING"]
        failed = [row for row in rows if row.state == "FAILED"]
        return IndexState(
            pending=len(pending),
            failed=len(failed),
            without_text=without.records,
            oldest_pending_at=min((row.created_at for row in pending), default=None),
            error=next((row.detail for row in reversed(pending) if row.detail), ""),
            unread=tuple(
                UnreadRecord(**{name: getattr(row, name) for name in UnreadRecord.__slots__})
                for row in failed[:UNREAD_MAX]
            ),
        )
