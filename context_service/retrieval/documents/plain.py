"""Reads text files: plain text unchanged, and JSON as its values."""

from __future__ import annotations

from collections.abc import Iterator

from context_service.retrieval.documents.encodings import decoded
from context_service.retrieval.pure.part_texts import json_text


def text_of(data: bytes, charset: str) -> Iterator[str]:
    """Yield a plain text unchanged."""
    yield decoded(data, charset)


def text_of_json(data: bytes, charset: str) -> Iterator[str]:
    """Yield the values of a JSON document, or of each line that is one; other text is yielded unchanged."""
    text = decoded(data, charset)
    flattened = json_text(text)
    if flattened is not text:
        yield flattened
        return
    for line in text.splitlines():
        yield json_text(line) + "\n"
