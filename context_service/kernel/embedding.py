"""Embeddings: vectors of texts."""

from __future__ import annotations

from dataclasses import dataclass

EMBEDDING_DIMENSION = 1536  # dimension of embeddings by callers and by an endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """A vector of a text, and the model that made it."""

    values: tuple[float, ...]
    model: str = ""
