"""The provider `brain`: passages of the pages that are compiled from the tenant's graph, facet by facet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import UUID

from context_service.compiled_pages.model import FacetPassage
from context_service.compiled_pages.room import FacetSearch, PageFreshness
from context_service.query.model import with_words_only
from context_service.query.providers import Answered, Expanded, Hit, ProviderInfo, ProviderQuery, QueryScope, State
from context_service.retrieval.model import BRAIN
from service_runtime.rpc.principal import Principal
from service_runtime.values.copying import copied

TRUST = 3  # the trust of the provider; each hit has the trust of its facet's kind instead
_BETWEEN = " > "
_PUT = "put"  # the part of an id between the page and the slug of a facet that a caller added

__all__ = ["BRAIN", "TRUST", "CompiledFacets"]


class CompiledFacets:
    """The provider that searches facets of compiled pages that the caller may see.

    Args:
        facets: Finds facets that answer a question.
        freshness: Says when the pages were compiled, and whether changes wait since then.
    """

    info = ProviderInfo(id=BRAIN, family=BRAIN, display_name="Compiled pages", scopes=frozenset({QueryScope.TEAM}))

    def __init__(self, facets: FacetSearch, freshness: PageFreshness) -> None:
        self._facets = facets
        self._freshness = freshness

    async def search(self, request: ProviderQuery, principal: Principal) -> Answered:
        """Return passages of facets; the state is STALE if some are out of date, or changes of the graph wait."""
        principal = principal.without_admin()
        count = await self._facets.pages(principal=principal)
        if not count:
            return Answered(state=State.SKIPPED, reason="no page is compiled", target="0 pages")
        results, freshness = await asyncio.gather(
            self._facets.search(
                request.query,
                limit=request.limit,
                time_from=request.time_from,
                time_to=request.time_to,
                principal=principal,
            ),
            self._freshness.of(principal=principal),
        )
        stale = {(facet.page_id, facet.slug) for facet in results.facets if facet.stale}
        what = "1 facet is" if len(stale) == 1 else f"{len(stale):,} facets are"
        answer = Answered(
            hits=[_hit(facet) for facet in results.facets],
            state=State.STALE if stale or freshness.reason else State.OK,
            reason="; ".join(filter(None, [f"{what} out of date" if stale else "", freshness.reason])),
            as_of=freshness.as_of,
            target="1 page" if count == 1 else f"{count:,} pages",
            mode="words and meaning" if results.by_meaning else "words",
        )
        return with_words_only(answer, results.error)

    async def expand(self, source_ids: Sequence[str], request: ProviderQuery, principal: Principal) -> list[Expanded]:
        """Return the whole facets that hits were taken from."""
        expanded = []
        for source_id in source_ids:
            named = _page_and_slug(source_id)
            facet = named and await self._facets.whole(
                named[0], named[1], is_put=named[2], principal=principal.without_admin()
            )
            if facet:
                expanded.append(
                    copied(
                        Expanded,
                        facet,
                        source_id=source_id,
                        title=_BETWEEN.join((facet.title, facet.heading)),
                        scope=QueryScope.TEAM,
                    )
                )
        return expanded


def _page_and_slug(source_id: str) -> tuple[UUID, str, bool] | None:
    """Return the page and slug of a hit's facet, and whether it was put; None if the id has another form."""
    page, _, rest = source_id.partition("/")
    kind, _, rest = rest.partition("/")
    slug, _, ordinal = rest.partition("/")
    try:
        page_id = UUID(page)
    except ValueError:
        return None
    if not slug or "\0" in slug or not ordinal.isdecimal() or kind not in (_PUT, BRAIN):
        return None
    return page_id, slug, kind == _PUT


def _hit(hit: FacetPassage) -> Hit:
    """Return a passage of a facet as a hit, with the origin of the facet in the metadata."""
    return copied(
        Hit,
        hit,
        source_id=f"{hit.page_id}/{_PUT if hit.is_put else BRAIN}/{hit.slug}/{hit.ordinal}",
        superseded_by="",
        title=_BETWEEN.join((hit.title, hit.heading)),
        snippet=hit.text,
        scope=QueryScope.TEAM,
        label=hit.title,
        uri=f"brain://{hit.page_id}#{hit.slug}",
        metadata={
            "page_id": str(hit.page_id),
            "entity_type": hit.node_type,
            "node_id": str(hit.node_id),
            "facet": hit.slug,
            "heading": hit.heading,
            "kind": hit.kind.value,
            "trust": hit.trust,
            "confidence": hit.confidence,
            "definition": hit.definition_name,
            "definition_version": hit.definition_version,
            "compile_id": str(hit.compile_id or ""),
            "put_by": hit.put_by,
            "fresh_until": hit.fresh_until.isoformat() if hit.fresh_until else "",
            "stale": "; ".join(hit.stale),
        },
    )
