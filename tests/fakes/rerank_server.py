"""An endpoint that answers `POST /rerank` in both forms, or fails as it is told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.fakes.model_server import ModelServer

Answer = Callable[[dict[str, Any]], web.StreamResponse]


def texts_of(body: dict[str, Any]) -> list[str]:
    return list(body["documents"] if "documents" in body else body["texts"])


def prefers(*words: str) -> Answer:
    """Score texts by these words, the first of them highest."""

    def score(text: str) -> float:
        return max((1.0 / (place + 1) for place, word in enumerate(words) if word in text), default=0.0)

    def answer(body: dict[str, Any]) -> web.StreamResponse:
        scores = sorted(enumerate(map(score, texts_of(body))), key=lambda pair: -pair[1])
        if "documents" in body:
            results = [{"index": index, "relevance_score": score} for index, score in scores]
            return web.json_response({"id": "1", "results": results, "meta": {"billed_units": {"search_units": 1}}})
        return web.json_response([{"index": index, "score": score} for index, score in scores])

    return answer


class RerankServer(ModelServer):
    """Serves scores; RERANKER_URL is to be its URL."""

    path = "rerank"

    def __init__(self) -> None:
        super().__init__(prefers())

    @property
    def texts(self) -> list[str]:
        """All texts that were sent, in order."""
        return [text for _, body in self.requests for text in texts_of(body)]


@asynccontextmanager
async def rerank_server() -> AsyncIterator[RerankServer]:
    """Run one for the block, at a free port."""
    server = RerankServer()
    async with server.running():
        yield server
