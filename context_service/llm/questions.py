"""Vectors of questions: made while somebody waits, so in little time or not at all.

An embedder that failed is left alone for a while, longer each time: those who ask meanwhile learn at once what it
failed by, and do not wait for it again.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time

from context_service.llm.embeddings import Embedder, EmbedderFailed, TextRefused
from service_runtime.calls import answer_s, aside, remaining_s

_log = logging.getLogger("embedder")

PAUSE_S = 1.0  # after a first failure; then twice as long each time
PAUSE_S_MAX = 60.0
_SHARE = 0.5  # of the time that a call has left: the rest is for what is found by words


class NoVector(Exception):
    """There is no vector of a question, and why."""


class QuestionVectors:
    """Makes vectors of questions, each of unit length.

    Args:
        embedder: What makes them.
        timeout_s: That one may take.
        text_chars: So much of a question is embedded.
    """

    def __init__(self, embedder: Embedder, *, timeout_s: float, text_chars: int) -> None:
        self._embedder = embedder
        self._timeout_s = timeout_s
        self._text_chars = text_chars
        self._failures = 0
        self._failed_by = ""
        self._again_at = -math.inf

    @property
    def model(self) -> str:
        """The embedder's."""
        return self._embedder.model

    async def of(self, text: str) -> tuple[float, ...]:
        """Return the vector of a text.

        Raises:
            NoVector: it cannot be made in time.
        """
        if time.monotonic() < self._again_at:
            raise NoVector(self._failed_by)
        try:
            async with aside(), asyncio.timeout(min(self._timeout_s, answer_s(remaining_s()) * _SHARE)):
                (embedding,) = await self._embedder.embed([text[: self._text_chars]])
        except TextRefused as error:  # of another text there is one
            raise NoVector(str(error)) from error
        except (EmbedderFailed, TimeoutError) as error:
            self._failed(error)
            raise NoVector(self._failed_by) from error
        self._failures = 0
        length = math.hypot(*embedding.values)
        return tuple(value / length for value in embedding.values)

    def _failed(self, error: EmbedderFailed | TimeoutError) -> None:
        self._failed_by = str(error) or "the embedder did not answer in time"
        asked_s = error.retry_after_s if isinstance(error, EmbedderFailed) else 0.0
        pause_s = max(asked_s, min(PAUSE_S * 2.0 ** min(self._failures, 20), PAUSE_S_MAX))
        self._failures += 1
        self._again_at = time.monotonic() + pause_s
        _log.warning("question has no vector", extra={"error": self._failed_by, "pause_s": pause_s})
