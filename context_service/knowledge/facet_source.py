"""Facets of compiled pages as a source of the index: what each says, and what its page is called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from functools import partial
from uuid import UUID

from context_service.knowledge.compiled_rows import KIND, audience_of, cut_of, passage, scope_of, take_turn, walls_of
from context_service.retrieval.passages import BRAIN, Scope
from context_service.retrieval.sources import Origin, OwnedScope
from service_runtime.postgres import Row, Tenant, Transaction

_FACETS = 50  # of a page; each may say 64 KiB

_ANY = "SELECT EXISTS (SELECT FROM context.facet WHERE tenant_id = %s) AS is_there"
_PAGE = """
SELECT f.seq, f.page_id, f.written_at, f.heading, f.text, f.graph_name, f.agent_bundle_id, f.app_id, p.title, p.aliases
FROM context.facet f
    JOIN context.compiled_page p ON p.tenant_id = f.tenant_id AND p.page_id = f.page_id
WHERE f.tenant_id = %(tenant_id)s AND f.seq > %(behind)s
ORDER BY f.seq
LIMIT %(count)s
"""


class FacetSource:
    """What the facets of tenants say, in one scope each.

    Args:
        count_tokens: Counts the tokens of a text, as where they are written.
    """

    scope_kind = BRAIN
    kinds = frozenset({KIND})
    says = False

    def __init__(self, count_tokens: Callable[[str], int]) -> None:
        self._count_tokens = count_tokens

    async def count(self, tenant: Tenant) -> int:
        """See `Source`."""
        return int(await _has_one(tenant))

    async def scopes(self, tenant: Tenant, *, behind: UUID, count: int) -> list[OwnedScope]:
        """See `Source`."""
        scope = scope_of(tenant.tenant_id)
        is_next = count > 0 and scope.id > behind and await _has_one(tenant)
        return [OwnedScope(scope=scope, owner_user_id="")] if is_next else []

    async def scope(self, tenant: Tenant, scope_id: UUID) -> OwnedScope | None:
        """See `Source`."""
        scope = scope_of(tenant.tenant_id)
        is_there = scope.id == scope_id and await _has_one(tenant)
        return OwnedScope(scope=scope, owner_user_id="") if is_there else None

    async def owned(self, tenant: Tenant, scope_ids: Collection[UUID]) -> set[UUID]:
        """See `Source`."""
        return {scope_of(tenant.tenant_id).id} & set(scope_ids) if await _has_one(tenant) else set()

    async def lock(self, transaction: Transaction, scope: Scope) -> None:
        """See `Source`."""
        await take_turn(transaction)

    async def origins(self, transaction: Transaction, scope: Scope, *, behind: int) -> list[Origin] | None:
        """See `Source`."""
        named = {"tenant_id": transaction.tenant_id, "behind": behind, "count": _FACETS}
        return [await self._origin(scope, row) for row in await transaction.query(_PAGE, named)]

    async def _origin(self, scope: Scope, row: Row) -> Origin:
        cut = partial(cut_of, row.title, row.aliases, row.heading, row.text, scope_id=scope.id)
        pieces = await asyncio.to_thread(cut, count=self._count_tokens)
        return Origin(
            seq=row.seq,
            audience=audience_of(walls_of(row)),
            passages=[
                passage(piece, row.page_id, ordinal=ordinal, seq=row.seq, said_at=row.written_at, numbers=numbers)
                for ordinal, (piece, numbers) in enumerate(pieces)
            ],
        )


async def _has_one(tenant: Tenant) -> bool:
    (row,) = await tenant.query(_ANY, (tenant.tenant_id,))
    return bool(row.is_there)
