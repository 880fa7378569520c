"""Values of memories: statements about a user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from uuid import UUID

METHOD = "extractive"

LIMIT_DEFAULT, LIMIT_MAX = 20, 100

CONTRADICTIONS_MAX = 10  # the most contradicting memories that a memory names
SOURCES_MAX = 100  # the most sources of a memory


class MemoryKind(Enum):
    """The kind of statement that a memory is."""

    FACT = "fact"
    PREFERENCE = "preference"
    EXPERIENCE = "experience"
    OBSERVATION = "observation"
    EVENT = "event"
    COMMITMENT = "commitment"


class MemoryState(Enum):
    """How far a memory is indexed. Its words find it in every state."""

    PENDING = "pending"  # its embedding is not made yet
    INDEXED = "indexed"
    FAILED = "failed"  # the embedder refuses its text


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySource:
    """Where a statement comes from, in the caller's words."""

    label: str = ""
    uri: str = ""
    context_id: str = ""
    ref: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """An attempt to reach a goal, and how it ended."""

    goal: str = ""
    outcome: str = ""
    quality: float | None = None  # 0 to 1; None if unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInput:
    """A statement to store."""

    text: str
    kind: MemoryKind = MemoryKind.FACT
    confidence: float = 1.0
    source: MemorySource | None = None
    happened_at: datetime | None = None  # aware; None means now
    key: str = ""
    experience: Experience | None = None
    app_id: str = ""
    agent_bundle_id: str = ""
    valid_from: datetime | None = None  # aware; by default as the text says, or `happened_at`
    valid_to: datetime | None = None  # aware, not included; by default until another memory supersedes it
    expires_at: datetime | None = None  # aware; None means never
    metadata_json: str = ""  # a JSON object; empty counts as {}
    tags: Sequence[str] = ()
    is_learned: bool = False  # the service learned it from messages; a request never sets it


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A stored statement."""

    memory_id: UUID
    seq: int  # its place in the scope of the user's memories
    text: str
    kind: MemoryKind
    confidence: float
    sources: Sequence[MemorySource]  # the newest first
    happened_at: datetime
    key: str
    experience: Experience | None
    state: MemoryState
    superseded_by: UUID | None  # the next newer memory of its key; None if this one is current
    contradicts: Sequence[UUID]  # others of its key that say something else, the newest first
    version: int
    owner_user_id: str
    app_id: str
    agent_bundle_id: str
    created_by: str
    created_at: datetime
    updated_at: datetime
    subject: str  # what it is about, by its key or by a rule; empty if nothing supersedes it
    placed_at: datetime  # its place among the memories of its subject
    valid_from: datetime
    valid_to: datetime | None  # not included: `ends_at`, or the start of its successor if that is earlier
    ends_at: datetime | None  # the end that the caller stated
    expires_at: datetime | None
    metadata_json: str
    tags: Sequence[str]
    is_learned: bool
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRevision:
    """The values of a memory before a correction."""

    version: int
    text: str
    kind: MemoryKind
    confidence: float
    sources: Sequence[MemorySource]
    happened_at: datetime
    key: str
    experience: Experience | None
    valid_from: datetime
    valid_to: datetime | None  # as the caller stated it
    expires_at: datetime | None
    metadata_json: str
    tags: Sequence[str]
    replaced_at: datetime
    replaced_by: str  # the subject of the credential
    imported_json: str | None  # as of the memory


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilter:
    """Selects memories. Empty fields do not restrict the selection."""

    kinds: frozenset[MemoryKind] = frozenset()
    key: str = ""
    holding_only: bool = False
    happened_from: datetime | None = None
    happened_to: datetime | None = None
    as_of: datetime | None = None  # a memory must have held at this time
    tags: Sequence[str] = ()  # a memory must have all of them
    metadata_contains_json: str = ""

    @property
    def reads_rows(self) -> bool:
        """Whether the filter asks for values that passages do not have."""
        return bool(self.key or self.holding_only or self.as_of or self.tags or self.metadata_contains_json)

    @property
    def selects_all(self) -> bool:
        """Whether the filter restricts nothing."""
        return not (self.kinds or self.happened_from or self.happened_to or self.reads_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryQuery:
    """A question to a user's memories."""

    query: str
    limit: int = LIMIT_DEFAULT
    which: MemoryFilter = field(default_factory=MemoryFilter)
    score_min: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemories:
    """Memories with their scores, the best first."""

    memories: Sequence[tuple[Memory, float]]
    by_meaning: bool  # whether embeddings were compared; if not, the memories are ranked by words alone
    error: str  # why they were not compared, although an embedder is configured; else empty
    cosines: Mapping[UUID, float | None]  # cosine similarity to the question; None if either has no embedding

    @property
    def mode(self) -> str:
        """How the memories were found: by words alone, or also by embeddings."""
        return "words and meaning" if self.by_meaning else "words"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectedMemories:
    """A statement made of memories, and the memories that it rests on."""

    statement: str  # empty if no memory matches
    memories: Sequence[Memory]  # the memories that the statement rests on, in the order of its lines
    superseded_ids: Sequence[UUID]  # matching memories that are superseded
    recalled: RecalledMemories
    method: str = METHOD


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Memories with the same statement, of which one is kept."""

    memory_id: UUID
    merged_ids: Sequence[UUID]  # the ids of the other memories, the newest first
    text: str = ""  # only in a dry run; applied merges are reported by ids, since stored answers keep no text


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """A lesson that several runs taught, as a new memory."""

    experience_ids: Sequence[UUID]
    memory_id: UUID | None = None  # the id of the new observation; None in a dry run
    text: str = ""  # the lesson; only in a dry run


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated:
    """The merges and promotions of a plan, planned or applied."""

    plan: str  # the id of the plan; empty if there is nothing to do
    merged: Sequence[Merged]
    promoted: Sequence[Promoted]
    has_more: bool
    is_applied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory before it is written."""

    memory_id: UUID
    kind: MemoryKind
    text: str
    confidence: float
    sources: Sequence[MemorySource]
    happened_at: datetime | None  # None means now
    key: str
    experience: Experience | None
    subject: str
    placed_at: datetime | None  # None means `happened_at`
    valid_from: datetime | None  # None means `happened_at`
    ends_at: datetime | None
    expires_at: datetime | None
    metadata_json: str
    tags: Sequence[str]
    is_learned: bool
    statement_sha256: bytes
    passage_count: int
    owner_user_id: str
    app_id: str
    agent_bundle_id: str
    created_by: str

    @property
    def whose(self) -> dict[str, object]:
        """The group that the memory belongs to: its user, app and agent bundle."""
        return {
            "owner_user_id": self.owner_user_id,
            "app_id": self.app_id,
            "agent_bundle_id": self.agent_bundle_id,
        }
