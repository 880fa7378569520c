"""Composition of the room wiki: opens what only it needs, and returns its servicer."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from context_service.kernel.ground import REQUESTS, Ground, Room
from context_service.retrieval.room import keep_making_passage_vectors
from context_service.retrieval.store.passages import WIKI
from context_service.wiki.api import PagesServicer
from context_service.wiki.rules.pages import Pages
from context_service.wiki.store.pages import PageRows
from contextkeep.context.v1.pages_pb2_grpc import add_PagesServicer_to_server
from service_runtime.server import Service


async def open_wiki(ground: Ground, stack: AsyncExitStack) -> Room[PagesServicer]:
    """Begin to embed pages, and return the servicer."""
    await keep_making_passage_vectors(ground, WIKI, stack)
    rows = PageRows(ground.database, ground.passages)
    servicer = PagesServicer(Pages(ground.database, rows, requests=REQUESTS, tokens=ground.tokens))
    service = Service(
        full_name="contextkeep.context.v1.Pages",
        add=partial(add_PagesServicer_to_server, servicer),
        checks=[ground.schema_ready],
    )
    return Room(servicer, service)
