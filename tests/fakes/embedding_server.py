"""An endpoint that answers OpenAI's `POST /embeddings`, or fails as it is told."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from service_runtime.values.vectors import DIMENSION_MAX

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


class EmbeddingServer:
    """Serves vectors.

    Attributes:
        url: What EMBEDDING_URL is to be.
        answer: Makes the next answers from the texts.
        requests: What was asked: headers and body.
        gate: Closed, it keeps requests waiting.
    """

    def __init__(self, url: str = "") -> None:
        self.url = url
        self.answer: Answer = embedded
        self.requests: list[tuple[Any, dict[str, Any]]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    @property
    def texts(self) -> list[str]:
        """All texts that were asked for, in order, again where they were."""
        return [text for _, body in self.requests for text in body["input"]]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        self.requests.append((request.headers, body))
        answer = self.answer  # as it is when the request comes
        await self.gate.wait()
        return answer(body["input"])


@asynccontextmanager
async def embedding_server() -> AsyncIterator[EmbeddingServer]:
    """Run one for the block, at a free port."""
    server = EmbeddingServer()
    app = web.Application()
    app.router.add_post("/v1/embeddings", server.serve)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        _, port = runner.addresses[0][:2]
        server.url = f"http://127.0.0.1:{port}/v1"
        yield server
    finally:
        server.gate.set()
        await runner.cleanup()
