"""An endpoint that answers OpenAI's `POST /embeddings`, or fails as it is told."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from service_runtime.values.vectors import DIMENSION_MAX
from tests.fakes.model_server import ModelServer

DIMENSION = 1536
assert DIMENSION <= DIMENSION_MAX

Answer = Callable[[list[str]], web.StreamResponse]


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    """Return the vector of a text: any two are far apart."""
    noise = hashlib.shake_128(text.encode()).digest(dimension)
    return [(byte - 128) / 128 for byte in noise]


def embedded(texts: list[str], dimension: int = DIMENSION) -> web.StreamResponse:
    data = [{"object": "embedding", "index": n, "embedding": vector_of(t, dimension)} for n, t in enumerate(texts)]
    data.reverse()  # nothing says that they come in order
    return web.json_response({"object": "list", "data": data, "model": "stub"})


class EmbeddingServer(ModelServer):
    """Serves vectors; EMBEDDING_URL is to be its URL."""

    path = "embeddings"

    def __init__(self, url: str = "") -> None:
        super().__init__(embedded, url)

    @property
    def texts(self) -> list[str]:
        """All texts that were asked for, in order, again where they were."""
        return [text for _, body in self.requests for text in self.asked(body)]

    def asked(self, body: dict[str, Any]) -> list[str]:
        return list(body["input"])


@asynccontextmanager
async def embedding_server() -> AsyncIterator[EmbeddingServer]:
    """Run one for the block, at a free port."""
    server = EmbeddingServer()
    async with server.running():
        yield server
