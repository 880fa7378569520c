"""Reranking: a model orders the best results of a search again, by reading each together with the question.

The interface of rerankers, and the order that their scores give; independent of the model's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

RERANKED_MAX = 50  # results of a search that are ordered again
TEXT_CHARS = 2_000  # characters of each text that a reranker reads; most models read 512 tokens of it

_T = TypeVar("_T")


class RerankerFailed(Exception):
    """No scores came; the message says why, and any caller may read it."""


class Reranker(Protocol):
    """The interface of rerankers."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers a query, in the order of the texts; higher is better.

        Raises:
            RerankerFailed: no valid answer came within its timeout and the deadline of the call under way.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranking:
    """Whether a reranker ordered results."""

    is_done: bool = False
    error: str = ""  # why it did not, although one is configured


def in_order_of(items: Sequence[_T], scores: Sequence[float | None]) -> list[_T]:
    """Return items with the highest score first; those without a score keep their places.

    Items with equal scores stay in their order.
    """
    scored = [(score, item) for item, score in zip(items, scores, strict=True) if score is not None]
    best_first = iter(sorted(scored, key=lambda pair: -pair[0]))
    return [item if score is None else next(best_first)[1] for item, score in zip(items, scores, strict=True)]
