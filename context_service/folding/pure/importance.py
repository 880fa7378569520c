"""The importance of a unit (a line of a step), for choosing which units a summary keeps.

It is the weighted sum of six features, each from 0 to 1: recency; relevance to the goal; causality (other steps mention
the same things); references (the unit says where something is); success (how its step ended); and domain (the weight
that the profile gives to its kind). It is computed only during a fold (one compaction of a window), so that the text of
a pack does not change between folds.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from context_service.packing.pure.texts.units import Unit, form_of, names_of
from context_service.retrieval.pure.terms import terms_of
from context_service.usage.pure.endings import NOTHING, Endings

HALF_LIFE_STEPS = 30
WISH_WEIGHT = 1.0  # the weight of a caller's instructions; it is as large as all features together
_RARE_LEAST = 0.1  # added to the weight of each term, so that a term in every unit still counts
_LINES_MAX = 8_192  # lines of some windows, whose names and forms a process remembers; each has 240 characters at most
_MENTIONS_FULL = 3  # a name that this many other steps mention has the full feature
_REFERENCE = re.compile(r"[\w.-]+/[\w./-]+|https?://|#[0-9]+|\b\w+\.\w{1,4}\b|\b[0-9a-f]{7,}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The weights of the features of importance; they need not add up to 1."""

    recency: float = 0.10
    relevance: float = 0.15
    causal: float = 0.10
    references: float = 0.05
    success: float = 0.05
    domain: float = 0.55


@lru_cache(maxsize=_LINES_MAX)
def names_of_line(line: str) -> frozenset[str]:
    """Return the names in a line of a summary; a line stays in a window over many folds, and is searched once."""
    return frozenset(names_of(line))


@lru_cache(maxsize=_LINES_MAX)
def form_of_line(line: str) -> str:
    """Return the form of a line of a summary (`units.form_of`), which is also computed once."""
    return form_of(line)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportanceInputs:
    """The facts about a window from which the importance of its units is computed.

    Attributes:
        step: The number of the newest step.
        goal_terms: The terms of the goal, each with its share. Terms that most units have get small shares
            (`shares_of`).
        wish_terms: The terms of a caller's instructions for this fold, each with its share, without terms that no unit
            has.
        mentions: For each name, the number of steps that mention it.
        forms: For each form (`units.form_of`), the number of units that have it.
        endings: The recorded outcomes of steps.
        own: The importance that an installed scorer gave to units. It replaces the computed importance.
    """

    step: int
    goal_terms: Mapping[str, float]
    mentions: Mapping[str, int]
    forms: Mapping[str, int] = field(default_factory=dict)
    wish_terms: Mapping[str, float] = field(default_factory=dict)
    endings: Endings = NOTHING
    own: Mapping[Unit, float] = field(default_factory=dict)


def shares_of(goal: str, units: Iterable[Unit], *, are_known: bool = False) -> dict[str, float]:
    """Return the terms of a goal, each with its share. The shares add up to 1.

    The fewer units have a term, the larger is its share.

    Args:
        goal: The text of the goal.
        units: The units from which a fold chooses.
        are_known: Leave out terms that no unit has.
    """
    terms = set(terms_of(goal))
    texts = [unit.text for unit in units] if terms else []
    often = Counter(term for text in texts for term in terms.intersection(terms_of(text)))
    if are_known:
        terms &= often.keys()
    rare = {term: math.log((1 + len(texts)) / (1 + often[term])) + _RARE_LEAST for term in terms}
    return {term: weight / sum(rare.values()) for term, weight in rare.items()}


def importance(unit: Unit, *, step: int, is_error: bool, inputs: ImportanceInputs, weights: Weights) -> float:
    """Return the importance of a unit. It is at most 1 with the default weights and without a caller's instructions.

    Args:
        unit: The unit.
        step: The number of the unit's step.
        is_error: A tool call of the step failed. This counts only if no outcome was recorded for the step.
        inputs: The facts about the window.
        weights: The weights of the features.
    """
    if (own := inputs.own.get(unit)) is not None:
        return own
    mentions = max((inputs.mentions.get(name, 1) - 1 for name in names_of_line(unit.text)), default=0)
    terms = set(terms_of(unit.text)) if inputs.goal_terms or inputs.wish_terms else set()
    ended = inputs.endings.of(step)
    success = (0.0 if is_error else 1.0) if ended is None else ended
    recency: float = 0.5 ** ((inputs.step - step) / HALF_LIFE_STEPS)
    return (
        weights.recency * recency
        + weights.relevance * sum(inputs.goal_terms[term] for term in terms & inputs.goal_terms.keys())
        + WISH_WEIGHT * sum(inputs.wish_terms[term] for term in terms & inputs.wish_terms.keys())
        + weights.causal * min(mentions / _MENTIONS_FULL, 1.0)
        + weights.references * (1.0 if _REFERENCE.search(unit.text) else 0.0)
        + weights.success * success
        + weights.domain * unit.weight
    )
