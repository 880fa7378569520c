"""How much a unit is worth keeping, when not all have room.

Six features of 0 to 1, weighted as the window says: recency, relevance to the goal, causal (later steps speak of the
same things), references (it says where something is), success (how its step ended) and domain (the profile's weight of
its kind). It is asked when something is folded, never between: what stands in a pack stays where it is.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from context_service.packing.pure.units import Unit, names_of
from context_service.retrieval.pure.terms import terms_of
from context_service.usage.pure.endings import NOTHING, Endings

HALF_LIFE_STEPS = 30
_RARE_LEAST = 0.1  # what everything speaks of tells this much
_MENTIONS_FULL = 3  # later steps that speak of it: more count no more
_REFERENCE = re.compile(r"[\w.-]+/[\w./-]+|https?://|#[0-9]+|\b\w+\.\w{1,4}\b|\b[0-9a-f]{7,}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Of the features: they need not add up to 1."""

    recency: float = 0.10
    relevance: float = 0.15
    causal: float = 0.10
    references: float = 0.05
    success: float = 0.05
    domain: float = 0.55


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportanceInputs:
    """What is known when units are chosen.

    Attributes:
        step: How many steps there are.
        goal_terms: Of the goal, each with its share of it: what everything speaks of tells little (`shares_of`).
        mentions: How many steps speak of a name.
        forms: How many units have a form (`units.form_of`).
        endings: How steps ended, as far as somebody said.
        own: What units are worth in the eyes of an installed scorer, which says it alone.
    """

    step: int
    goal_terms: Mapping[str, float]
    mentions: Mapping[str, int]
    forms: Mapping[str, int] = field(default_factory=dict)
    endings: Endings = NOTHING
    own: Mapping[Unit, float] = field(default_factory=dict)


def shares_of(goal: str, units: Iterable[Unit]) -> dict[str, float]:
    """Return the terms of a goal, each with its share of it: the fewer units have it, the more. Together they are 1."""
    terms = set(terms_of(goal))
    texts = [unit.text for unit in units]
    often = Counter(term for text in texts for term in terms.intersection(terms_of(text)))
    rare = {term: math.log((1 + len(texts)) / (1 + often[term])) + _RARE_LEAST for term in terms}
    return {term: one / sum(rare.values()) for term, one in rare.items()}


def importance(unit: Unit, *, step: int, is_error: bool, seen: ImportanceInputs, weights: Weights) -> float:
    """Return how much a unit of a step is worth: more is better, and 1 is most with the weights by default."""
    if (own := seen.own.get(unit)) is not None:
        return own
    mentions = max((seen.mentions.get(name, 1) - 1 for name in names_of(unit.text)), default=0)
    terms = set(terms_of(unit.text)) if seen.goal_terms else set()
    ended = seen.endings.of(step)
    success = (0.0 if is_error else 1.0) if ended is None else ended
    recency: float = 0.5 ** ((seen.step - step) / HALF_LIFE_STEPS)
    return (
        weights.recency * recency
        + weights.relevance * sum(seen.goal_terms[term] for term in terms & seen.goal_terms.keys())
        + weights.causal * min(mentions / _MENTIONS_FULL, 1.0)
        + weights.references * (1.0 if _REFERENCE.search(unit.text) else 0.0)
        + weights.success * success
        + weights.domain * unit.weight
    )
