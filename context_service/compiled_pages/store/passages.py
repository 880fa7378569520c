"""Facets of compiled pages as a source of the index: the text of each facet, and the title and aliases of its page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from context_service.compiled_pages.store.pages import KIND, audience_of, cut_of, passage, take_turn, walls_of
from context_service.retrieval.model import BRAIN, PassageScope
from context_service.retrieval.room import IndexedText, Owners, PassageFeed
from service_runtime.postgres import Row
from service_runtime.statements.sql_files import SqlFile

_FACETS = 50  # facets of one page; each may have 64 KiB

SQL = SqlFile.of(__file__)
_ROWS = SQL["rows"]
_TENANTS = Owners(
    scope_of=lambda scope_id: PassageScope(kind=BRAIN, id=scope_id),
    count=SQL["tenants_count"],
    page=SQL["tenants_page"],
    owned=SQL["tenants_owned"],
    lock=lambda transaction, scope: take_turn(transaction),
)


def facet_source(count_tokens: Callable[[str], int]) -> PassageFeed:
    """Return the feed that gives the index the passages of facets."""

    async def origin(scope: PassageScope, rows: Sequence[Row]) -> IndexedText:
        """Make the passages of a facet again from its text; each facet has one row."""
        (row,) = rows
        split = partial(cut_of, row.title, row.aliases, row.heading, row.text, scope_id=scope.id)
        pieces = await asyncio.to_thread(split, count=count_tokens)
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
