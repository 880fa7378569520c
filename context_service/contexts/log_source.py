"""The log as the source of its index: each message with the passages that it is found by."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from uuid import UUID

from context_service.contexts.indexing import passages_of, placed
from context_service.contexts.model import MessageInput
from context_service.parts import of_json
from context_service.retrieval.part_texts import KINDS, RECORD
from context_service.retrieval.passages import CONTEXT, Audience, Passage, Scope
from context_service.retrieval.sources import Origin, OwnedScope
from service_runtime.pages import PAGE_BYTES_MAX
from service_runtime.postgres import Across, Row, Tenant, Transaction

_MESSAGES = 500  # of a page

_WHY = "an operator compares the index of all contexts with their logs: it reads headers, and none of what was said"
_COUNT = Across(
    sql="SELECT count(*) AS contexts FROM context.context WHERE tenant_id = %s AND deleted_at IS NULL",
    contexts=True,
    subjects=True,
    why=_WHY,
)
_SCOPES = Across(
    sql="""
        SELECT context_id, owner_user_id
        FROM context.context
        WHERE tenant_id = %(tenant_id)s AND deleted_at IS NULL AND context_id > %(behind)s
            AND (%(only)s::uuid IS NULL OR context_id = %(only)s)
        ORDER BY context_id
        LIMIT %(count)s
    """,
    contexts=True,
    subjects=True,
    why=_WHY,
)
_OWNED = Across(
    sql="SELECT context_id FROM context.context WHERE tenant_id = %s AND context_id = ANY (%s)",
    contexts=True,
    subjects=True,
    why=_WHY,
)
_LOCK = "SELECT true FROM context.context WHERE tenant_id = %s AND context_id = %s FOR UPDATE"

# A context without messages gives a row without any; one that is gone gives none.
_PAGE = """
SELECT m.*, c.ancestors, c.owner_user_id, c.agent_bundle_id, c.app_id
FROM (
    SELECT tenant_id, context_id, ancestors, owner_user_id, agent_bundle_id, app_id FROM context.context
    WHERE tenant_id = %(tenant_id)s AND context_id = %(context_id)s AND deleted_at IS NULL
) c
LEFT JOIN LATERAL (
    SELECT seq, session, said_at, retracted_at IS NOT NULL AS is_gone, message_id, role, name, content,
        parts::text AS parts, task_id
    FROM (
        SELECT *, sum(size_bytes) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING) AS upto,
            row_number() OVER (ORDER BY seq) AS place
        FROM (
            SELECT * FROM context.message m
            WHERE m.tenant_id = c.tenant_id AND m.context_id = c.context_id AND m.seq > %(behind)s
            ORDER BY seq
            LIMIT %(count)s
        ) wanted
    ) counted
    WHERE upto <= %(bytes_max)s OR place = 1
) m ON true
ORDER BY seq
"""
_FIRST = UUID(int=0)


class LogSource:
    """What the messages of contexts are found by.

    Args:
        count_tokens: Counts the tokens of a text, as where messages are written.
    """

    scope_kind = CONTEXT
    kinds = frozenset(KINDS) - {RECORD}
    says = True

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        self._count_tokens = count_tokens

    async def count(self, tenant: Tenant) -> int:
        """See `Source`."""
        (row,) = await tenant.query(_COUNT, (tenant.tenant_id,))
        return int(row.contexts)

    async def scopes(self, tenant: Tenant, *, behind: UUID, count: int) -> list[OwnedScope]:
        """See `Source`."""
        named = {"tenant_id": tenant.tenant_id, "behind": behind, "only": None, "count": count}
        return [_owned(row) for row in await tenant.query(_SCOPES, named)]

    async def scope(self, tenant: Tenant, scope_id: UUID) -> OwnedScope | None:
        """See `Source`."""
        named = {"tenant_id": tenant.tenant_id, "behind": _FIRST, "only": scope_id, "count": 1}
        return next((_owned(row) for row in await tenant.query(_SCOPES, named)), None)

    async def owned(self, tenant: Tenant, scope_ids: Collection[UUID]) -> set[UUID]:
        """See `Source`."""
        return {row.context_id for row in await tenant.query(_OWNED, (tenant.tenant_id, list(scope_ids)))}

    async def lock(self, transaction: Transaction, scope: Scope) -> None:
        """See `Source`."""
        await transaction.query(_LOCK, (transaction.tenant_id, scope.id))

    async def origins(self, transaction: Transaction, scope: Scope, *, behind: int) -> list[Origin] | None:
        """See `Source`."""
        named = {"tenant_id": transaction.tenant_id, "context_id": scope.id, "behind": behind}
        rows = await transaction.query(_PAGE, {**named, "count": _MESSAGES, "bytes_max": PAGE_BYTES_MAX})
        if not rows:
            return None
        return [
            Origin(seq=row.seq, audience=audience_of(row), passages=tuple(self._passages(row)), is_gone=row.is_gone)
            for row in rows
            if row.seq is not None
        ]

    def _passages(self, row: Row) -> Iterator[Passage]:
        said = MessageInput(
            message_id=row.message_id,
            role=row.role,
            name=row.name,
            content=row.content,
            parts=of_json(row.parts) if row.parts else (),
            task_id=row.task_id,
        )
        for ordinal, one in enumerate(passages_of(said, count=self._count_tokens)):
            yield placed(one, said, seq=row.seq, ordinal=ordinal, session=row.session, said_at=row.said_at)


def _owned(row: Row) -> OwnedScope:
    return OwnedScope(scope=Scope.of_context(row.context_id), owner_user_id=row.owner_user_id)


def audience_of(row: Row) -> Audience:
    """Return who may see what is found of a context, by its header."""
    return Audience(
        owner_user_id=row.owner_user_id,
        ancestors=tuple(row.ancestors),
        agent_bundle_id=row.agent_bundle_id,
        app_id=row.app_id,
    )
