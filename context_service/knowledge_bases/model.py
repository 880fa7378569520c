"""Values of knowledge bases and their documents, and the checks of their fields."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from uuid import UUID

from contextkeep.errors import InvalidArgument
from service_runtime.values.checks import check_bytes, check_text

BASES_MAX = 200  # limit for each tenant
NAME_CHARS_MAX = 200
DESCRIPTION_CHARS_MAX = 2_000
WALL_CHARS_MAX = 512  # length of the name of an app, an agent bundle or a graph
DOCUMENTS_MAX = 10_000  # limit for each base
DOCUMENT_BYTES_MAX = 3_000_000  # size of a document's bytes: they must fit a message, also as JSON
BASE_BYTES_MAX = 1024**3  # size of all bytes that the documents of a base brought
_BEDROCK_ID = re.compile(r"[0-9A-Za-z]{10}")
_REGION = re.compile(r"[a-z]{2}(-[a-z]{2,12}){1,3}-[0-9]{1,2}")
DOCUMENT_NAME_CHARS_MAX, URI_CHARS_MAX, TYPE_CHARS_MAX = 500, 2_000, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """The bounds of a row: a key that is bound to one of these sees only rows with its own value."""

    graph_name: str = ""
    agent_bundle_id: str = ""
    app_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bedrock:
    """A knowledge base of Amazon Bedrock."""

    bedrock_id: str
    region: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseInput:
    """The values that an administrator writes for a knowledge base."""

    name: str
    description: str = ""
    is_of_tenant: bool = False  # searched for all callers; otherwise for agents that name it
    walls: Walls = field(default_factory=Walls)
    bedrock: Bedrock | None = None  # None if the documents are stored here


class DocumentState(Enum):
    """The state of reading a document."""

    QUEUED = "QUEUED"
    PARSING = "PARSING"
    INDEXED = "INDEXED"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A base as it is stored."""

    base_id: UUID
    content: BaseInput
    document_count: int
    size_bytes: int
    version: int
    created_at: datetime
    updated_at: datetime
    updated_by: str
    documents: Mapping[DocumentState, int] = field(default_factory=dict)  # set only if the base was read alone
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentInput:
    """A document as a caller adds it: its bytes, or the id of a record that it follows."""

    name: str = ""  # empty takes the name of the record
    uri: str = ""
    content_type: str = ""
    data: bytes | None = None
    record_id: UUID | None = None

    def check(self) -> None:
        """Check the fields of a document.

        Raises:
            InvalidArgument: a field is malformed.
            LimitExceeded: a field is too long or too large.
        """
        if self.data is None and self.record_id is None:
            raise InvalidArgument("give either document.data or document.working_memory_id", field="document.data")
        check_text("document.name", self.name, chars_max=DOCUMENT_NAME_CHARS_MAX)
        if self.data is not None and not self.name.strip():
            raise InvalidArgument("document.name must not be blank", field="document.name")
        check_text("document.uri", self.uri, chars_max=URI_CHARS_MAX)
        check_text("document.content_type", self.content_type, chars_max=TYPE_CHARS_MAX)
        if self.record_id is not None and self.content_type:
            raise InvalidArgument(
                "document.content_type must be empty with working_memory_id: a record has its own content type",
                field="document.content_type",
            )
        check_bytes("document.data", len(self.data or b""), DOCUMENT_BYTES_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document as it is stored, without its text."""

    document_id: UUID
    base: str  # its name
    name: str
    uri: str
    content_type: str
    size_bytes: int
    record_id: UUID | None
    state: DocumentState
    error: str
    passage_count: int
    is_cut: bool
    created_by: str
    created_at: datetime
    updated_at: datetime
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


def check_base(base_input: BaseInput) -> None:
    """Check the fields of a base.

    Raises:
        InvalidArgument: a field is malformed.
        LimitExceeded: a field is too long or too large.
    """
    check_name("knowledge_base.name", base_input.name)
    check_text("knowledge_base.description", base_input.description, chars_max=DESCRIPTION_CHARS_MAX)
    for wall, name in (
        ("app_id", base_input.walls.app_id),
        ("agent_bundle_id", base_input.walls.agent_bundle_id),
        ("graph_name", base_input.walls.graph_name),
    ):
        check_text(f"knowledge_base.{wall}", name, chars_max=WALL_CHARS_MAX)
    if base_input.bedrock is not None:
        _check_bedrock(base_input.bedrock)


def _check_bedrock(bedrock: Bedrock) -> None:
    """Refuse an id or a region that would change the path or host of a request."""
    for name, text, pattern, what in (
        ("knowledge_base_id", bedrock.bedrock_id, _BEDROCK_ID, "10 letters and digits"),
        ("region", bedrock.region, _REGION, "a region such as eu-central-1"),
    ):
        if not pattern.fullmatch(text):
            raise InvalidArgument(
                f"knowledge_base.bedrock.{name} must be {what} (got {text[:100]!r})",
                field=f"knowledge_base.bedrock.{name}",
            )


def check_name(field_name: str, name: str) -> None:
    """Refuse a name that a knowledge base cannot have."""
    check_text(field_name, name, chars_max=NAME_CHARS_MAX)
    if not name.strip():
        raise InvalidArgument(f"{field_name} must not be blank", field=field_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseToSearch:
    """A base to search, with the number of its documents that searches cannot find."""

    base_id: UUID
    name: str
    documents: int
    waiting: int  # the number of documents that are not read yet
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BedrockBase:
    """A base of Amazon Bedrock to search."""

    base_id: UUID
    name: str
    bedrock: Bedrock


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPassage:
    """A passage of a document that a search found."""

    document_id: UUID
    base: str
    name: str
    uri: str
    record_id: UUID | None
    heading: str  # with the headings above it; empty if there is none
    page: int  # from 1; 0 if it is unknown
    start: int  # position in the text, in characters
    end: int
    ordinal: int
    text: str
    added_at: datetime
    score: float
    cosine: float | None  # cosine similarity to the question; None if either has no embedding


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseResults:
    """The passages that a search found: the best of each base come before the second best of any."""

    documents: Sequence[DocumentPassage]
    by_meaning: bool
    error: str = ""  # why embeddings were not compared, although an embedder is configured
    left_out: int  # bases that were not searched


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeDocument:
    """The text of a document, as far as it was read."""

    document_id: UUID
    name: str
    text: str
    is_cut: bool
    added_at: datetime
