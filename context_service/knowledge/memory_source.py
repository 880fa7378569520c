"""Memories as a source of the index: each with the passages that it is found by."""

from __future__ import annotations

from context_service.knowledge.memory_texts import pieces_of, placed
from context_service.knowledge.model import Experience, MemoryKind
from context_service.knowledge.users_source import UsersSource, statements
from context_service.retrieval.passages import MEMORY, Audience, Scope
from context_service.retrieval.sources import Origin
from service_runtime.postgres import Row, Transaction

_MEMORIES = 200  # of a page

_LOCK = """
SELECT owner_user_id FROM context.memory_user
WHERE tenant_id = %s AND scope_id = %s
ORDER BY app_id, agent_bundle_id
FOR UPDATE
"""
_PAGE = """
SELECT m.seq, m.happened_at, m.quality, m.owner_user_id, m.app_id, m.agent_bundle_id, m.kind, m.key, m.text, m.goal,
    m.outcome
FROM context.memory m
WHERE m.tenant_id = %(tenant_id)s AND m.seq > %(behind)s AND m.owner_user_id IN (
    SELECT u.owner_user_id FROM context.memory_user u
    WHERE u.tenant_id = %(tenant_id)s AND u.scope_id = %(scope_id)s
)
ORDER BY m.seq
LIMIT %(count)s
"""


class MemorySource(UsersSource):
    """What the memories of users are found by."""

    scope_kind = MEMORY
    kinds = frozenset(kind.value for kind in MemoryKind)
    _statements = statements("context.memory_user", what="memories")

    async def lock(self, transaction: Transaction, scope: Scope) -> None:
        """See `Source`."""
        await transaction.query(_LOCK, (transaction.tenant_id, scope.id))

    async def origins(self, transaction: Transaction, scope: Scope, *, behind: int) -> list[Origin] | None:
        """See `Source`; a user without memories has none."""
        named = {"tenant_id": transaction.tenant_id, "scope_id": scope.id, "behind": behind, "count": _MEMORIES}
        return [self._origin(row) for row in await transaction.query(_PAGE, named)]

    def _origin(self, row: Row) -> Origin:
        experience = Experience(goal=row.goal, outcome=row.outcome, quality=row.quality)
        found = pieces_of(row.text, row.key, experience, count=self._count_tokens)
        return Origin(
            seq=row.seq,
            audience=Audience(owner_user_id=row.owner_user_id, app_id=row.app_id, agent_bundle_id=row.agent_bundle_id),
            passages=placed(found, seq=row.seq, kind=MemoryKind(row.kind), happened_at=row.happened_at),
        )
