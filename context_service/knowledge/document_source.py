"""Documents of knowledge bases as a source of the index: what was read of each, cut anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from uuid import UUID

from context_service.knowledge.base_rows import DROP_TOPIC
from context_service.knowledge.document_cutting import cut_document
from context_service.knowledge.document_rows import KIND, audience_of, passage, scope_of, take_turn
from context_service.retrieval.passages import KNOWLEDGE_BASE, Scope
from context_service.retrieval.sources import Origin, OwnedScope
from service_runtime.postgres import Row, Tenant, Transaction

_DOCUMENTS = 2  # of a page; each may say two million characters

_COUNT = "SELECT count(*) AS bases FROM context.knowledge_base WHERE tenant_id = %s"
_SCOPES = """
SELECT base_id FROM context.knowledge_base
WHERE tenant_id = %(tenant_id)s AND base_id > %(behind)s AND (%(only)s::uuid IS NULL OR base_id = %(only)s)
ORDER BY base_id
LIMIT %(count)s
"""
# One whose passages are being dropped has an owner until they are.
_OWNED = """
SELECT base_id FROM context.knowledge_base WHERE tenant_id = %(tenant_id)s AND base_id = ANY (%(ids)s)
UNION
SELECT subject_id FROM context.outbox
WHERE tenant_id = %(tenant_id)s AND topic = %(topic)s AND subject_id = ANY (%(ids)s)
"""
_PAGE = """
SELECT document_id, seq, created_at, name, content_type, text, page_starts, passage_count, graph_name, agent_bundle_id,
    app_id
FROM context.knowledge_document
WHERE tenant_id = %(tenant_id)s AND base_id = %(base_id)s AND seq > %(behind)s AND passage_count > 0
ORDER BY seq
LIMIT %(count)s
"""
_IS_THERE = "SELECT base_id FROM context.knowledge_base WHERE tenant_id = %s AND base_id = %s"
_FIRST = UUID(int=0)


class DocumentSource:
    """What the documents of bases say.

    Args:
        count_tokens: Counts the tokens of a text, as where it is read.
    """

    scope_kind = KNOWLEDGE_BASE
    kinds = frozenset({KIND})
    says = False

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        self._count_tokens = count_tokens

    async def count(self, tenant: Tenant) -> int:
        """See `Source`."""
        (row,) = await tenant.query(_COUNT, (tenant.tenant_id,))
        return int(row.bases)

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
        named = {"tenant_id": tenant.tenant_id, "ids": list(scope_ids), "topic": DROP_TOPIC}
        return {row.base_id for row in await tenant.query(_OWNED, named)}

    async def lock(self, transaction: Transaction, scope: Scope) -> None:
        """See `Source`."""
        await take_turn(transaction, scope.id)

    async def origins(self, transaction: Transaction, scope: Scope, *, behind: int) -> list[Origin] | None:
        """See `Source`; of a document that is being read there is as much as is written."""
        if not await transaction.query(_IS_THERE, (transaction.tenant_id, scope.id)):
            return None
        named = {"tenant_id": transaction.tenant_id, "base_id": scope.id, "behind": behind, "count": _DOCUMENTS}
        return [await self._origin(scope, row) for row in await transaction.query(_PAGE, named)]

    async def _origin(self, scope: Scope, row: Row) -> Origin:
        cut = partial(cut_document, row.name, row.content_type, row.text, row.page_starts, scope_id=scope.id)
        found = await asyncio.to_thread(cut, count=self._count_tokens)
        return Origin(
            seq=row.seq,
            audience=audience_of(row),
            passages=[
                passage(one, row.document_id, ordinal=ordinal, seq=row.seq, said_at=row.created_at)
                for ordinal, one in enumerate(found.pieces[: row.passage_count])
            ],
        )


def _owned(row: Row) -> OwnedScope:
    return OwnedScope(scope=scope_of(row.base_id), owner_user_id="")
