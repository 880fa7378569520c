"""What of a scope answers a question best: a profile says how much each feature of a candidate counts."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple, TypeVar

from context_service.retrieval.profiles import Profile
from context_service.retrieval.pure.analyzed_query import AnalyzedQuery
from context_service.retrieval.pure.features import Candidates, feature
from context_service.retrieval.pure.rows import Matching, Row

RANKED_MAX = 100

_T = TypeVar("_T")


class Ranked(NamedTuple):
    """A candidate and why it is where it is."""

    row: Row
    score: float
    features: Mapping[str, float]  # their shares of the score; empty if nobody asked for them
    cosine: float | None = None  # of its vector with the question's; None: one of them there is not


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
    """Return the best candidates, the best first, in steps (`calls.in_slices`). Of equal ones the first said is first.

    What has no term of the question, and was not said right after what has, is none, unless it is near by its vector.

    Args:
        question: What is asked. The rows tell by the numbers of its terms which they have.
        matching: The rows, in any order, and what the scope is.
        profile: What counts how much.
        cosines: Of the question's vector, by `seq` and `ordinal`: with that of the passage, and of it with what was
            said before it. Passages without one count as the farthest. None: words decide.
        wanted: Which candidates are returned; the others count for the scores of these. None: any.
        limit: Candidates to return.
        with_features: Whether the shares of their scores are, too.
    """
    weights = profile.words if cosines is None else profile.with_meaning
    candidates = yield from Candidates.read(question, matching, cosines or {})
    rows, columns = candidates.rows, {}
    for name in weights:
        columns[name] = yield from feature(name, candidates)
    scores = [0.0] * len(rows)
    for name, weight in weights.items():
        if any(columns[name]):
            scores = [score + weight * value for score, value in zip(scores, columns[name], strict=True)]
    # Sessions may overlap, so candidates are not in the order in which they were said.
    best = heapq.nsmallest(
        limit,
        [
            (-score, row.seq, row.ordinal, number)
            for number, (score, row) in enumerate(zip(scores, rows, strict=True))
            if wanted is None or wanted(row)
        ],
    )
    return [
        Ranked(
            row=rows[number],
            score=scores[number],
            features={name: weight * columns[name][number] for name, weight in weights.items()}
            if with_features
            else {},
            cosine=(cosines or {}).get((rows[number].seq, rows[number].ordinal), (None,))[0],
        )
        for _, _, _, number in best
    ]


def ranked(question: AnalyzedQuery, matching: Matching, profile: Profile, **options: Any) -> list[Ranked]:
    """Return what `ranking` returns, at once: for callers that are on no event loop."""
    return at_once(ranking(question, matching, profile, **options))


def at_once(steps: Generator[None, None, _T]) -> _T:
    """Return what a generator returns, without a pause: for callers that are on no event loop."""
    try:
        while True:
            next(steps)
    except StopIteration as done:
        result: _T = done.value
        return result
