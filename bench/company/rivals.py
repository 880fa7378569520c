"""Ways to merge the sources' answers that look at the lists of hits only. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_RRF = 60.0  # the constant of Cormack, Clarke and Buettcher, SIGIR 2009


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A hit in the list of its source."""

    ref: str
    place: int  # from 1
    own_score: float  # the source's
    text: str


Merge = Callable[[Mapping[str, Sequence[Listed]]], list[str]]


def by_raw_scores(lists: Mapping[str, Sequence[Listed]]) -> list[str]:
    """Return the texts of all lists by the sources' own scores, as if they compared."""
    return [one.text for one in sorted(_all(lists), key=lambda one: -one.own_score)]


def by_reciprocal_ranks(lists: Mapping[str, Sequence[Listed]]) -> list[str]:
    """Return the texts of all lists, the best by reciprocal rank fusion first: equal texts add up."""
    scores: dict[str, float] = {}
    for item in _all(lists):
        scores[item.text] = scores.get(item.text, 0.0) + 1.0 / (_RRF + item.place)
    return sorted(scores, key=lambda text: -scores[text])


def alone(source: str) -> Merge:
    """Return a way to merge that shows one source only, in its order."""
    return lambda lists: [one.text for one in sorted(lists.get(source, ()), key=lambda one: one.place)]


def _all(lists: Mapping[str, Sequence[Listed]]) -> list[Listed]:
    return [item for source in sorted(lists) for item in lists[source]]
