"""Words that are said deep in long records: found by the passages of the nodes that a search names.

A column of a record holds the words of its beginning; its passages hold all. What stands in the index for a term is
made of the scope, too (`retrieval/pure/terms.py`), so one look-up serves one node: a search that names none would need
one for each node of the tenant, and asks the columns alone.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from context_service.retrieval.pure.rows import ASKED_TERMS_MAX
from context_service.retrieval.pure.terms import asked_words
from context_service.retrieval.store.passages import Passages
from context_service.working_memory.store.passages import NODE, scope_of
from service_runtime.auth import Principal

NODES_MAX = 20  # of a search whose passages are looked at: those with most
PASSAGES_MAX = 400  # of a search that are read
# Passages that are read for each word of a record. A number of the index may stand for another word, too: in a file of
# 400,000 characters, one word in fifty has such a passage in front of its own.
TRIED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class InPassages:
    """Passages of a record that may have what is asked for."""

    node_id: UUID
    seq: int
    ordinals: Sequence[int]
    asked: Sequence[str]  # words that they or its column must have


async def found_in_passages(
    passages: Passages, principal: Principal, node_ids: Sequence[UUID], text: str
) -> list[InPassages]:
    """Return records of nodes that may say words of a text, those first that lack fewest.

    Whether they do say their texts: `asked` is to be looked for. Of a word that is common in a large node it is not
    known which records have it, so it is not asked for.

    Args:
        passages: What they are found by.
        principal: Who asks.
        node_ids: Of which nodes.
        text: Words, all of which are asked for.
    """
    words: dict[str, str] = {}
    for word, term in asked_words(text):
        words.setdefault(term, word)
    terms = list(words)[:ASKED_TERMS_MAX]
    if not terms or not node_ids:
        return []
    found: list[tuple[int, InPassages]] = []  # behind how many words it lacks
    for node_id in await passages.scopes_with_passages(principal, NODE, node_ids, count=NODES_MAX):
        matching = await passages.matching(principal, scope_of(node_id), terms)
        sure = [number for number in range(len(terms)) if number not in matching.estimated]
        by_record: dict[int, list[tuple[set[int], int]]] = {}
        for row in matching.rows:
            if numbers := {number for _, number in row.found}:
                by_record.setdefault(row.seq, []).append((numbers, row.ordinal))
        for seq, passages_of in by_record.items():
            there = {number for numbers, _ in passages_of for number in numbers}
            one = InPassages(
                node_id=node_id, seq=seq, ordinals=_tried(passages_of), asked=[words[terms[number]] for number in sure]
            )
            found.append((sum(number not in there for number in sure), one))
    found.sort(key=lambda one: one[0])
    counts = itertools.accumulate(len(one.ordinals) for _, one in found)
    return [one for (_, one), count in zip(found, counts, strict=True) if count <= PASSAGES_MAX]


def _tried(passages: list[tuple[set[int], int]]) -> list[int]:
    """Return the places of passages that have most of the terms, `TRIED` for each term if there are as many."""
    taken: Counter[int] = Counter()
    ordinals = []
    for numbers, ordinal in sorted(passages, key=lambda one: (-len(one[0]), one[1])):
        if any(taken[number] < TRIED for number in numbers):
            taken.update(numbers)
            ordinals.append(ordinal)
    return ordinals
