"""The provider `memory` together with the wiki pages that cite the memories it finds.

A page says more than one of its memories, and often in other words than the question. If the pages cannot be read in
time, the memories are returned alone with the state STALE. If the policy forbids `wiki`, no pages are returned: a
caller that may not see pages must not see them in this way either.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from uuid import UUID

from context_service.query.providers import Answered, Expanded, Hit, ProviderQuery, State
from context_service.query.providers.memories import UserMemories
from context_service.query.providers.wiki import WIKI, expanded_pages, hit_of
from context_service.wiki.model import PagePassage
from context_service.wiki.room import PageSearch
from contextkeep.errors import ContextKeepError
from service_runtime.rpc.calls import current_call, remaining_s
from service_runtime.rpc.principal import Principal

_log = logging.getLogger("query")

# After the memories were found, the pages that cite them must be found within this share of the remaining time, and
# within this number of seconds.
_SHARE = 0.4
_WAITED_S_MAX = 1.0


class MemoriesWithPages:
    """The provider `memory`, which also returns the pages that cite the memories it finds.

    Args:
        memories: The provider of memories alone.
        pages: Finds the pages that cite memories.
    """

    info = UserMemories.info

    def __init__(self, memories: UserMemories, pages: PageSearch) -> None:
        self._memories = memories
        self._pages = pages

    async def search(self, request: ProviderQuery, principal: Principal) -> Answered:
        """Return memories, each followed by the pages that cite it."""
        answer = await self._memories.search(request, principal)
        memory_ids = list(dict.fromkeys(memory_id for hit in answer.hits for memory_id in _ids(hit)))
        if not memory_ids or request.metadata or WIKI in request.refused_ids:  # pages have no metadata of a writer
            return answer
        try:
            with _within(min(_WAITED_S_MAX, _SHARE * remaining_s())):
                pages = await self._pages.citing(memory_ids, request.query, principal=principal)
        except ContextKeepError as error:
            _log.warning("pages that cite memories cannot be read", extra={"why": error.reason})
            reason = "; ".join(filter(None, (answer.reason, f"without the pages that cite them: {error.reason}")))
            return replace(answer, state=State.STALE, reason=reason)
        return replace(answer, hits=list(_beside(answer, pages))[: request.limit])

    async def expand(self, source_ids: Sequence[str], request: ProviderQuery, principal: Principal) -> list[Expanded]:
        """Return the memories and pages that hits were taken from."""
        memories = await self._memories.expand(source_ids, request, principal)
        if WIKI in request.refused_ids:
            return memories
        return [*memories, *await expanded_pages(self._pages, source_ids, principal)]


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Give the statements of a block an earlier deadline: Postgres cancels them, and the connection stays usable."""
    call = current_call.get()
    sooner = call and replace(call, deadline=min(call.deadline, time.monotonic() + seconds))
    token = current_call.set(sooner)
    try:
        yield
    finally:
        current_call.reset(token)


def _beside(answer: Answered, pages: list[PagePassage]) -> Iterator[Hit]:
    """Yield hits, each page after the first memory that it cites."""
    left = list(pages)
    for hit in answer.hits:
        yield hit
        ids = set(_ids(hit))
        for page in [other_page for other_page in left if ids & set(other_page.cites)]:
            left.remove(page)
            cited = ",".join(str(cite) for cite in page.cites)
            results = hit_of(page)
            yield replace(results, metadata={**results.metadata, "source_family": WIKI, "cites": cited})


def _ids(hit: Hit) -> list[UUID]:
    """Return the ids of the memories that a hit is made of."""
    reply = str(hit.metadata.get("memory_id") or hit.metadata.get("memory_ids") or "")
    return [UUID(cited_id) for cited_id in reply.split(",") if cited_id]
