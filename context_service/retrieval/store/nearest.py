"""Exact comparison of the passages of a scope with the vector of a question.

A passage is compared alone, and together with the passage before it. Only the angle between the two vectors is stored;
the cosine of both together with the question follows from the cosines of each.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pgvector import HalfVector

from context_service.retrieval.model import PassageScope
from context_service.retrieval.store.passage_vectors import BESIDE
from service_runtime.postgres import Database
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile

NEAREST_MAX = 50  # the most passages that become candidates by their vectors alone

Place = tuple[int, int]  # `seq` and `ordinal`

SQL = SqlFile.of(__file__)
_WHOLE = SQL["whole"]
_COSINES = SQL["cosines"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """How similar passages are to a query, and which are nearest."""

    cosines: Mapping[Place, tuple[float, float]]  # similarity of the passage alone, and with the passage before it
    nearest: frozenset[Place]  # the passages that are returned for their similarity alone, without a common word


class Nearest:
    """Compares queries with the stored vectors of one model.

    Args:
        database: The database that holds the vectors.
        model: The name of the model that made the vectors.
        unrelated: The similarity of unrelated texts. A passage must have more to be found by its vector alone.
    """

    def __init__(self, database: Database, *, model: str, unrelated: float) -> None:
        self._database = database
        self.model = model
        self.unrelated = unrelated

    async def to(
        self,
        vector: Sequence[float],
        *,
        principal: Principal,
        scope: PassageScope,
        whole: bool,
        places: Collection[Place],
        seq_from: int,
        seq_to: int,
    ) -> Near:
        """Return how similar a scope's passages are to a query, as far as the principal sees them.

        Args:
            vector: The vector of the query, of unit length.
            principal: The caller; only passages that it may see are compared.
            scope: The scope to search.
            whole: Compare all passages of the scope.
            places: If not `whole`, compare the passages at these places, and the nearest ones.
            seq_from: The first `seq` of the range in which the nearest are looked for.
            seq_to: The last `seq` of that range.
        """
        tenant = self._database.of(principal, context_id=scope.context_id)
        parameters = {
            "scope_id": scope.id,
            "scope_kind": scope.kind,
            "model": self.model,
            "dimension": len(vector),
            "vector": HalfVector(list(vector)).to_text(),
            "seqs": [seq for seq, _ in places],
            "ordinals": [ordinal for _, ordinal in places],
            "seq_from": seq_from,
            "seq_to": seq_to,
            "count": NEAREST_MAX,
        }
        rows = await tenant.query(_WHOLE if whole else _COSINES, parameters, named=False, ad_hoc=True)
        return near_of(rows, unrelated=self.unrelated, seq_from=seq_from, seq_to=seq_to)


def near_of(
    rows: Sequence[Sequence[Any]], *, unrelated: float, seq_from: int = -(2**63), seq_to: int = 2**63 - 1
) -> Near:
    """Return how similar passages are to a query, from rows of the statements of `nearest.sql`.

    Args:
        rows: Each with `seq`, `ordinal`, those of the passage before it, the cosine of the two, the cosine with the
            query, and whether the passage is compared itself, not only with the one after it.
        unrelated: The similarity of unrelated texts.
        seq_from: The first `seq` of the range in which the nearest are looked for.
        seq_to: The last `seq` of that range.
    """
    alone = {(row[0], row[1]): row[5] for row in rows}
    cosines = {
        (seq, ordinal): (cosine, _together(cosine, alone.get((previous_seq, previous_ordinal)), between))
        for seq, ordinal, previous_seq, previous_ordinal, between, cosine, is_asked in rows
        if is_asked
    }
    nearest: set[Place] = set()
    for which in (0, 1):  # the nearest passages alone, and the nearest ones with the passage before them
        meant = [
            (of[which], place)
            for place, of in cosines.items()
            if of[which] > unrelated and seq_from <= place[0] <= seq_to
        ]
        nearest.update(place for _, place in heapq.nlargest(NEAREST_MAX // 2, meant))
    return Near(cosines=cosines, nearest=frozenset(nearest))


def _together(cosine: float, previous: float | None, between: float | None) -> float:
    """Return the similarity of the query to a passage joined with the one before it, from unit vectors.

    Args:
        cosine: The similarity of the query to the passage.
        previous: The similarity of the query to the passage before, or None if there is none.
        between: The similarity of the two passages, or None if there is none.
    """
    if previous is None or between is None:
        return cosine
    return (cosine + BESIDE * previous) / math.sqrt(1 + BESIDE**2 + 2 * BESIDE * between)
