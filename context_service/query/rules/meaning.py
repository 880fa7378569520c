"""Similarity of hits to a query by embeddings, where there is an embedder.

Passages of this service have vectors already, and their providers have compared them. Of the other hits, only a few,
the best by words, are embedded, because each takes long; the vectors are cached for a while.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Mapping, Sequence
from uuid import UUID

from context_service.kernel.llm.embeddings import Embedder, EmbedderFailed, TextRefused
from context_service.kernel.llm.known_vectors import KnownVectors
from context_service.kernel.llm.questions import NoVector, QuestionVectors
from context_service.query.pure.fusion import Candidate
from service_runtime.inputs.documents import beside_the_loop
from service_runtime.rpc.calls import answer_s, remaining_s

_log = logging.getLogger("query")

# The most hits without a vector that are compared. Hits whose vectors are cached count, too, so that the result does
# not depend on the cache.
EMBEDDED_MAX = 8
_SHARE = 0.5  # the share of a call's remaining time in which the embedder must answer
_BYTES_OF_VECTOR = 16 * 1536  # computing a cosine takes as long as parsing this many bytes (for `beside_the_loop`)


class HitsByMeaning:
    """Compares hits with a question by embeddings.

    Args:
        questions: Embeds questions, and pauses if the embedder fails.
        embedder: Embeds the texts of hits.
        known: The cache of vectors that were made lately.
        timeout_s: The longest time that embedding hits may take, in seconds.
    """

    def __init__(
        self, questions: QuestionVectors, embedder: Embedder, known: KnownVectors, *, timeout_s: float
    ) -> None:
        self._questions = questions
        self._embedder = embedder
        self._known = known
        self._timeout_s = timeout_s

    async def cosines(
        self, query: str, candidates: Sequence[Candidate], *, tenant_id: UUID
    ) -> tuple[Mapping[str, float] | None, str]:
        """Return the similarity of hits to a query, by ref; None and the reason if only words can be compared.

        Hits that have a similarity already keep it, and the first `EMBEDDED_MAX` others are embedded. Similarities are
        scaled: 0 is that of an unrelated text.

        Args:
            query: The text of the question.
            candidates: The hits, best by words first.
            tenant_id: The tenant whose cache of vectors is used.
        """
        compared = [candidate for candidate in candidates if candidate.cosine is None][:EMBEDDED_MAX]
        cosine_by_ref = {candidate.ref: candidate.cosine for candidate in candidates if candidate.cosine is not None}
        try:
            if compared:
                vector = await self._questions.of(query, tenant_id=tenant_id)
                vectors_of_hits = await self._vectors(
                    [f"{candidate.hit.title}\n{candidate.hit.snippet}" for candidate in compared], tenant_id
                )
                cosines = await beside_the_loop(
                    _BYTES_OF_VECTOR * len(vectors_of_hits),
                    lambda: [_cosine(vector, other) for other in vectors_of_hits],
                )
                cosine_by_ref |= {candidate.ref: cosine for candidate, cosine in zip(compared, cosines, strict=True)}
        except (NoVector, EmbedderFailed, TextRefused, TimeoutError) as error:
            # The text of the error is not logged, because it may repeat the text that the embedder refused.
            _log.info("hits compared by words only", extra={"error": type(error).__name__})
            return None, _reason(error)
        unrelated = self._embedder.unrelated
        scaled = {ref: max((cosine - unrelated) / (1.0 - unrelated), 0.0) for ref, cosine in cosine_by_ref.items()}
        return scaled, ""

    async def _vectors(self, texts: Sequence[str], tenant_id: UUID) -> list[Sequence[float]]:
        """Return the vectors of texts, in the order of the texts."""
        vectors = {text: known for text in texts if (known := self._known.get(tenant_id, text)) is not None}
        lacking = list(dict.fromkeys(text for text in texts if text not in vectors))
        if lacking:
            async with asyncio.timeout(min(self._timeout_s, answer_s(remaining_s()) * _SHARE)):
                vectors_of_hits = await self._embedder.embed(lacking)
            for text, vector in zip(lacking, vectors_of_hits, strict=True):
                vectors[text] = self._known.put(tenant_id, text, vector.values)
        return [vectors[text] for text in texts]


def _reason(error: Exception) -> str:
    """Return why hits have no vectors, without their texts, which are of several sources."""
    match error:
        case TextRefused():
            return error.message
        case TimeoutError():
            return "the embedder did not answer in time"
        case _:
            return str(error)


def _cosine(unit: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(map(float.__mul__, unit, other)) if len(unit) == len(other) else 0.0
