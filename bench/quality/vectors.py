"""Similarities of a conversation's passages to questions, by the local model: in memory, as `Nearest` does.

Vectors take most of the time of a run, so a folder may keep these: a file for the texts of each conversation.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.quality.in_memory import Index
from context_service.kernel.llm.local import UNRELATED, LocalEmbedder
from context_service.retrieval.store.nearest import Near, near_of

TIMEOUT_S = 60.0

Matrix = Any  # of numpy


def embedded(texts: Sequence[str], folder: Path | None) -> Matrix:
    """Return the vectors of texts, a row each; read them from the folder if they were made before."""
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24]
    path = folder / f"vectors-{name}.npy" if folder else None
    if path and path.exists():
        return np.load(path)
    different = list(dict.fromkeys(texts))
    vectors = asyncio.run(_embedded(different))
    row = {text: number for number, text in enumerate(different)}
    matrix = vectors[[row[text] for text in texts]]
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, matrix)
    return matrix


async def _embedded(texts: Sequence[str]) -> Matrix:
    embedder = LocalEmbedder(processes=1, timeout_s=TIMEOUT_S)
    try:
        return np.array([vector.values for vector in await embedder.embed(texts)], dtype=np.float32)
    finally:
        await embedder.close()


class Similarities:
    """The vectors of a conversation's passages and questions.

    Args:
        index: The passages.
        questions: The texts of all questions.
        folder: Keeps the vectors for a later run; None keeps none.
    """

    def __init__(self, index: Index, questions: Sequence[str], folder: Path | None) -> None:
        self._rows = index.rows
        self._passages = embedded(index.texts, folder)
        vectors = embedded(questions, folder)
        self._questions: Mapping[str, Matrix] = dict(zip(questions, vectors, strict=True))
        places = {(row.session, row.place): number for number, row in enumerate(index.rows) if row.place is not None}
        self._previous = [
            places.get((row.session, row.place - 1)) if row.place is not None else None for row in index.rows
        ]
        self._between = [
            None if previous is None else float(self._passages[number] @ self._passages[previous])
            for number, previous in enumerate(self._previous)
        ]

    def near(self, text: str) -> Near:
        """Return how similar all passages are to a question, and which are nearest."""
        cosines = (self._passages @ self._questions[text]).tolist()
        rows, none = self._rows, (None, None)
        previous_places = [none if at is None else (rows[at].seq, rows[at].ordinal) for at in self._previous]
        return near_of(
            [
                (row.seq, row.ordinal, *previous, between, cosine, True)
                for row, previous, between, cosine in zip(rows, previous_places, self._between, cosines, strict=True)
            ],
            unrelated=UNRELATED,
        )
