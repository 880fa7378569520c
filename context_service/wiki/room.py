"""Composes the room wiki: opens its own parts, and returns its servicer."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from context_service.kernel.dependencies import REQUESTS, Dependencies, Room
from context_service.retrieval.model import WIKI
from context_service.retrieval.room import keep_making_passage_vectors
from context_service.wiki.api import PagesServicer
from context_service.wiki.rules.pages import Pages
from context_service.wiki.rules.search import PageSearch
from context_service.wiki.store.pages import PageRows, scope_of
from context_service.wiki.store.passages import page_source
from contextkeep.context.v1.pages_pb2_grpc import add_PagesServicer_to_server
from service_runtime.grpc_server.server import Service

# What other rooms use.
__all__ = [
    "PageSearch",
    "open_wiki",
    "page_source",
    "scope_of",
]


async def open_wiki(deps: Dependencies, stack: AsyncExitStack) -> Room[PagesServicer]:
    """Begin to embed pages in the background, and return the servicer."""
    await keep_making_passage_vectors(deps, WIKI, stack)
    rows = PageRows(deps.database, deps.passages)
    servicer = PagesServicer(Pages(deps.database, rows, requests=REQUESTS, tokens=deps.tokens))
    service = Service(
        full_name="contextkeep.context.v1.Pages",
        add=partial(add_PagesServicer_to_server, servicer),
        checks=[deps.schema_ready],
    )
    return Room(servicer, service)
