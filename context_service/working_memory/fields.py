"""What callers say of a record, and the checks that it passes before it is stored.

Pure: a value in, an error or nothing out. Every error names the field by its path in the request.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from mimetypes import MimeTypes
from pathlib import PurePosixPath
from uuid import UUID

from contextgraph.errors import InvalidArgument, LimitExceeded
from service_runtime.documents import check_size, check_text, parse_json, parse_object

EMBEDDING_DIMENSION = 1536
TAGS_MAX = 64
TAG_CHARS_MAX = 128
FILTER_VALUES_MAX = 100  # of one field

# Characters of the texts on one line, bytes of those that are prose.
_TEXT_CHARS_MAX = {
    "memory_type": 100,
    "subtype": 128,
    "semantic_purpose": 512,
    "name": 512,
    "content_type": 256,
    "graph_name": 128,
    "agent_bundle_id": 512,
    "app_id": 512,
}
_PROSE_BYTES_MAX = 64 * 1024
_PROSE = frozenset({"description", "reasoning"})
_REQUIRED = frozenset({"memory_type", "name"})

# Half precision rounds what is not below the first to infinity, and what is not above the second to zero.
_HALF_MAX = 65520.0
_HALF_MIN = 2.0**-25

_CONTENT_TYPES = MimeTypes(filenames=())  # not the machine's own table: answers are the same everywhere
for _suffix, _type in (
    (".md", "text/markdown"),
    (".ts", "text/typescript"),
    (".tsx", "text/typescript"),
    (".js", "text/javascript"),
    (".yaml", "application/yaml"),
    (".yml", "application/yaml"),
    (".toml", "application/toml"),
    (".jsonl", "application/jsonl"),
    (".webp", "image/webp"),
    (".parquet", "application/vnd.apache.parquet"),
):
    _CONTENT_TYPES.add_type(_type, _suffix)


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """A vector of a record's text, made by the caller."""

    values: tuple[float, ...]
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordInput:
    """A record as a caller describes it."""

    id: UUID | None = None  # None: the server makes one
    entity_node_id: UUID | None = None
    memory_type: str = ""
    subtype: str = ""
    semantic_purpose: str = ""
    name: str = ""
    description: str = ""
    reasoning: str = ""
    content_type: str = ""  # empty: guessed from the name
    metadata_json: str = ""  # empty: {}
    content_json: str = ""  # empty: no inline content
    tags: tuple[str, ...] = ()
    graph_name: str = ""  # empty: "default"
    agent_bundle_id: str = ""
    app_id: str = ""
    expires_at: datetime | None = None  # aware
    embedding: Embedding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """Which records of an entity; empty sequences filter nothing."""

    entity_node_id: UUID
    memory_types: Sequence[str] = ()
    subtypes: Sequence[str] = ()
    semantic_purposes: Sequence[str] = ()
    names: Sequence[str] = ()
    name_prefix: str = ""
    tags: Sequence[str] = ()  # all of them
    metadata_contains_json: str = "{}"
    include_archived: bool = False
    blobs_only: bool = False


# What a mask of UpdateWMRecord may name: the names of the fields are those of the message.
CHANGEABLE = frozenset(
    {*_TEXT_CHARS_MAX, *_PROSE, "entity_node_id", "metadata_json", "content_json", "tags", "expires_at", "embedding"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChecks:
    """The checks, with the limits that are settings."""

    metadata_bytes_max: int
    content_bytes_max: int

    def check(self, said: RecordInput, *, path: str, names: Container[str] = CHANGEABLE) -> None:
        """Refuse what cannot be stored.

        Args:
            said: What the caller says.
            path: Of the record in its request, for the error.
            names: Fields to look at; others are not used.

        Raises:
            InvalidArgument: a field is malformed or missing.
            LimitExceeded: one is too large.
        """
        for name, chars_max in _TEXT_CHARS_MAX.items():
            if name in names:
                check_text(f"{path}.{name}", getattr(said, name), chars_max=chars_max, required=name in _REQUIRED)
        for name in _PROSE:
            if name in names:
                text = getattr(said, name)
                check_text(f"{path}.{name}", text, chars_max=_PROSE_BYTES_MAX)
                check_size(f"{path}.{name}", text, size_bytes_max=_PROSE_BYTES_MAX)
        others: dict[str, Callable[[RecordInput, str], None]] = {
            "metadata_json": self._check_metadata,
            "content_json": self._check_content,
            "tags": _check_tags,
            "embedding": _check_embedding,
        }
        for name, check in others.items():
            if name in names:
                check(said, f"{path}.{name}")

    def check_filter(self, which: RecordFilter) -> None:
        """Refuse a filter that no record can match, or that costs more than a caller may spend.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: one is too large.
        """
        for field, texts, chars_max in (
            ("memory_types", which.memory_types, _TEXT_CHARS_MAX["memory_type"]),
            ("subtypes", which.subtypes, _TEXT_CHARS_MAX["subtype"]),
            ("semantic_purposes", which.semantic_purposes, _TEXT_CHARS_MAX["semantic_purpose"]),
            ("names", which.names, _TEXT_CHARS_MAX["name"]),
            ("name_prefix", (which.name_prefix,), _TEXT_CHARS_MAX["name"]),
            ("tags", which.tags, TAG_CHARS_MAX),
        ):
            _check_count(field, texts, count_max=FILTER_VALUES_MAX)
            for text in texts:
                check_text(field, text, chars_max=chars_max)
        parse_object("metadata_contains_json", which.metadata_contains_json, size_bytes_max=self.metadata_bytes_max)

    def _check_metadata(self, said: RecordInput, field: str) -> None:
        parse_object(field, said.metadata_json, size_bytes_max=self.metadata_bytes_max)

    def _check_content(self, said: RecordInput, field: str) -> None:
        if said.content_json:
            parse_json(field, said.content_json, size_bytes_max=self.content_bytes_max)


def content_type_of(said: RecordInput, *, otherwise: str) -> str:
    """Return the content type: what the caller says, else what the ending of the name tells, else `otherwise`."""
    if said.content_type:
        return said.content_type
    # Only the ending: `guess_type` takes URLs, and would believe what a `data:` URL says of itself.
    endings = "".join(PurePosixPath(said.name).suffixes[-2:])
    guessed, encoding = _CONTENT_TYPES.guess_type(f"name{endings}")
    return f"application/{encoding}" if encoding else guessed or otherwise


def _check_tags(said: RecordInput, field: str) -> None:
    _check_count(field, said.tags, count_max=TAGS_MAX)
    for tag in said.tags:
        check_text(field, tag, chars_max=TAG_CHARS_MAX, required=True)


def _check_count(field: str, values: Sequence[str], *, count_max: int) -> None:
    if len(values) > count_max:
        raise LimitExceeded(
            f"{field} has {len(values)} values; the limit is {count_max}",
            limit=field,
            limit_max=count_max,
            value=len(values),
        )


def _check_embedding(said: RecordInput, field: str) -> None:
    if said.embedding is None:
        return
    check_text(f"{field}.model", said.embedding.model, chars_max=128)
    values = said.embedding.values
    problem = ""
    if len(values) != EMBEDDING_DIMENSION:
        problem = f"has {len(values)} values, not {EMBEDDING_DIMENSION}"
    elif not all(map(math.isfinite, values)):
        problem = "has a value that is not finite"
    elif any(abs(value) >= _HALF_MAX for value in values):
        problem = "has a value past half precision"
    elif all(abs(value) <= _HALF_MIN for value in values):
        problem = "is zero, which has no direction"
    if problem:
        raise InvalidArgument(f"{field}.values {problem}", field=f"{field}.values")
