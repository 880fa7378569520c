"""Words deep in long records: found by the passages of the nodes that a search names.

The terms of a record are those of its beginning; its passages have all of them. The index combines each term with
its scope (`retrieval/pure/terms.py`), so one lookup serves only one node. A search that names no node would need a
lookup for each node of the tenant, and therefore uses the terms of the records alone.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from context_service.retrieval.pure.features import K1, B
from context_service.retrieval.pure.rows import ASKED_TERMS_MAX
from context_service.retrieval.pure.terms import asked_words, findable_terms
from context_service.retrieval.room import Passages
from context_service.working_memory.store.texts.passages import NODE, scope_of
from service_runtime.rpc.principal import Principal

NODES_MAX = 20  # a search reads passages of at most this many nodes: those with the most passages
PASSAGES_MAX = 400  # the most passages that a search reads
# The most passages that are read for each word of a record. More than one is needed, because a number of the index may
# stand for another word, too: in a file of 400,000 characters, one word in fifty has such a passage before its own.
TRIED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class InPassages:
    """A record's passages that may have the words of a search, and the words to check."""

    node_id: UUID
    seq: int
    ordinals: Sequence[int]
    terms: Sequence[str]  # the terms of the search
    sure: Sequence[str]  # the terms that they or the record must have


async def found_in_passages(
    passages: Passages, principal: Principal, node_ids: Sequence[UUID], text: str
) -> list[InPassages]:
    """Return records of nodes that may have the words of a text; records that lack the fewest words come first.

    The caller must check the texts, see `score_of`. Terms that are common in a large node are left out of `sure`,
    because the index does not tell which records have them.

    Args:
        passages: The store of passages, which holds the word index.
        principal: The caller; only passages that it may see are read.
        node_ids: The nodes whose records are searched.
        text: The words; a record must have all of them to match.
    """
    terms = list(dict.fromkeys(word.term for word in asked_words(text)))[:ASKED_TERMS_MAX]
    if not terms or not node_ids:
        return []
    candidates: list[tuple[int, InPassages]] = []  # the number of words that a record lacks, and the record
    for node_id in await passages.scopes_with_passages(principal, NODE, node_ids, count=NODES_MAX):
        matching = await passages.matching(principal, scope_of(node_id), terms)
        sure = [number for number in range(len(terms)) if number not in matching.estimated]
        by_record: dict[int, list[tuple[set[int], int]]] = {}
        for row in matching.rows:
            if numbers := {number for _, number in row.found}:
                by_record.setdefault(row.seq, []).append((numbers, row.ordinal))
        for seq, passages_of in by_record.items():
            there = {number for numbers, _ in passages_of for number in numbers}
            candidate = InPassages(
                node_id=node_id,
                seq=seq,
                ordinals=_passages_to_read(passages_of),
                terms=terms,
                sure=[terms[number] for number in sure],
            )
            candidates.append((sum(number not in there for number in sure), candidate))
    candidates.sort(key=lambda pair: pair[0])
    counts = itertools.accumulate(len(candidate.ordinals) for _, candidate in candidates)
    return [candidate for (_, candidate), count in zip(candidates, counts, strict=True) if count <= PASSAGES_MAX]


def score_of(candidate: InPassages, texts: Sequence[str], in_record: Collection[str]) -> float | None:
    """Return the score of the best passage of a record, between 0 and 1; None if words are missing.

    A number of the index may stand for another word, too, so each word is looked for in the texts.

    Args:
        candidate: The record, and the terms of the search.
        texts: The texts of its passages.
        in_record: The terms that the record itself has.
    """
    passages = [Counter(findable_terms(text)) for text in texts]
    there = {term for term in candidate.terms for passage in passages if term in passage}
    if not there or not there.union(in_record).issuperset(candidate.sure):
        return None
    mean = sum(passage.total() for passage in passages) / len(passages) or 1.0
    return max(
        sum(
            passage[term] / (passage[term] + K1 * (1 - B + B * passage.total() / mean))
            for term in candidate.terms
            if passage[term]
        )
        for passage in passages
    ) / len(candidate.terms)


def _passages_to_read(passages: list[tuple[set[int], int]]) -> list[int]:
    """Return the ordinals of the passages with the most terms: `TRIED` for each term, if there are as many."""
    count_by_term: Counter[int] = Counter()
    ordinals = []
    for numbers, ordinal in sorted(passages, key=lambda pair: (-len(pair[0]), pair[1])):
        if any(count_by_term[number] < TRIED for number in numbers):
            count_by_term.update(numbers)
            ordinals.append(ordinal)
    return ordinals
