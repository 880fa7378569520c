"""Words that are said deep in long records: found by the passages of the nodes that a search names.

A column of a record holds the words of its beginning; its passages hold all. What stands in the index for a term is
made of the scope, too (`retrieval/terms.py`), so one look-up serves one node: a search that names none would need one
for each node of the tenant, and asks the columns alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from context_service.retrieval.matching import ASKED_TERMS_MAX
from context_service.retrieval.passages import Passages
from context_service.retrieval.terms import asked_words
from context_service.working_memory.record_passages import NODE, scope_of
from service_runtime.auth import Principal

NODES_MAX = 20  # of a search whose passages are looked at: those with most
RECORDS_MAX = 200  # of a search that are found so


@dataclass(frozen=True, slots=True, kw_only=True)
class InPassages:
    """The passage of a record that has most of what is asked for."""

    node_id: UUID
    seq: int
    ordinal: int
    lacking: Sequence[str]  # words that no passage of the record has


async def found_in_passages(
    passages: Passages, principal: Principal, node_ids: Sequence[UUID], text: str
) -> list[InPassages]:
    """Return records of nodes that say words of a text, those first that lack fewest.

    Of a word that is common in a large node it is not known which records have it: none lacks it.

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
    found: list[InPassages] = []
    for node_id in await passages.scopes_with_passages(principal, NODE, node_ids, count=NODES_MAX):
        matching = await passages.matching(principal, scope_of(node_id), terms)
        best: dict[int, tuple[int, int]] = {}  # by record: how many terms, and where
        there: dict[int, set[int]] = {}
        for row in matching.rows:
            numbers = {number for _, number in row.found}
            if numbers:
                there.setdefault(row.seq, set(matching.estimated)).update(numbers)
                best[row.seq] = max(best.get(row.seq, (0, 0)), (len(numbers), -row.ordinal))
        for seq, (_, place) in best.items():
            lacking = [words[term] for number, term in enumerate(terms) if number not in there[seq]]
            found.append(InPassages(node_id=node_id, seq=seq, ordinal=-place, lacking=lacking))
    return sorted(found, key=lambda one: len(one.lacking))[:RECORDS_MAX]
