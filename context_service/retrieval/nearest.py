"""The passages of a scope beside the vector of a question: all are compared, exactly.

What is said is compared alone, and together with what was said before it. Of the two only the angle between them was
kept, when they were made: that of both with the question follows from those of each.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pgvector import HalfVector

from context_service.retrieval.passage_vectors import BESIDE
from context_service.retrieval.passages import Scope
from service_runtime.auth import Principal
from service_runtime.postgres import Database

NEAREST_MAX = 50  # passages that are candidates by their vectors alone

Place = tuple[int, int]  # `seq` and `ordinal`

# All that a scope has is compared once; of it, those are told that are asked for, that are the nearest, and that were
# said right behind these. A vector of another size is none to compare with.
_COSINES = f"""
WITH scan AS MATERIALIZED (
    SELECT v.seq, v.ordinal, v.previous_seq, v.previous_ordinal, v.previous_cosine,
        -(v.vector OPERATOR(public.<#>) %(vector)s::public.halfvec) AS cosine
    FROM context.passage_vector v
    WHERE v.tenant_id = %(tenant_id)s AND v.scope_id = %(scope_id)s AND v.scope_kind = %(scope_kind)s
        AND v.model = %(model)s AND public.vector_dims(v.vector) = %(dimension)s
), near AS MATERIALIZED (
    SELECT seq, ordinal FROM scan
    WHERE seq BETWEEN %(seq_from)s AND %(seq_to)s
    ORDER BY cosine DESC, seq, ordinal
    LIMIT %(count)s
), wanted AS MATERIALIZED (
    SELECT s.seq, s.ordinal, s.previous_seq, s.previous_ordinal, s.previous_cosine, s.cosine
    FROM scan s
    WHERE %(whole)s OR (s.seq, s.ordinal) IN (SELECT seq, ordinal FROM near)
        OR (s.previous_seq, s.previous_ordinal) IN (SELECT seq, ordinal FROM near)
        OR (s.seq, s.ordinal) IN (SELECT a.seq, a.ordinal FROM unnest(
            %(seqs)s::bigint[], %(ordinals)s::integer[]) a (seq, ordinal))
)
SELECT w.seq, w.ordinal, w.cosine,
    coalesce((w.cosine + {BESIDE} * p.cosine) / sqrt(1 + {BESIDE} ^ 2 + 2 * {BESIDE} * w.previous_cosine), w.cosine)
FROM wanted w
    LEFT JOIN scan p ON p.seq = w.previous_seq AND p.ordinal = w.previous_ordinal
"""  # noqa: S608 - a constant


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """How near passages are to a question."""

    cosines: Mapping[Place, tuple[float, float]]  # alone, and with what was said before
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
            "tenant_id": principal.tenant_id,
            "scope_id": scope.id,
            "scope_kind": scope.kind,
            "model": self._model,
            "dimension": len(vector),
            "vector": HalfVector(list(vector)).to_text(),
            "whole": whole,
            "seqs": [seq for seq, _ in places],
            "ordinals": [ordinal for _, ordinal in places],
            "seq_from": seq_from,
            "seq_to": seq_to,
            "count": NEAREST_MAX,
        }
        rows = await tenant.query(_COSINES, parameters, named=False, ad_hoc=True)
        cosines = {(seq, ordinal): (of_one, of_both) for seq, ordinal, of_one, of_both in rows}
        nearest: set[Place] = set()
        for which in (0, 1):
            meant = [
                (of[which], place)
                for place, of in cosines.items()
                if of[which] > self._unrelated and seq_from <= place[0] <= seq_to
            ]
            nearest.update(place for _, place in heapq.nlargest(NEAREST_MAX // 2, meant))
        return Near(cosines=cosines, nearest=frozenset(nearest))
