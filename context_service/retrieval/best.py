"""The best passages of a whole scope for a question: by words, and by meaning where there is an embedder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from context_service.retrieval import asking
from context_service.retrieval.matching import Row
from context_service.retrieval.meaning import Meaning
from context_service.retrieval.passages import Passages, Scope
from context_service.retrieval.profiles import DEFAULT, profile
from context_service.retrieval.ranking import Ranked, ranking
from service_runtime.auth import Principal
from service_runtime.calls import in_slices

_T = TypeVar("_T")

_SEQ_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """What was found, the best first."""

    ranked: Sequence[Ranked]
    by_meaning: bool  # else by words alone
    error: str  # why, where there is an embedder


async def best(
    passages: Passages,
    meaning: Meaning | None,
    scope: Scope,
    text: str,
    *,
    wanted: Callable[[Row], bool],
    limit: int,
    principal: Principal,
) -> Best:
    """Return the passages of a scope that answer a question, or that are near to it by what they mean.

    Args:
        passages: Where they are.
        meaning: Compares texts by what they mean; None: words are all.
        scope: Where to look.
        text: The question.
        wanted: Whether a passage may be answered.
        limit: Passages.
        principal: Who asks.
    """
    vector, error = await meaning.vector(text, principal) if meaning else (None, "")
    question, matching = await asking.asked(passages, principal, scope, text)
    near = None
    if vector and meaning:
        near, matching = await meaning.near(
            vector,
            question,
            matching,
            passages=passages,
            scope=scope,
            principal=principal,
            places=[(row.seq, row.ordinal) for row in matching.rows if row.found],
            seq_from=0,
            seq_to=_SEQ_MAX,
        )
    nearest = near.nearest if near else frozenset()
    found = await in_slices(
        ranking(
            question,
            matching,
            profile(DEFAULT),
            cosines=near.cosines if near else None,
            wanted=lambda row: (bool(row.found) or (row.seq, row.ordinal) in nearest) and wanted(row),
            limit=limit,
            with_features=False,
        )
    )
    return Best(ranked=found, by_meaning=near is not None, error=error)


def few_of_each(found: Iterable[_T], owner: Callable[[_T], int], *, each_max: int) -> list[_T]:
    """Return what was found, in its order, `each_max` of each owner: one that says much does not crowd out others."""
    taken: list[_T] = []
    of_owner: Counter[int] = Counter()
    for one in found:
        of_owner[owner(one)] += 1
        if of_owner[owner(one)] <= each_max:
            taken.append(one)
    return taken
