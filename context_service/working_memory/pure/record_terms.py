"""The terms by which a record is found: numbers of the words of its name, its description and its content.

The words are those of the analyzer (`retrieval/pure/terms.py`), as passages have them. A record stores them in order,
so that phrases can be found, with a mark after each field:

    name, NAME_END, description, DESCRIPTION_END, content, FORMS_FOLLOW_NUMBER, further forms, beginnings of the name

A number stands for a tenant and a term and has 32 bits, not the 19 of passages: one index holds the words of all
records of a tenant, and a search must not return records that lack the word. Each beginning of a word of the name that
has `PREFIX_CHARS_MIN` letters or more is a term of its own, because an inverted index of numbers knows no prefixes.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from uuid import UUID

from context_service.retrieval.pure.part_texts import json_text
from context_service.retrieval.pure.terms import FORMS_FOLLOW_NUMBER, analyzed, folded_words, words_of
from context_service.working_memory.pure.beginnings import TEXT_CHARS_MAX

# Raise it with each change of the analyzer that gives other terms: `retrieval rebuild` renews the rows of older ones.
TERMS_VERSION = 1
NAME_END, DESCRIPTION_END = -2, -3
PREFIX_CHARS_MIN = 3  # too many words begin with a shorter prefix
# A prefix, as distinct from a word. No word of the analyzer has this sign.
_PREFIX = "^"
_HALF = 2**31
_MARKS = 4  # the numbers from -1 to -4 stand for no term


def record_terms(tenant_id: UUID, *, name: str, description: str, content: str) -> list[int]:
    """Return the terms of a record, as it stores them.

    Args:
        tenant_id: The tenant of the record.
        name: Its name.
        description: Its description.
        content: The text of its content; only the beginning is searched.
    """
    fields = [analyzed(text) for text in (name, description, content[:TEXT_CHARS_MAX])]
    forms = dict.fromkeys(form for field in fields for form in field.forms)
    words, described, contents = (record_numbers(tenant_id, field.terms) for field in fields)
    further = record_numbers(tenant_id, [*forms, *_prefixes(name)])
    return [*words, NAME_END, *described, DESCRIPTION_END, *contents, FORMS_FOLLOW_NUMBER, *further]


def content_of(content_json: str | None, text: str | None) -> str:
    """Return the searchable text of a content: the keys and values of JSON, or the text."""
    return json_text(content_json) if content_json is not None else text or ""


def record_numbers(tenant_id: UUID, terms: Iterable[str]) -> list[int]:
    """Return the number of each term of a tenant's records, in order; it fits an int4."""
    begun = zlib.crc32(tenant_id.bytes)
    numbers = [zlib.crc32(term.encode(), begun) - _HALF for term in terms]
    return [number - _MARKS if -_MARKS <= number < 0 else number for number in numbers]


def prefix_terms(words: Iterable[str]) -> list[str]:
    """Return the terms that find the names which have a word for each of these, as a prefix if it is long enough."""
    return [f"{_PREFIX}{word}" for word in words]


def _prefixes(name: str) -> Collection[str]:
    """Return the terms of the beginnings of a name's words, each once."""
    return dict.fromkeys(
        term
        for word in (*folded_words(name), *words_of(name))
        for term in prefix_terms([*(word[:length] for length in range(PREFIX_CHARS_MIN, len(word))), word])
    )
