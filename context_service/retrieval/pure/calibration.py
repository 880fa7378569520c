"""Calibrated scores: how probable it is that a ranked passage answers the question.

The sum of weighted features orders the passages of one question, but means nothing outside of it, because most features
are scaled to the scope. Here a logistic model turns it into a probability. The model adds what can be compared between
questions: how much of the question the best passage covers by its words or its vector, how rare these words are, and
how large the scope is. These are equal for the passages of one question, and the two that differ, the sum and the
place, fall from passage to passage. So the probability never changes the order.

The parameters are part of each profile. They were fitted on questions with and without an answer (docs/benchmarks.md).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from context_service.retrieval.pure.features import RELATED, UNRELATED, Candidates

# The parameters of the model, as a profile names them.
PARAMETERS = BIAS, SUM, PLACE, COVERAGE, INFORMATION, SIZE = "bias", "sum", "place", "coverage", "information", "size"
FALLING = (SUM, PLACE)  # these must not be negative, or a passage would have a higher score than the one before it

SIZE_MAX = 2.5  # the logarithm of 316 passages: from there on, the size does not matter
_LOGIT_MAX = 30.0  # beyond it, a probability is 0 or 1 in its first 12 digits


class Thresholds(NamedTuple):
    """Defaults of a recall whose caller names no score; docs/benchmarks.md says what these cost and save."""

    nothing_below: float  # if even the best passage is less probable, nothing was said of the question
    only_best_below: float  # if the best passage is less probable, it is doubtful, and only it is worth its tokens
    each_min: float = 0.005


# Meaning tells better than words whether anything was said of a question. A passage that is found by its meaning alone
# never scores high, so less is needed to return it.
BY_WORDS, BY_MEANING = Thresholds(0.12, 0.17), Thresholds(0.1, 0.28)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How much a scope says of a question as a whole."""

    # The largest share of the question in a passage together with the one before it, or what the largest similarity
    # stands for if that is more: 0 to 1.
    coverage: float
    information: float  # how many rare words the best passage shares with the question, in words that one passage has
    size: float  # the number of passages, as a decimal logarithm, up to `SIZE_MAX`

    @classmethod
    def of(cls, candidates: Candidates) -> Evidence:
        """Return the evidence of a question's candidates."""
        most = math.log(max(candidates.passages, 2))
        alone = max(candidates.covered(candidates.counts), default=0.0)
        nearest = max([cosine for cosine, _ in candidates.cosines.values()], default=0.0)
        return cls(
            coverage=max(*candidates.covered_previous, min((nearest - UNRELATED) / (RELATED - UNRELATED), 1.0), 0.0),
            information=alone * sum(candidates.idf.values()) / most,
            size=min(math.log10(candidates.passages), SIZE_MAX),
        )


def probabilities(parameters: Mapping[str, float], evidence: Evidence, sums: Sequence[float]) -> list[float]:
    """Return for each passage the probability that it answers the question.

    Args:
        parameters: The parameters of the profile, by their names.
        evidence: What the scope says of the question.
        sums: The weighted features of the passages, the largest first.
    """
    same = (
        parameters[BIAS]
        + parameters[COVERAGE] * evidence.coverage
        + parameters[INFORMATION] * evidence.information
        + parameters[SIZE] * evidence.size
    )
    return [
        _logistic(same + parameters[SUM] * value - parameters[PLACE] * math.log(place))
        for place, value in enumerate(sums, 1)
    ]


def relevant_count(scores: Sequence[float], score_min: float | None, *, by_meaning: bool) -> int:
    """Return how many of the first passages are relevant.

    Args:
        scores: The probabilities of the passages, the largest first.
        score_min: The least probability that the caller wants. None takes the defaults: nothing if even the best
            passage is improbable, the best one alone if it is doubtful, and else those that may be relevant at all.
        by_meaning: Whether vectors were compared, too.
    """
    if score_min is None:
        defaults = BY_MEANING if by_meaning else BY_WORDS
        if not scores or scores[0] < defaults.nothing_below:
            return 0
        if scores[0] < defaults.only_best_below:
            return 1
        score_min = defaults.each_min
    return sum(score >= score_min for score in scores)


def _logistic(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-_LOGIT_MAX, min(logit, _LOGIT_MAX))))
