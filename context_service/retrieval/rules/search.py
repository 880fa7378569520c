"""The way from a question to the best passages of a scope, for everything that is searched by passages.

Ask for the vector and the terms of the question, read the rows that match, compare vectors where there is an embedder,
rank. Callers choose the profile, a filter, and which places near a match count as an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from context_service.retrieval.model import PassageScope
from context_service.retrieval.profiles import CONVERSATION, DEFAULT, profile
from context_service.retrieval.pure.features import is_rule, question_place
from context_service.retrieval.pure.marks import QUESTION
from context_service.retrieval.pure.ranking import Ranked, ranking
from context_service.retrieval.pure.rows import Row
from context_service.retrieval.rules import candidates
from context_service.retrieval.rules.meaning import Meaning
from context_service.retrieval.store.nearest import Place
from context_service.retrieval.store.passages import Passages
from service_runtime.rpc.calls import in_slices
from service_runtime.rpc.principal import Principal

_T = TypeVar("_T")

_SEQ_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """The ranked passages, best first, and whether embeddings were compared."""

    ranked: Sequence[Ranked]
    by_meaning: bool  # whether embeddings were compared; if not, the passages are ranked by words alone
    error: str  # why they were not compared, although an embedder is configured; else empty


async def best(
    passages: Passages,
    meaning: Meaning | None,
    scope: PassageScope,
    text: str,
    *,
    wanted: Callable[[Row], bool],
    limit: int,
    principal: Principal,
    profile_name: str = DEFAULT,
    with_features: bool = False,
    with_replies: bool = False,
    always: Collection[Place] = (),
    seq_from: int = 0,
    seq_to: int = _SEQ_MAX,
) -> Best:
    """Return the passages of a scope that answer a question, by words and by embeddings.

    Args:
        passages: The store of passages.
        meaning: Compares texts by embeddings. None to search by words alone.
        scope: The scope to search.
        text: The question, in words.
        wanted: Says whether a passage may be returned.
        limit: The largest number of passages to return.
        principal: The caller; only passages that it may see are returned.
        profile_name: The name of the ranking profile; empty chooses one by who speaks (`chosen_profile`).
        with_features: Also return the share of each feature in the scores.
        with_replies: Also return passages without a word of the query that may answer it, as in `_answers`.
        always: Places of passages that are ranked and returned even if they are neither found nor `wanted`.
        seq_from: The first `seq` of the range in which near passages are looked for.
        seq_to: The last `seq` of that range.
    """
    vector, error = await meaning.vector(text, principal) if meaning else (None, "")
    question, matching = await candidates.query_and_rows(passages, principal, scope, text)
    near, answers = None, _answers(matching.rows) if with_replies else set()
    if vector and meaning:
        near, matching = await meaning.near(
            vector,
            question,
            matching,
            passages=passages,
            scope=scope,
            principal=principal,
            places=[
                (row.seq, row.ordinal) for row in matching.rows if row.found or (row.session, row.place) in answers
            ],
            seq_from=seq_from,
            seq_to=seq_to,
        )
        answers = _answers(matching.rows) if with_replies else set()
    nearest = near.nearest if near else frozenset()

    def is_wanted(row: Row) -> bool:
        place = row.seq, row.ordinal
        may_answer = bool(row.found) or (row.session, row.place) in answers or place in nearest
        return place in always or (may_answer and wanted(row))

    ranked_passages = await in_slices(
        ranking(
            question,
            matching,
            profile(profile_name or chosen_profile(matching.rows)),
            cosines=near.cosines if near else None,
            wanted=is_wanted,
            limit=limit,
            with_features=with_features,
        )
    )
    return Best(ranked=ranked_passages, by_meaning=near is not None, error=error)


def chosen_profile(rows: Iterable[Row]) -> str:
    """Return the profile that fits the speakers of the rows of a query: people among themselves, or anything else."""
    roles = {row.role for row in rows}
    return CONVERSATION if roles == {"user"} else DEFAULT


def _answers(rows: Sequence[Row]) -> set[tuple[int, int | None]]:
    """Return the places of passages that may answer the query without a word of it.

    These are replies to passages that ask something and have a term ("Rex." may follow "What is the dog called?"), the
    questions that passages of an assistant with a term answer, and users' standing rules. Other neighbours of a match
    count for the ranking, but are not returned, because they would fill the budget with small talk.
    """
    places: set[tuple[int, int | None]] = set()
    for row in rows:
        if row.place is None:
            continue
        if row.found and row.marks & QUESTION:
            places.add((row.session, row.place + 1))
        if row.found:
            places.add((row.session, question_place(row)))
        if is_rule(row):
            places.add((row.session, row.place))
    return places


def few_of_each(ranked_passages: Iterable[_T], owner: Callable[[_T], Hashable], *, each_max: int) -> list[_T]:
    """Return at most `each_max` passages of each owner, in their order, so that one owner does not crowd out others."""
    taken: list[_T] = []
    of_owner: Counter[Hashable] = Counter()
    for ranked in ranked_passages:
        of_owner[owner(ranked)] += 1
        if of_owner[owner(ranked)] <= each_max:
            taken.append(ranked)
    return taken
