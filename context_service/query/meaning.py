"""How near hits are to a question by what they mean, where there is an embedder."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence

from context_service.llm.embeddings import Embedder, EmbedderFailed, TextRefused
from context_service.llm.questions import NoVector, QuestionVectors
from context_service.query.fusion import Candidate
from service_runtime.calls import answer_s, remaining_s
from service_runtime.documents import beside_the_loop

_log = logging.getLogger("query")

COMPARED_MAX = 32  # hits: those that are best by words
_SHARE = 0.5  # of the time that a call has left
_BYTES_OF_VECTOR = 16 * 1536  # that its cosine counts as, for `beside_the_loop`


class HitsByMeaning:
    """Compares hits with a question.

    Args:
        questions: Makes the vectors of questions, and leaves an embedder alone that fails.
        embedder: Makes those of hits.
        timeout_s: That they may take.
    """

    def __init__(self, questions: QuestionVectors, embedder: Embedder, *, timeout_s: float) -> None:
        self._questions = questions
        self._embedder = embedder
        self._timeout_s = timeout_s

    async def cosines(self, query: str, candidates: Sequence[Candidate]) -> Mapping[str, float] | None:
        """Return the cosines of the first `COMPARED_MAX`, by ref; None: words decide.

        They begin at 0, of what has nothing to do with the question.

        Args:
            query: The question.
            candidates: The best by words first.
        """
        compared = candidates[:COMPARED_MAX]
        try:
            vector = await self._questions.of(query)
            async with asyncio.timeout(min(self._timeout_s, answer_s(remaining_s()) * _SHARE)):
                made = await self._embedder.embed([f"{one.hit.title}\n{one.hit.snippet}" for one in compared])
        except (NoVector, EmbedderFailed, TextRefused, TimeoutError) as error:
            _log.info("hits are compared by words alone", extra={"error": str(error) or "the embedder was late"})
            return None
        unrelated = self._embedder.unrelated
        found = await beside_the_loop(
            _BYTES_OF_VECTOR * len(made), lambda: [_cosine(vector, one.values, unrelated) for one in made]
        )
        return {one.ref: cosine for one, cosine in zip(compared, found, strict=True)}


def _cosine(unit: Sequence[float], other: Sequence[float], unrelated: float) -> float:
    length = math.hypot(*other)
    if not length or len(unit) != len(other):
        return 0.0
    cosine = math.fsum(map(float.__mul__, unit, other)) / length
    return max((cosine - unrelated) / (1.0 - unrelated), 0.0)
