"""Search the facets of compiled pages.

The passages are found first, and the facets are read after them. A facet is left out if its page was written again
between the two statements, or if its definition is no longer approved. A node may have pages of several audiences; of
those that the caller sees, the answer has the page of the audience that sees most.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import orjson

from context_service.compiled_pages.model import FacetPassage, FacetResults, WholeFacet
from context_service.compiled_pages.pure.definition import FacetKind
from context_service.compiled_pages.store.pages import facet_stale, page_stale, scope_of
from context_service.compiled_pages.store.search import COUNT, SHOWN, WHOLE
from context_service.retrieval.pure.identifiers import named_first
from context_service.retrieval.pure.ranking import Ranked
from context_service.retrieval.room import Meaning, Passages, best, few_of_each
from service_runtime.postgres import Database, Row
from service_runtime.rpc.principal import Principal
from service_runtime.values.copying import copied

PASSAGES_MAX = 2  # passages of one facet in an answer


class FacetSearch:
    """Searches the facets of compiled pages; each call acts for its principal.

    Args:
        database: The database that holds the compiled pages.
        passages: The search index of the facets.
        meaning: Compares texts by their embeddings, or None to search by words only.
    """

    def __init__(self, database: Database, passages: Passages, *, meaning: Meaning | None) -> None:
        self._database = database
        self._passages = passages
        self._meaning = meaning

    async def pages(self, *, principal: Principal) -> int:
        """Return how many pages there are that the principal may see."""
        (row,) = await self._database.of(principal).query(COUNT)
        return int(row.pages)

    async def search(
        self,
        text: str,
        *,
        limit: int,
        time_from: datetime | None = None,
        time_to: datetime | None = None,
        principal: Principal,
    ) -> FacetResults:
        """Return the best passages of facets, `PASSAGES_MAX` of each.

        Args:
            text: The text of the question.
            limit: The number of passages at most.
            time_from: Only facets whose information is from then or later; None sets no limit.
            time_to: Only facets whose information is from before then; None sets no limit.
            principal: The caller; its tenant and bounds limit the rows.
        """
        matches = await best(
            self._passages,
            self._meaning,
            scope_of(principal.tenant_id),
            text,
            wanted=lambda _: True,  # passages do not have the time of their facet, so it is compared below
            limit=4 * limit,  # more than are wanted, because some are left out below
            principal=principal,
        )
        best_places = few_of_each(matches.ranked, lambda ranked_row: ranked_row.row.seq, each_max=PASSAGES_MAX)
        shown = [
            facet
            for facet in await self._visible_hits(best_places, principal)
            if (time_from is None or facet.as_of >= time_from) and (time_to is None or facet.as_of < time_to)
        ]
        shown = named_first(text, shown, lambda facet: facet.aliases)
        return FacetResults(facets=shown[:limit], by_meaning=matches.by_meaning, error=matches.error)

    async def whole(self, page_id: UUID, slug: str, *, is_put: bool, principal: Principal) -> WholeFacet | None:
        """Return the whole text of a facet, or None if the principal sees no such facet."""
        parameters = {"page_id": page_id, "slug": slug, "is_put": is_put}
        for row in await self._database.of(principal).query(WHOLE, parameters):
            return copied(WholeFacet, row)
        return None

    async def _visible_hits(self, ranked: Sequence[Ranked], principal: Principal) -> list[FacetPassage]:
        """Read the ranked passages with their pages; of equal facets of several audiences, only one is returned."""
        if not ranked:
            return []
        places = [{"n": number, "seq": item.row.seq, "ordinal": item.row.ordinal} for number, item in enumerate(ranked)]
        parameters = {"scope_id": scope_of(principal.tenant_id).id, "found": orjson.dumps(places).decode()}
        rows = await self._database.of(principal).query(SHOWN, parameters)
        speaks: dict[object, tuple[bool, datetime, UUID]] = {}
        for row in rows:
            rank = (row.is_unbound, row.compiled_at, row.page_id)
            speaks[_same(row)] = max(speaks.get(_same(row), rank), rank)
        return [_hit_of(row, ranked[row.n]) for row in rows if speaks[_same(row)][2] == row.page_id]


def _same(row: Row) -> object:
    """Return a key that is equal for the same facet on the pages of several audiences."""
    return row.definition_name, row.node_id, row.slug, row.page_id if row.is_put else None


def _hit_of(row: Row, ranked: Ranked) -> FacetPassage:
    """Return a passage with its facet, its score, and the reasons why it is out of date."""
    return copied(
        FacetPassage,
        row,
        kind=FacetKind(row.kind),
        stale=facet_stale(row, of_page=page_stale(row)),
        score=ranked.score,
        cosine=ranked.cosine,
    )
