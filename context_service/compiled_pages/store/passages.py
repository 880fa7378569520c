"""Facets of compiled pages as a source of the index: what each says, and what its page is called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from context_service.compiled_pages.store.pages import KIND, audience_of, cut_of, passage, take_turn, walls_of
from context_service.retrieval.model import BRAIN, Scope
from context_service.retrieval.store.feeds import IndexedText, Owners, PassageFeed
from service_runtime.postgres import Row

_FACETS = 50  # of a page; each may say 64 KiB

_ANY = "EXISTS (SELECT FROM context.facet WHERE tenant_id = %(tenant_id)s)"
# All facets of a tenant are in one scope.
_TENANTS = Owners(
    scope_of=lambda scope_id: Scope(kind=BRAIN, id=scope_id),
    count=f"SELECT {_ANY}::integer",
    page=f"""
        SELECT %(scope_of_tenant)s::uuid, '' AS user_id
        WHERE {_ANY} AND %(scope_of_tenant)s::uuid > %(behind)s
            AND (%(only)s::uuid IS NULL OR %(scope_of_tenant)s::uuid = %(only)s)
        LIMIT %(count)s
    """,
    owned=f"SELECT %(scope_of_tenant)s::uuid WHERE {_ANY} AND %(scope_of_tenant)s::uuid = ANY (%(ids)s)",
    lock=lambda transaction, scope: take_turn(transaction),
)
_ROWS = """
SELECT f.seq, f.page_id, f.written_at, f.heading, f.text, f.graph_name, f.agent_bundle_id, f.app_id, p.title, p.aliases
FROM context.facet f
    JOIN context.compiled_page p ON p.tenant_id = f.tenant_id AND p.page_id = f.page_id
WHERE f.tenant_id = %(tenant_id)s AND f.seq > %(behind)s
ORDER BY f.seq
LIMIT %(count)s
"""


def facet_source(count_tokens: Callable[[str], int]) -> PassageFeed:
    """Return what the facets of tenants say."""

    async def origin(scope: Scope, rows: Sequence[Row]) -> IndexedText:
        (row,) = rows
        cut = partial(cut_of, row.title, row.aliases, row.heading, row.text, scope_id=scope.id)
        pieces = await asyncio.to_thread(cut, count=count_tokens)
        return IndexedText(
            seq=row.seq,
            audience=audience_of(walls_of(row)),
            passages=[
                passage(piece, row.page_id, ordinal=ordinal, seq=row.seq, said_at=row.written_at, numbers=numbers)
                for ordinal, (piece, numbers) in enumerate(pieces)
            ],
        )

    return PassageFeed(
        scope_kind=BRAIN,
        kinds=frozenset({KIND}),
        owners=_TENANTS,
        rows=_ROWS,
        limits={"count": _FACETS},
        origin=origin,
    )
