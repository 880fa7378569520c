"""Reflecting without a model: the sentences that answer a question, the most relevant first. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from uuid import UUID

from context_service.kernel.sentences import sentences_of
from context_service.memories.model import Memory
from context_service.memories.pure.texts import indexed_text, statement_of
from context_service.retrieval.pure.terms import asked_terms, findable_terms

SENTENCE_CHARS = 380  # three of them fit into a hit of a query
# A memory is used if it covers this share of what the question asks, and this part of the share of the best memory.
COVERED_MIN, OF_BEST_MIN = 0.2, 0.5
SHARED_BY_MIN = 3  # with fewer matching memories, a word that they share may be rare among all memories
NEAREST = 3  # memories to use if no word of the question says enough, because embeddings found them
_RANK_WEIGHT = 0.3  # of the place in recall, next to the covered share
_KIND_WEIGHT = 0.2  # of a memory that has what the question asks for, such as a place

# What a question asks for by its first word, and the form that such an answer has in a text.
_CAPITAL = r"[^\W\d_a-z]\w+"
_ANSWERS = tuple(
    (re.compile(rf"\W*(?:{words})\b", re.IGNORECASE), re.compile(form))
    for words, form in (
        (
            "where|wo|wohin|woher|où|dove|dónde|hvor|waar|onde|var",
            rf"\b(?:in|at|to|from|near|nach|aus|bei|à|en|a|i|på|til|till|em|naar|te) {_CAPITAL}",
        ),
        ("when|wann|quand|cuándo|quando|når|när|wanneer|since when", rf"\d|\b(?:in|on|im|am|en|i) {_CAPITAL}"),
        ("who|whom|wer|wen|wem|qui|quién|chi|hvem|vem|quem", rf"(?<=\s){_CAPITAL}"),
        ("how (?:much|many|old|long|far|big)|wie ?viele?|combien|cuánt[oa]s?|quant[oiae]s?|hoeveel", r"\d"),
    )
)


def reflected(
    query: str,
    found: Sequence[Memory],
    *,
    by_meaning: bool,
    limit: int,
    tokens_max: int,
    count: Callable[[str], int],
    earlier: Mapping[UUID, Sequence[Memory]] = {},
) -> tuple[str, list[Memory]]:
    """Answer a question with sentences of memories; return the statement, and the memories that it rests on.

    Args:
        query: The question, which decides which sentences are taken.
        found: The recalled memories that may be used, best first.
        by_meaning: Embeddings found memories, so one without a word of the question may answer it.
        limit: The largest number of sentences.
        tokens_max: The largest number of tokens of the statement.
        count: Counts the tokens of a text.
        earlier: By the id of a memory, those that it superseded: the question may have words of theirs alone.
    """
    terms = {memory.memory_id: _terms(memory) for memory in found}
    weights = _weights(frozenset(asked_terms(query)), list(terms.values()))
    covered = [
        max(
            _covered(of_version, weights)
            for of_version in (terms[memory.memory_id], *map(_terms, earlier.get(memory.memory_id, ())))
        )
        for memory in found
    ]
    lines: list[str] = []
    said: dict[bytes, list[Memory]] = {}  # by the key of a sentence: the memories that contain it
    tokens_left = tokens_max
    for memory in _relevant(query, found, covered, by_meaning=by_meaning):
        sentence = _best(memory.text, weights)
        key = statement_of(sentence, None)
        if key not in said:
            if len(lines) == limit:
                continue
            line = f"{sentence} ({memory.happened_at:%Y-%m-%d})"
            if (tokens := count(line) + 1) > tokens_left:
                if lines:
                    continue
                line = _cut(line, tokens_left, count)
                tokens = tokens_left
            lines.append(line)
            tokens_left -= tokens
        said.setdefault(key, []).append(memory)
    return "\n".join(lines), [memory for memories in said.values() for memory in memories]


def _terms(memory: Memory) -> frozenset[str]:
    """Return the terms that a memory is found by."""
    return frozenset(findable_terms(indexed_text(memory)))


def _weights(terms: Collection[str], texts: Sequence[Collection[str]]) -> Mapping[str, float]:
    """Return how much each term of a question tells: next to nothing if all memories have it, such as a shared name."""
    if len(texts) < SHARED_BY_MIN:
        return dict.fromkeys(terms, 1.0)
    having = {term: sum(term in text for text in texts) for term in terms}
    return {term: math.log(1 + (len(texts) - often + 0.5) / (often + 0.5)) for term, often in having.items()}


def _relevant(query: str, memories: Sequence[Memory], covered: Sequence[float], *, by_meaning: bool) -> list[Memory]:
    """Return the memories that answer a question, the most relevant first.

    Args:
        query: The question.
        memories: The recalled memories, best first.
        covered: The share of the question that each of them covers.
        by_meaning: Embeddings found memories, so one without a word of the question may answer it.
    """
    least = max(COVERED_MIN, OF_BEST_MIN * max(covered, default=0.0))
    form = next((form for asks, form in _ANSWERS if asks.match(query)), None)
    scored = [
        (
            -share
            - _RANK_WEIGHT * (1 - place / len(memories))
            - (_KIND_WEIGHT if form and form.search(memories[place].text) else 0.0),
            place,
        )
        for place, share in enumerate(covered)
        if share >= least
    ]
    if not scored and by_meaning:
        return list(memories[:NEAREST])
    return [memories[place] for _, place in sorted(scored)]


def _covered(terms: Collection[str], weights: Mapping[str, float]) -> float:
    """Return the share of a question that the terms of a text cover."""
    whole = sum(weights.values())
    return sum(weights.get(term, 0.0) for term in terms) / whole if whole else 0.0


def _best(text: str, weights: Mapping[str, float]) -> str:
    """Return the sentence that covers most of a question; of equal ones, the first."""
    best = max(
        sentences_of(text) or [text], key=lambda sentence: _covered(frozenset(findable_terms(sentence)), weights)
    )
    return best if len(best) <= SENTENCE_CHARS else best[: SENTENCE_CHARS - 1] + "\u2026"


def _cut(line: str, tokens_max: int, count: Callable[[str], int]) -> str:
    """Return the beginning of a line, of at most `tokens_max` tokens."""
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        if count(line[:middle] + "\u2026") <= tokens_max:
            low = middle
        else:
            high = middle - 1
    return line[:low] + "\u2026" if low else ""
