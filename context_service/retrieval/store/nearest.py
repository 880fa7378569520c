"""Exact comparison of the passages of a scope with the vector of a question.

A passage is compared alone, and together with the passage before it. Only the angle between the two vectors is stored;
the cosine of both together with the question follows from the cosines of each.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pgvector import HalfVector

from context_service.retrieval.model import Scope
from context_service.retrieval.store.passage_vectors import BESIDE
from service_runtime.auth import Principal
from service_runtime.postgres import Database
from service_runtime.sql_files import SqlFile

NEAREST_MAX = 50  # passages that are candidates by their vectors alone

Place = tuple[int, int]  # `seq` and `ordinal`

SQL = SqlFile.of(__file__)
_WHOLE = SQL["whole"]
_COSINES = SQL["cosines"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """How near passages are to a question."""

    cosines: Mapping[Place, tuple[float, float]]  # alone, and with the passage before it
    nearest: frozenset[Place]  # those that are answers for that alone


class Nearest:
    """Compares questions with vectors of one model.

    Args:
        database: Where they are.
        model: That made them.
        unrelated: A passage with no greater cosine is no answer for its vector alone.
    """

    def __init__(self, database: Database, *, model: str, unrelated: float) -> None:
        self._database = database
        self._model = model
        self._unrelated = unrelated

    async def to(
        self,
        vector: Sequence[float],
        *,
        principal: Principal,
        scope: Scope,
        whole: bool,
        places: Collection[Place],
        seq_from: int,
        seq_to: int,
    ) -> Near:
        """Return how near the passages of a scope are that the principal sees.

        Args:
            vector: The question's, of unit length.
            principal: Who asks.
            scope: Where.
            whole: Tell it of all of them.
            places: Else of these, and of the nearest.
            seq_from: Of the nearest.
            seq_to: Of the nearest.
        """
        tenant = self._database.of(principal, context_id=scope.context_id)
        parameters = {
            "scope_id": scope.id,
            "scope_kind": scope.kind,
            "model": self._model,
            "dimension": len(vector),
            "vector": HalfVector(list(vector)).to_text(),
            "seqs": [seq for seq, _ in places],
            "ordinals": [ordinal for _, ordinal in places],
            "seq_from": seq_from,
            "seq_to": seq_to,
            "count": NEAREST_MAX,
        }
        rows = await tenant.query(_WHOLE if whole else _COSINES, parameters, named=False, ad_hoc=True)
        alone = {(row[0], row[1]): row[5] for row in rows}
        cosines = {
            (seq, ordinal): (cosine, _together(cosine, alone.get((previous_seq, previous_ordinal)), between))
            for seq, ordinal, previous_seq, previous_ordinal, between, cosine, is_asked in rows
            if is_asked
        }
        nearest: set[Place] = set()
        for which in (0, 1):
            meant = [
                (of[which], place)
                for place, of in cosines.items()
                if of[which] > self._unrelated and seq_from <= place[0] <= seq_to
            ]
            nearest.update(place for _, place in heapq.nlargest(NEAREST_MAX // 2, meant))
        return Near(cosines=cosines, nearest=frozenset(nearest))


def _together(cosine: float, previous: float | None, between: float | None) -> float:
    """Return the cosine of a passage together with the one before it, of unit lengths.

    Args:
        cosine: Of the passage with the question.
        previous: Of the one before, or None.
        between: Of the two.
    """
    if previous is None or between is None:
        return cosine
    return (cosine + BESIDE * previous) / math.sqrt(1 + BESIDE**2 + 2 * BESIDE * between)
