"""Reflecting without a model: the best sentence of each memory that matters, the newest first. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from context_service.kernel.sentences import sentences_of
from context_service.memories.model import Memory
from context_service.memories.pure.texts import indexed_text, statement_of
from context_service.retrieval.pure.terms import asked_terms, findable_terms

SENTENCE_CHARS = 400
# A memory is used if it has at least this share of the terms that the best memory has in common with the question.
MATTERS = 0.5
NEAREST = 3  # memories to use if none has a term of the question, because embeddings found them

_DATE_CHARS = len(" (2026-11-01)\n")


def reflected(query: str, found: Sequence[Memory], *, limit: int, chars_max: int) -> tuple[str, list[Memory]]:
    """Summarize memories in one statement, a line for each sentence; return it and the memories that it rests on.

    Args:
        query: The question, which decides which sentences are taken.
        found: The recalled memories, best first. Superseded memories are not used.
        limit: The largest number of sentences.
        chars_max: The largest number of characters of the statement.
    """
    holding = [memory for memory in found if memory.superseded_by is None]
    if not holding:
        return "", []
    terms = frozenset(asked_terms(query))
    said: dict[bytes, list[Memory]] = {}  # by the key of a sentence: the memories that contain it
    sentences: dict[bytes, str] = {}
    chars = 0
    for memory in _mattering(holding, terms):
        sentence = _best(memory.text, terms)
        key = statement_of(sentence, None)
        if key not in said:
            chars += len(sentence) + _DATE_CHARS
            if len(said) >= limit or (said and chars > chars_max):
                continue
        said.setdefault(key, []).append(memory)
        sentences.setdefault(key, sentence)
    newest = sorted(said.items(), key=lambda one: max((each.happened_at, each.seq) for each in one[1]), reverse=True)
    lines = [
        f"{sentences[key]} ({max(memory.happened_at for memory in memories):%Y-%m-%d})" for key, memories in newest
    ]
    return "\n".join(lines), [memory for _, memories in newest for memory in memories]


def _mattering(memories: Sequence[Memory], terms: frozenset[str]) -> list[Memory]:
    """Return the memories that have the most terms of the question, or almost as many, in their order."""
    covered = [len(terms & frozenset(findable_terms(indexed_text(memory)))) for memory in memories]
    most = max(covered)
    if not most:
        return list(memories[:NEAREST])
    return [one for one, count in zip(memories, covered, strict=True) if count >= MATTERS * most]


def _best(text: str, terms: frozenset[str]) -> str:
    """Return the sentence that has the most terms of the question; of equal ones, the first."""
    best = max(sentences_of(text), key=lambda sentence: len(terms & frozenset(findable_terms(sentence))))
    return best if len(best) <= SENTENCE_CHARS else best[: SENTENCE_CHARS - 1] + "\u2026"
