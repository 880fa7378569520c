"""Rerankers at an endpoint that answers `POST /rerank`.

There are two forms. Cohere, Jina, vLLM and others take a model, and answer
`{"results": [{"index", "relevance_score"}]}`.
Text Embeddings Inference (TEI) serves one model and takes none, and answers `[{"index", "score"}]`. So the form follows
from whether the settings name a model. Each request is tried once: callers have an order without a reranker, too.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import aiohttp
import orjson

from context_service.kernel.llm import endpoint
from context_service.kernel.llm.reranking import TEXT_CHARS, RerankerFailed
from context_service.settings import Settings
from service_runtime.rpc.calls import answer_s, aside, remaining_s

_log = logging.getLogger("reranker")

_LATE = "the reranker did not answer in time"
_SHARE = 0.5  # share of a call's remaining time; the rest is for the call's own work
_TEI_TEXTS_MAX = 32  # TEI refuses requests with more texts, unless it is told otherwise
_AROUND_BYTES_MAX = 64 * 1024  # of an answer, in addition to the texts, which some endpoints repeat
_ESCAPED = 2  # an endpoint may write characters of a text in more bytes than we do
_CONTAINERS_MAX = 1_000  # lists and objects of an answer


class EndpointReranker:
    """One model at one endpoint. A model that failed is not called for a while, longer each time.

    Args:
        session: The HTTP connections to the endpoint.
        url: The URL that `/rerank` is appended to, such as `https://api.cohere.com/v2`.
        model: The name of the model at the endpoint; empty for TEI, which has one model.
        timeout_s: Seconds after which an order without the reranker is better.
        key: The operator's API key; empty if the endpoint needs none.
    """

    def __init__(
        self, session: aiohttp.ClientSession, *, url: str, model: str, timeout_s: float, key: str = ""
    ) -> None:
        self._session = session
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._key = key
        self._url = f"{url.rstrip('/')}/rerank"
        self._model = model
        self._timeout_s = timeout_s
        self._pauses = endpoint.Pauses()

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers a query; see `Reranker`."""
        if not self._pauses.is_over:
            raise RerankerFailed(self._pauses.failed_by)
        seconds = min(self._timeout_s, answer_s(remaining_s()) * _SHARE)
        query, texts = query[:TEXT_CHARS], [text[:TEXT_CHARS] for text in texts]
        each = len(texts) if self._model else _TEI_TEXTS_MAX
        scores: list[float] = []
        try:
            async with aside(), asyncio.timeout(seconds):
                for start in range(0, len(texts), each):
                    scores += await self._scores(query, texts[start : start + each])
        except TimeoutError:
            # A caller with little time left does not prove that the reranker is slow.
            if seconds == self._timeout_s:
                self._pause(_LATE)
            raise RerankerFailed(_LATE) from None
        self._pauses.answered()
        return scores

    async def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of one request.

        Raises:
            RerankerFailed: the endpoint does not answer as it should.
        """
        fields = {"model": self._model, "documents": texts} if self._model else {"texts": texts, "truncate": True}
        body = orjson.dumps({"query": query, **fields})
        bytes_max = _AROUND_BYTES_MAX + _ESCAPED * len(body)
        try:
            status, answer, retry_after = await endpoint.post(
                self._session, self._url, body, headers=self._headers, bytes_max=bytes_max
            )
        except (aiohttp.ClientError, OSError) as error:
            _log.warning("reranker cannot be reached", extra={"error": str(error) or type(error).__name__})
            raise self._failure("the reranker cannot be reached") from error  # but not where it is: callers read this
        if answer is None:
            raise self._failure(f"the reranker's answer has more than {bytes_max} bytes")
        if status != HTTPStatus.OK:
            message = f"the reranker answered {endpoint.status_of(status, answer, key=self._key)}"
            raise self._failure(message, asked_s=endpoint.retry_after_s(retry_after))
        try:
            return await endpoint.parsed(
                answer, containers_max=_CONTAINERS_MAX, load=lambda document: _read(document, count=len(texts))
            )
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            message = f"the reranker's answer does not have the form of /rerank ({type(error).__name__})"
            raise self._failure(message) from error

    def _failure(self, message: str, *, asked_s: float = 0.0) -> RerankerFailed:
        """Return the error of a failed request, and pause further requests."""
        self._pause(message, asked_s=asked_s)
        return RerankerFailed(message)

    def _pause(self, message: str, *, asked_s: float = 0.0) -> None:
        pause_s = self._pauses.failed(message, asked_s=asked_s)
        _log.warning("results not reranked", extra={"error": message, "pause_s": pause_s})


@asynccontextmanager
async def open_endpoint(settings: Settings) -> AsyncIterator[EndpointReranker]:
    """Open the connections to the endpoint that the settings name."""
    async with aiohttp.ClientSession(headers={"content-type": "application/json"}) as session:
        yield EndpointReranker(
            session,
            url=settings.reranker_url,
            model=settings.reranker_model,
            timeout_s=settings.reranker_timeout_s,
            key=settings.reranker_api_key.get_secret_value(),
        )


def _read(document: Any, *, count: int) -> list[float]:
    """Return the scores of an answer in either form, in the order of the texts.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: it has another form, or not one number for each text.
    """
    results = document if isinstance(document, list) else document["results"]
    scores = {
        int(result["index"]): float(result["score"] if "score" in result else result["relevance_score"])
        for result in results
    }
    if len(results) != count or not all(map(math.isfinite, scores.values())):
        raise ValueError(f"the reranker must answer with {count} scores")
    return [scores[index] for index in range(count)]
