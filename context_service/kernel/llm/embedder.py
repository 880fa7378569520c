"""Texts to vectors, by any endpoint that answers OpenAI's `POST /embeddings`.

Each request is tried once: the caller decides about a failure, by its cause.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import aiohttp
import orjson

from context_service.kernel.embedding import EMBEDDING_DIMENSION, Embedding
from context_service.kernel.llm import endpoint
from context_service.kernel.llm.embeddings import Embedder, EmbedderFailed, EmbedderMisconfigured, TextRefused
from context_service.settings import Settings
from contextkeep.errors import InvalidArgument
from service_runtime.values.vectors import check_vector

_log = logging.getLogger("embedder")

_ANSWER_BYTES_MAX = 16 * 1024 * 1024
# For each text: a vector of 4,096 numbers of 32 characters, though we store smaller ones. Around all of them the rest.
_VECTOR_BYTES_MAX, _AROUND_BYTES_MAX = 4_096 * 32, 64 * 1024
_VECTOR_CONTAINERS_MAX, _AROUND_CONTAINERS_MAX = 8, 1_000

# Statuses that blame one of the texts. With any other status, another text would fail, too.
_TEXT_IS_WRONG = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}
)


class EndpointEmbedder(Embedder):
    """One model at one endpoint.

    Args:
        session: The HTTP connections to the endpoint, with the timeout of a request.
        url: The URL that `/embeddings` is appended to, such as `https://api.openai.com/v1`.
        model: The name of the model at the endpoint.
        asks_dimension: Request the dimension of the vectors, from models that can make several.
        key: The operator's API key; empty if the endpoint needs none. It is removed from errors that callers read.
    """

    def __init__(
        self, session: aiohttp.ClientSession, *, url: str, model: str, asks_dimension: bool, key: str = ""
    ) -> None:
        super().__init__()
        self._session = session
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._key = key
        self._url = f"{url.rstrip('/')}/embeddings"
        self._request_fields: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if asks_dimension:
            self._request_fields["dimensions"] = EMBEDDING_DIMENSION
        self.model = model

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """Return the vectors of texts, in their order.

        Raises:
            TextRefused: one of the texts is too long, or otherwise not taken.
            EmbedderFailed: the endpoint does not answer as it should.
        """
        body = orjson.dumps({**self._request_fields, "input": list(texts)})
        bytes_max = min(_AROUND_BYTES_MAX + len(texts) * _VECTOR_BYTES_MAX, _ANSWER_BYTES_MAX)
        try:
            status, answer, retry_after = await endpoint.post(
                self._session, self._url, body, headers=self._headers, bytes_max=bytes_max
            )
        except TimeoutError:
            raise EmbedderFailed("the embedder did not answer in time") from None
        except (aiohttp.ClientError, OSError) as error:
            _log.warning("embedder cannot be reached", extra={"error": str(error) or type(error).__name__})
            raise EmbedderFailed("the embedder cannot be reached") from error  # but not where it is: callers read this
        if answer is None:
            raise EmbedderFailed(f"the embedder's answer has more than {bytes_max} bytes")
        if status != HTTPStatus.OK:
            raise self._failure(status, answer, retry_after)
        return [Embedding(values=values, model=self.model) for values in await _vectors(answer, count=len(texts))]

    def _failure(self, status: int, answer: bytes, retry_after: str) -> Exception:
        """Return the error for an answer that is not a success.

        The text alone may be at fault, the endpoint may recover by itself, or the configuration is wrong.
        """
        if status in _TEXT_IS_WRONG:
            return TextRefused(f"the embedder answered {status}", words=endpoint.shown(answer, key=self._key))
        message = f"the embedder answered {endpoint.status_of(status, answer, key=self._key)}"
        if endpoint.passes(status):
            return EmbedderFailed(message, retry_after_s=endpoint.retry_after_s(retry_after))
        return EmbedderMisconfigured(message)


@asynccontextmanager
async def open_endpoint(settings: Settings) -> AsyncIterator[EndpointEmbedder]:
    """Open the connections to the endpoint that the settings name."""
    timeout = aiohttp.ClientTimeout(total=settings.embedding_timeout_s)
    async with aiohttp.ClientSession(timeout=timeout, headers={"content-type": "application/json"}) as session:
        yield EndpointEmbedder(
            session,
            url=settings.embedding_url,
            model=settings.embedding_model,
            asks_dimension=settings.embedding_asks_dimension,
            key=settings.embedding_api_key.get_secret_value(),
        )


async def _vectors(answer: bytes, *, count: int) -> list[tuple[float, ...]]:
    """Return the vectors of an answer, in the order of the texts."""

    def read(document: Any) -> list[tuple[float, ...]]:
        vectors = {int(item["index"]): tuple(map(float, item["embedding"])) for item in document["data"]}
        if len(document["data"]) != count:
            raise ValueError(f"the embedder must answer with {count} vectors")
        return [vectors[index] for index in range(count)]

    containers_max = _AROUND_CONTAINERS_MAX + count * _VECTOR_CONTAINERS_MAX
    try:
        vectors = await endpoint.parsed(answer, containers_max=containers_max, load=read)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise EmbedderFailed(
            f"the embedder's answer does not have the form of /embeddings ({type(error).__name__})"
        ) from error
    try:
        for values in vectors:
            check_vector("the embedder's vector", values, dimension=EMBEDDING_DIMENSION)
    except InvalidArgument as error:
        raise EmbedderMisconfigured(error.message) from None
    return vectors
