"""The provider `wiki`: passages of the pages that were compiled for the user; outdated pages are marked."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from context_service.query.model import with_words_only, without_user
from context_service.query.providers import Answered, Expanded, Hit, ProviderInfo, ProviderQuery, QueryScope, State
from context_service.retrieval.model import WIKI
from context_service.wiki.model import PagePassage
from context_service.wiki.room import PageSearch
from service_runtime.rpc.principal import Principal

TRUST = 3
_SHOWN_MAX = 3  # pages that a status names
_BETWEEN = " > "
_TARGET = "pages of the user"

__all__ = ["TRUST", "WIKI", "WikiPages", "hit_of"]


class WikiPages:
    """The provider that searches the pages of the user for whom the call is made.

    Args:
        pages: Finds pages that answer a question.
    """

    info = ProviderInfo(id=WIKI, family=WIKI, display_name="Wiki pages", scopes=frozenset({QueryScope.PERSONAL}))

    def __init__(self, pages: PageSearch) -> None:
        self._pages = pages

    async def search(self, request: ProviderQuery, principal: Principal) -> Answered:
        """Return passages of pages; the state is STALE if one of these pages is out of date."""
        if not principal.user_id:
            return without_user(_TARGET)
        results = await self._pages.search(
            request.query,
            limit=request.limit,
            time_from=request.time_from,
            time_to=request.time_to,
            principal=principal,
        )
        stale = {page.slug: page.stale[0] for page in results.pages if page.stale}
        named = [f"{slug} is out of date: {why}" for slug, why in list(stale.items())[:_SHOWN_MAX]]
        if len(stale) > _SHOWN_MAX:
            named.append(f"so are {len(stale) - _SHOWN_MAX} more")
        answer = Answered(
            hits=[hit_of(page) for page in results.pages],
            state=State.STALE if stale else State.OK,
            reason="; ".join(named),
            target=_TARGET,
            mode="words and meaning" if results.by_meaning else "words",
        )
        return with_words_only(answer, results.error)

    async def expand(self, source_ids: Sequence[str], request: ProviderQuery, principal: Principal) -> list[Expanded]:
        """Return the pages that hits were taken from."""
        return await expanded_pages(self._pages, source_ids, principal)


async def expanded_pages(pages: PageSearch, source_ids: Sequence[str], principal: Principal) -> list[Expanded]:
    """Return the pages that hits were taken from, in their newest versions."""
    expanded = []
    for source_id in source_ids if principal.user_id else ():
        page_id = _page_id(source_id)
        page = page_id and await pages.whole(page_id, principal=principal)
        if page:
            expanded.append(
                Expanded(
                    source_id=source_id,
                    text=page.markdown,
                    title=page.title,
                    scope=QueryScope.PERSONAL,
                    as_of=page.as_of,
                )
            )
    return expanded


def _page_id(source_id: str) -> UUID | None:
    """Return the id of the page of a hit, or None for an id of another form."""
    name, _, ordinal = source_id.partition(".")
    try:
        return UUID(name) if ordinal.isdecimal() else None
    except ValueError:
        return None


def hit_of(hit: PagePassage) -> Hit:
    """Return a passage of a page as a hit."""
    return Hit(
        source_id=f"{hit.page_id}.{hit.ordinal}",
        title=_BETWEEN.join(filter(None, (hit.title, hit.heading))),
        snippet=hit.text,
        scope=QueryScope.PERSONAL,
        score=hit.score,
        aliases=hit.aliases,
        label=hit.title,
        uri=f"wiki://{hit.slug}",
        metadata={
            "page_id": str(hit.page_id),
            "slug": hit.slug,
            "version": hit.version,
            "heading": hit.heading,
            "page_as_of": hit.as_of.isoformat(),
            "fresh_until": hit.fresh_until.isoformat() if hit.fresh_until else "",
            "stale": "; ".join(hit.stale),
        },
        as_of=hit.written_at,
        cosine=hit.cosine,
    )
