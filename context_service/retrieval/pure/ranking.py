"""Ranking of the passages of a scope for a question, by the weights that a profile gives to features."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Mapping
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

from context_service.kernel.courtesies import asks_nothing
from context_service.retrieval.profiles import Profile
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.calibration import Evidence, probabilities
from context_service.retrieval.pure.features import Candidates, feature
from context_service.retrieval.pure.rows import Matching, Row

RANKED_MAX = 100

_T = TypeVar("_T")


class Ranked(NamedTuple):
    """A candidate with its score, and the features that explain it."""

    row: Row
    score: float  # the probability that it answers the question; it falls from passage to passage
    features: Mapping[str, float]  # by the name of a feature: its share of the sum; empty unless requested
    cosine: float | None = None  # cosine similarity to the question; None if either has no embedding


def ranking(
    question: AnalyzedQuery,
    matching: Matching,
    profile: Profile,
    *,
    cosines: Mapping[tuple[int, int], tuple[float, float]] | None = None,
    wanted: Callable[[Row], bool] | None = None,
    limit: int = RANKED_MAX,
    with_features: bool = True,
) -> Generator[None, None, list[Ranked]]:
    """Rank the candidates, and return the best in short steps (`calls.in_slices`). Of equal ones, the oldest is first.

    Candidates are rows that have a term of the query, that follow such a row, or whose vector is near. Those with a
    rare identifier of the query come first. Otherwise, the sum of their weighted features orders them; their scores are
    calibrated (`pure.calibration`). If the query asks for nothing, such as "Thanks, that's all", all scores are 0.

    Args:
        question: The analyzed query. Rows refer to its terms by their indexes.
        matching: The rows to rank, in any order, and the totals of the scope.
        profile: The weights of the features.
        cosines: Similarity to the query by `seq` and `ordinal`: of the passage, and of it together with the one
            before. Passages without an entry count as the farthest. None to rank by words alone.
        wanted: Says whether a candidate may be returned; others only influence the scores. None returns all.
        limit: The largest number of candidates to return.
        with_features: Also return the share of each feature in the sums.
    """
    weights = profile.words if cosines is None else profile.with_meaning
    candidates = yield from Candidates.read(question, matching, cosines or {})
    rows, columns = candidates.rows, {}
    for name in weights:
        columns[name] = yield from feature(name, candidates)
    sums = [0.0] * len(rows)
    for name, weight in weights.items():
        if any(columns[name]):
            sums = [value + weight * share for value, share in zip(sums, columns[name], strict=True)]
    # Sessions may overlap, so candidates are not in the order of their times.
    best = heapq.nsmallest(
        limit,
        [
            (-identifiers, -value, row.seq, row.ordinal, number)
            for number, (identifiers, value, row) in enumerate(zip(candidates.identified, sums, rows, strict=True))
            if wanted is None or wanted(row)
        ],
    )
    if asks_nothing(question.text):
        scores = [0.0] * len(best)
    else:
        calibration = profile.words_calibration if cosines is None else profile.meaning_calibration
        # A passage with an identifier of the question is as probable as any that it comes before.
        falling = [*accumulate((-value for _, value, *_ in reversed(best)), max)][::-1]
        scores = probabilities(calibration, Evidence.of(candidates), falling)
    return [
        Ranked(
            row=rows[number],
            score=score,
            features={name: weight * columns[name][number] for name, weight in weights.items()}
            if with_features
            else {},
            cosine=(cosines or {}).get((rows[number].seq, rows[number].ordinal), (None,))[0],
        )
        for (*_, number), score in zip(best, scores, strict=True)
    ]


def ranked(question: AnalyzedQuery, matching: Matching, profile: Profile, **options: Any) -> list[Ranked]:
    """Return the result of `ranking` without pauses, for callers that are not on an event loop."""
    return at_once(ranking(question, matching, profile, **options))


def at_once(steps: Generator[None, None, _T]) -> _T:
    """Return the result of a generator without pauses, for callers that are not on an event loop."""
    try:
        while True:
            next(steps)
    except StopIteration as done:
        result: _T = done.value
        return result
