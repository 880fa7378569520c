"""The feed that verifies and rebuilds the passages of memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from context_service.memories.model import Experience, MemoryKind
from context_service.memories.pure.texts import pieces_of, placed
from context_service.retrieval.model import MEMORY, Audience, PassageScope
from context_service.retrieval.room import IndexedText, PassageFeed, users_of
from service_runtime.postgres import Row, Transaction
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

_MEMORIES = 200  # memories that one statement reads

SQL = SqlFile.of(__file__)
_LOCK = SQL["lock"]
_ROWS = SQL["rows"]


async def _lock(transaction: Transaction, scope: PassageScope) -> None:
    await transaction.query(_LOCK, (transaction.tenant_id, scope.id))


def memory_source(count_tokens: Callable[[str], int]) -> PassageFeed:
    """Return the feed that verifies and rebuilds the passages of users' memories; a user without any has no origins."""

    async def origin(scope: PassageScope, rows: Sequence[Row]) -> IndexedText:
        """Make the passages of a memory again from its text; each memory has one row."""
        (row,) = rows
        experience = copied(Experience, row)
        pieces = pieces_of(row.text, row.key, experience, count=count_tokens)
        return IndexedText(
            seq=row.seq,
            audience=Audience(owner_user_id=row.owner_user_id, app_id=row.app_id, agent_bundle_id=row.agent_bundle_id),
            passages=placed(pieces, seq=row.seq, kind=MemoryKind(row.kind), happened_at=row.happened_at),
        )

    return PassageFeed(
        scope_kind=MEMORY,
        kinds=frozenset(kind.value for kind in MemoryKind),
        owners=users_of("context.memory_user", scope_kind=MEMORY, things="memories", lock=_lock),
        rows=_ROWS,
        limits={"count": _MEMORIES},
        origin=origin,
    )
