"""The feed that verifies and rebuilds the passages of wiki pages, from the newest version of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from context_service.retrieval.model import WIKI, Audience, PassageScope
from context_service.retrieval.pure.sections import sections
from context_service.retrieval.room import IndexedText, PassageFeed, users_of
from context_service.wiki.store import pages
from context_service.wiki.store.pages import KIND, cut_of, passage
from service_runtime.postgres import Row
from service_runtime.statements.sql_files import SqlFile

_PAGES = 5  # each has up to 1 MiB of text

SQL = SqlFile.of(__file__)
_ROWS = SQL["rows"]


def page_source(count_tokens: Callable[[str], int]) -> PassageFeed:
    """Return the feed that verifies and rebuilds the passages of users' pages; a user without pages has no origins."""

    async def origin(scope: PassageScope, rows: Sequence[Row]) -> IndexedText:
        """Make the passages of a page again from its newest version; each page has one row."""
        (row,) = rows
        pieces = cut_of(row.title, row.aliases, list(sections(row.markdown)), count=count_tokens, scope_id=scope.id)
        return IndexedText(
            seq=row.seq,
            audience=Audience(owner_user_id=row.owner_user_id, app_id=row.app_id, agent_bundle_id=row.agent_bundle_id),
            passages=[
                passage(piece, row.page_id, ordinal=ordinal, seq=row.seq, said_at=row.created_at, numbers=numbers)
                for ordinal, (piece, numbers) in enumerate(zip(pieces.pieces, pieces.numbers, strict=True))
            ],
        )

    return PassageFeed(
        scope_kind=WIKI,
        kinds=frozenset({KIND}),
        owners=users_of("context.wiki_page", scope_kind=WIKI, things="pages", lock=pages.lock),
        rows=_ROWS,
        limits={"count": _PAGES},
        origin=origin,
    )
