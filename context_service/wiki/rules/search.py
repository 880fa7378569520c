"""Search a user's pages: the best passages, each with its page.

The passages are found first, and the pages are read after them. A page that was replaced between the two statements is
left out, because the passages belong to its old version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import orjson

from context_service.retrieval.pure.identifiers import named_first
from context_service.retrieval.pure.rows import Row as MatchedRow
from context_service.retrieval.room import Best, Meaning, Passages, best, few_of_each
from context_service.wiki.model import Page, PageName, PagePassage, PageResults
from context_service.wiki.store.pages import PageRows, scope_of, stale_of
from context_service.wiki.store.search import CITING, SHOWN
from service_runtime.postgres import Database, Row
from service_runtime.rpc.principal import Principal
from service_runtime.values.copying import copied

PASSAGES_MAX = 2  # the most passages of one page in an answer
CITING_MAX = 5  # the most pages that are returned because they cite given memories


class _ScoredPassage(NamedTuple):
    """A passage that was found."""

    seq: int
    ordinal: int
    score: float
    cosine: float | None


class PageSearch:
    """Finds pages; each call acts for its principal, which has a user.

    Args:
        database: The database that holds the pages.
        passages: The store of passages, which indexes the pages' sections.
        meaning: Compares texts by their embeddings, or None to search by words only.
    """

    def __init__(self, database: Database, passages: Passages, *, meaning: Meaning | None) -> None:
        self._database = database
        self._passages = passages
        self._meaning = meaning

    async def search(
        self,
        text: str,
        *,
        limit: int,
        time_from: datetime | None = None,
        time_to: datetime | None = None,
        principal: Principal,
    ) -> PageResults:
        """Return the best passages of a user's pages, at most `PASSAGES_MAX` of each page.

        Args:
            text: The question, in words.
            limit: The largest number of passages to return.
            time_from: Search only versions that were written at this time or later.
            time_to: Search only versions that were written before this time.
            principal: The caller, whose user owns the pages.
        """
        ranked, matches = await self._rank(
            text, accepts=lambda row: row.is_said_within(time_from, time_to), limit=2 * limit, principal=principal
        )
        best_places = few_of_each(ranked, lambda match: match.seq, each_max=PASSAGES_MAX)
        pages = await self._visible_hits(best_places, principal)
        return PageResults(
            pages=named_first(text, pages, lambda page: page.aliases)[:limit],
            by_meaning=matches.by_meaning,
            error=matches.error,
        )

    async def citing(self, memory_ids: Sequence[UUID], text: str, *, principal: Principal) -> list[PagePassage]:
        """Return the pages that cite memories, at most `CITING_MAX`.

        Each is shown by its passage that answers the question best, or else by its beginning.

        Args:
            memory_ids: The memories that the pages must cite.
            text: The question, which ranks the passages.
            principal: The caller, whose user owns the pages.
        """
        principal = principal.without_admin()
        parameters = {"memory_ids": list(memory_ids), "count": CITING_MAX, **self._parameters(principal)}
        rows = await self._database.of(principal).query(CITING, parameters) if memory_ids else []
        if not rows:
            return []
        cites: Mapping[int, Sequence[UUID]] = {row.seq: row.memory_ids for row in rows}
        ranked, _ = await self._rank(text, accepts=lambda row: row.seq in cites, limit=100, principal=principal)
        places = {seq: _ScoredPassage(seq, 0, 0.0, None) for seq in cites}
        for taken in reversed(ranked):
            places[taken.seq] = taken
        return await self._visible_hits(list(places.values()), principal, cites)

    async def whole(self, page_id: UUID, *, principal: Principal) -> Page | None:
        """Return the newest version of a page with its whole text; None if the user has no page with this id."""
        principal = principal.without_admin()
        rows = PageRows(self._database, self._passages)
        name = PageName(page_id=page_id, slug="")
        return await rows.read(self._database.of(principal), name, version=0, principal=principal)

    async def _rank(
        self, text: str, *, accepts: Callable[[MatchedRow], bool], limit: int, principal: Principal
    ) -> tuple[list[_ScoredPassage], Best]:
        """Return passages, best first, and the search, which says whether embeddings were compared."""
        principal = principal.without_admin()
        scope = scope_of(principal.tenant_id, principal.user_id)
        matches = await best(
            self._passages, self._meaning, scope, text, wanted=accepts, limit=limit, principal=principal
        )
        return [
            _ScoredPassage(ranked.row.seq, ranked.row.ordinal, ranked.score, ranked.cosine) for ranked in matches.ranked
        ], matches

    async def _visible_hits(
        self,
        ranked: Sequence[_ScoredPassage],
        principal: Principal,
        cites: Mapping[int, Sequence[UUID]] | None = None,
    ) -> list[PagePassage]:
        """Read the passages at some places with their pages; pages that were replaced or deleted are left out."""
        if not ranked:
            return []
        places = [{"n": number, "seq": match.seq, "ordinal": match.ordinal} for number, match in enumerate(ranked)]
        parameters = {"found": orjson.dumps(places).decode(), **self._parameters(principal)}
        rows = await self._database.of(principal.without_admin()).query(SHOWN, parameters)
        return [_hit_of(row, ranked[row.n], (cites or {}).get(ranked[row.n].seq, ())) for row in rows]

    def _parameters(self, principal: Principal) -> dict[str, object]:
        """Return the parameters that name the pages of the caller's user."""
        return {
            "tenant_id": principal.tenant_id,
            "user_id": principal.user_id,
            "scope_id": scope_of(principal.tenant_id, principal.user_id).id,
        }


def _hit_of(row: Row, ranked: _ScoredPassage, cites: Sequence[UUID]) -> PagePassage:
    """Return a passage with its page and its score, and the memories for which the page was found."""
    return copied(
        PagePassage,
        row,
        heading=row.heading or "",
        written_at=row.created_at,
        stale=stale_of(row),
        score=ranked.score,
        cosine=ranked.cosine,
        cites=tuple(cites),
    )
