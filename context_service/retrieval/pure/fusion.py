"""Merges several rankings of the same items into one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

# Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning methods",
# SIGIR 2009: the sum over the orders of 1 / (k + place), with k = 60.
FUSION_K = 60


def reciprocal_ranks(*orders: Sequence[UUID]) -> dict[UUID, float]:
    """Return the items of several rankings with their sums of reciprocal ranks, best first.

    Args:
        orders: Rankings, each best first and without repetitions. Between equal sums, the earlier ranking's order
            decides.
    """
    scores: dict[UUID, float] = {}
    for order in orders:
        for place, thing in enumerate(order, 1):
            scores[thing] = scores.get(thing, 0.0) + 1 / (FUSION_K + place)
    return dict(sorted(scores.items(), key=lambda scored: -scored[1]))
