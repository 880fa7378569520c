"""The queue of contexts to learn from: rows of the transactional outbox.

The statement that writes messages also queues their context (`contexts/store/log.sql`), with the place before its first
message. The row stays until all messages after that place are learned from, so each message is learned from once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from service_runtime.background_work.outbox import Outbox, QueuedItem
from service_runtime.postgres import Across, Tenant, Transaction
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

TOPIC = "learning"

SQL = SqlFile.of(__file__)
_CLAIMED = Across(
    sql=SQL["claimed"],
    contexts=True,
    subjects=True,
    why="the queue names the context, and the work is done as its owner",
)
_STALE = Across(
    sql=SQL["stale"],
    contexts=True,
    subjects=True,
    why="a context that is gone has no owner any more; only ids are returned, and the work is done as the owner",
)
_TAUGHT_BY = SQL["taught_by"]
_FIRST_SPEAKER, _STANDING, _ADVANCE = SQL["first_speaker"], SQL["standing"], SQL["advance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedContext:
    """A context whose messages after a place are to be learned from."""

    context_id: UUID
    reached_seq: int  # the last message that needs no learning any more
    last_seq: int
    idle_in_s: float  # seconds until it has been idle long enough; negative: since when it has been
    owner_user_id: str
    app_id: str
    agent_bundle_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleMemory:
    """A learned memory that has sources which are gone."""

    memory_id: UUID
    owner_user_id: str
    refs: Sequence[str]  # those sources, in the context that was asked about


class LearningQueue:
    """Reads and advances the queue.

    Args:
        idle_s: How long a context must be idle before it is learned from.
    """

    def __init__(self, *, idle_s: float) -> None:
        self.outbox = Outbox("context", TOPIC)
        self._idle = timedelta(seconds=idle_s)

    async def read(self, tenant: Tenant, item: QueuedItem) -> QueuedContext | None:
        """Return the context of a claimed item; None if it is erased."""
        rows = await tenant.query(_CLAIMED, {"tenant_id": tenant.tenant_id, "id": item.id, "idle": self._idle})
        return copied(QueuedContext, rows[0]) if rows else None

    async def first_speaker(self, tenant: Tenant, context_id: UUID) -> str:
        """Return the name of the user who spoke first in a context; empty if messages name no user."""
        rows = await tenant.query(_FIRST_SPEAKER, {"tenant_id": tenant.tenant_id, "context_id": context_id})
        return str(rows[0].name) if rows else ""

    async def stale(self, tenant: Tenant, context_id: UUID, *, count: int) -> list[StaleMemory]:
        """Return learned memories with sources in a context, or in messages of it, that are gone."""
        named = {"tenant_id": tenant.tenant_id, "context_id": str(context_id), "count": count}
        return [copied(StaleMemory, row) for row in await tenant.query(_STALE, named)]

    async def taught_by(self, tenant: Tenant, context_id: UUID, ref: str, *, owner_user_id: str) -> list[UUID]:
        """Return the learned memories of a user that have a message of a context as a source."""
        named = {
            "tenant_id": tenant.tenant_id,
            "context_id": str(context_id),
            "ref": ref,
            "owner_user_id": owner_user_id,
        }
        return [row.memory_id for row in await tenant.query(_TAUGHT_BY, named)]

    async def standing(self, transaction: Transaction, context_id: UUID, seqs: Collection[int]) -> frozenset[int]:
        """Return the messages of a context that are not retracted."""
        named = {"tenant_id": transaction.tenant_id, "context_id": context_id, "seqs": list(seqs)}
        return frozenset(row.seq for row in await transaction.query(_STANDING, named))

    async def advance(self, transaction: Transaction, item: QueuedItem, *, reached_seq: int) -> None:
        """Queue the messages after a place again, at once."""
        named = {"tenant_id": transaction.tenant_id, "id": item.id, "reached_seq": reached_seq}
        await transaction.query(_ADVANCE, named)
