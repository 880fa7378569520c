"""A record as a caller describes it, and the checks that it passes before it is stored.

Pure: a value in, an error or nothing out. Every error names the field by its path in the request.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from mimetypes import MimeTypes
from pathlib import PurePosixPath
from uuid import UUID

from context_service.kernel.embedding import EMBEDDING_DIMENSION, Embedding
from contextkeep.errors import InvalidArgument
from service_runtime.inputs.documents import parse_json, parse_object
from service_runtime.values.checks import check_count, check_long_text, check_text
from service_runtime.values.vectors import check_vector

FILTER_VALUES_MAX = 100  # the most values of one field in a filter

_MEMORY_TYPE_CHARS_MAX = 100
_CONTENT_TYPE_CHARS_MAX = 256
_TEXTS = frozenset(  # fields that are a short text of one line
    {
        "memory_type",
        "subtype",
        "semantic_purpose",
        "name",
        "content_type",
        "graph_name",
        "agent_bundle_id",
        "app_id",
    }
)
_PROSE_BYTES_MAX = 64 * 1024
_PROSE = frozenset({"description", "reasoning"})
_REQUIRED = frozenset({"memory_type", "name"})

_CONTENT_TYPES = MimeTypes(filenames=())  # without the tables of the machine, so that the result is the same everywhere
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
class RecordInput:
    """A record as a caller describes it."""

    id: UUID | None = None  # if None, the server makes one
    entity_node_id: UUID | None = None
    memory_type: str = ""
    subtype: str = ""
    semantic_purpose: str = ""
    name: str = ""
    description: str = ""
    reasoning: str = ""
    content_type: str = ""  # if empty, it follows from the name
    metadata_json: str = ""  # empty means {}
    content_json: str = ""  # inline content as JSON
    content_text: str = ""  # inline content as plain text; a record has no inline content if both are empty
    tags: tuple[str, ...] = ()
    graph_name: str = ""  # empty means the caller's default, see `within_bounds`
    agent_bundle_id: str = ""
    app_id: str = ""
    expires_at: datetime | None = None  # aware
    embedding: Embedding | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter:
    """Selects records of an entity. Empty sequences do not restrict the selection."""

    entity_node_id: UUID
    memory_types: Sequence[str] = ()
    subtypes: Sequence[str] = ()
    semantic_purposes: Sequence[str] = ()
    names: Sequence[str] = ()
    name_prefix: str = ""
    tags: Sequence[str] = ()  # a record must have all of them
    metadata_contains_json: str = "{}"
    include_archived: bool = False
    blobs_only: bool = False


# The fields that a mask of UpdateWMRecord may name, by their names in the message.
CHANGEABLE = frozenset(
    {*_TEXTS, *_PROSE, "entity_node_id", "metadata_json", "content_json", "content_text"}
    | {"tags", "expires_at", "embedding"}
)
# A record has one content: naming either field in a mask replaces it.
CONTENTS = frozenset({"content_json", "content_text"})
# The texts that a vector is made of if the caller sends none.
TEXTS_EMBEDDED = frozenset({"name", "description"}) | CONTENTS


@dataclass(frozen=True, kw_only=True)
class FieldChecks:
    """Checks the fields of records and filters against the configured limits."""

    metadata_bytes_max: int
    content_bytes_max: int
    nesting_max: int  # of any JSON
    name_chars_max: int
    type_chars_max: int
    tags_max: int
    tag_chars_max: int

    @cached_property
    def _chars_max(self) -> dict[str, int]:
        """The most characters of each short text of a record, by the name of its field."""
        return {
            "memory_type": _MEMORY_TYPE_CHARS_MAX,
            "subtype": self.type_chars_max,
            "semantic_purpose": self.name_chars_max,
            "name": self.name_chars_max,
            "content_type": _CONTENT_TYPE_CHARS_MAX,
            "graph_name": self.type_chars_max,
            "agent_bundle_id": self.name_chars_max,
            "app_id": self.name_chars_max,
        }

    def check(self, draft: RecordInput, *, path: str, names: Container[str] = CHANGEABLE) -> None:
        """Refuse a record that cannot be stored.

        Args:
            draft: The record as the caller describes it.
            path: Path of the record in its request, for the error.
            names: The fields to check; others are not used.

        Raises:
            InvalidArgument: a field is malformed or missing.
            LimitExceeded: a field is too large.
        """
        for name, chars_max in self._chars_max.items():
            if name in names:
                check_text(f"{path}.{name}", getattr(draft, name), chars_max=chars_max, required=name in _REQUIRED)
        if "content_type" in names and not draft.content_type.isprintable():
            field = f"{path}.content_type"
            raise InvalidArgument(f"{field} must have only printable characters", field=field)
        for name in _PROSE:
            if name in names:
                check_long_text(f"{path}.{name}", getattr(draft, name), size_bytes_max=_PROSE_BYTES_MAX)
        others: dict[str, Callable[[RecordInput, str], None]] = {
            "metadata_json": self._check_metadata,
            "content_json": self._check_content,
            "content_text": self._check_content_text,
            "tags": self._check_tags,
            "embedding": _check_embedding,
        }
        for name, check in others.items():
            if name in names:
                check(draft, f"{path}.{name}")

    def check_filter(self, which: RecordFilter) -> None:
        """Refuse a filter that no record can match, or that costs more than a caller may spend.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: a field is too large.
        """
        for field, texts, chars_max in (
            ("memory_types", which.memory_types, self._chars_max["memory_type"]),
            ("subtypes", which.subtypes, self._chars_max["subtype"]),
            ("semantic_purposes", which.semantic_purposes, self._chars_max["semantic_purpose"]),
            ("names", which.names, self._chars_max["name"]),
            ("name_prefix", (which.name_prefix,), self._chars_max["name"]),
            ("tags", which.tags, self.tag_chars_max),
        ):
            check_count(field, len(texts), FILTER_VALUES_MAX)
            for text in texts:
                check_text(field, text, chars_max=chars_max)
        self._check_object("metadata_contains_json", which.metadata_contains_json)

    def _check_metadata(self, draft: RecordInput, field: str) -> None:
        self._check_object(field, draft.metadata_json)

    def _check_content(self, draft: RecordInput, field: str) -> None:
        if draft.content_json:
            parse_json(field, draft.content_json, size_bytes_max=self.content_bytes_max, nesting_max=self.nesting_max)

    def _check_content_text(self, draft: RecordInput, field: str) -> None:
        if draft.content_text and draft.content_json:
            raise InvalidArgument("set content_json or content_text, not both", field=field)
        check_long_text(field, draft.content_text, size_bytes_max=self.content_bytes_max)

    def _check_object(self, field: str, text: str) -> None:
        parse_object(field, text, size_bytes_max=self.metadata_bytes_max, nesting_max=self.nesting_max)

    def _check_tags(self, draft: RecordInput, field: str) -> None:
        check_count(field, len(draft.tags), self.tags_max)
        for tag in draft.tags:
            check_text(field, tag, chars_max=self.tag_chars_max, required=True)


def content_type_of(draft: RecordInput, *, otherwise: str) -> str:
    """Return the content type: the one the caller gives, else the one of the name's extension, else `otherwise`."""
    return draft.content_type or content_type_of_name(draft.name) or otherwise


def content_type_of_name(name: str) -> str:
    """Return the content type that a file name's extension stands for; empty if the extension is unknown."""
    # Only the last two extensions are passed on (as in `.tar.gz`). `guess_type` takes URLs, so for a name such as
    # `data:text/html,x` it would return the type that the name claims.
    endings = "".join(PurePosixPath(name).suffixes[-2:])
    guessed, encoding = _CONTENT_TYPES.guess_type(f"name{endings}")
    return f"application/{encoding}" if encoding else guessed or ""


def _check_embedding(draft: RecordInput, field: str) -> None:
    """Check the embedding that a caller gave for a record, if it gave one."""
    if draft.embedding is None:
        return
    check_text(f"{field}.model", draft.embedding.model, chars_max=128)
    check_vector(f"{field}.values", draft.embedding.values, dimension=EMBEDDING_DIMENSION)
