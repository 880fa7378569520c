"""Vectors of questions: a caller waits for them, so they are made in a short time or not at all.

An embedder that failed is not called for a while, longer each time. Calls during such a pause get the last error at
once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from uuid import UUID

from context_service.kernel.embedding import Embedding
from context_service.kernel.llm.embeddings import Embedder, EmbedderFailed, TextRefused
from context_service.kernel.llm.endpoint import Pauses
from context_service.kernel.llm.known_vectors import KnownVectors
from service_runtime.rpc.calls import answer_s, aside, remaining_s

_log = logging.getLogger("embedder")

_LATE = "the embedder did not answer in time"
_SHARE = 0.5  # share of a call's remaining time; the rest is for the search by words


class NoVector(Exception):
    """A question has no vector; the message says why."""


class QuestionVectors:
    """Makes vectors of questions, each of unit length; concurrent calls with the same question share one request.

    Args:
        embedder: The embedder that makes the vectors.
        known: The cache of vectors that were made lately.
        timeout_s: Seconds after which a call fails.
        text_chars: The number of characters of a question that are embedded.
    """

    def __init__(self, embedder: Embedder, known: KnownVectors, *, timeout_s: float, text_chars: int) -> None:
        self._embedder = embedder
        self._known = known
        self._in_flight: dict[tuple[UUID, str], asyncio.Task[list[Embedding]]] = {}
        self._timeout_s = timeout_s
        self._text_chars = text_chars
        self._pauses = Pauses()

    @property
    def model(self) -> str:
        """The name of the embedder's model."""
        return self._embedder.model

    async def of(self, text: str, *, tenant_id: UUID) -> Sequence[float]:
        """Return the vector of a question.

        Args:
            text: The text of the question.
            tenant_id: The tenant of the caller, whose cache is used.

        Raises:
            NoVector: the vector cannot be made in time.
        """
        text = text[: self._text_chars]
        if (known := self._known.get(tenant_id, text)) is not None:
            return known
        if not self._pauses.is_over:
            raise NoVector(self._pauses.failed_by)
        seconds = min(self._timeout_s, answer_s(remaining_s()) * _SHARE)
        try:
            async with aside(), asyncio.timeout(seconds):
                (embedding,) = await self._vectors_of(tenant_id, text)
        except TextRefused as error:  # the model refuses this text only; it can embed others
            raise NoVector(str(error)) from error
        except TimeoutError as error:
            # A caller with little time left does not prove that the embedder is slow.
            if seconds == self._timeout_s:
                self._on_failure(_LATE)
            raise NoVector(_LATE) from error
        except EmbedderFailed as error:
            self._on_failure(str(error), asked_s=error.retry_after_s)
            raise NoVector(str(error)) from error
        self._pauses.answered()
        return self._known.put(tenant_id, text, embedding.values)

    async def _vectors_of(self, tenant_id: UUID, text: str) -> list[Embedding]:
        """Return the vectors of a text. If one waiting call is cancelled, the others still get them."""
        key = tenant_id, text
        making = self._in_flight.get(key)
        if making is None:
            making = self._in_flight[key] = asyncio.create_task(self._embedder.embed([text]))
            making.add_done_callback(lambda task: self._on_end(key, task))
        return await asyncio.shield(making)

    def _on_end(self, key: tuple[UUID, str], task: asyncio.Task[list[Embedding]]) -> None:
        del self._in_flight[key]
        if not task.cancelled():
            task.exception()  # read, or asyncio would log it

    def _on_failure(self, by: str, *, asked_s: float = 0.0) -> None:
        pause_s = self._pauses.failed(by, asked_s=asked_s)
        _log.warning("question not embedded", extra={"error": by, "pause_s": pause_s})
