"""What contexts and their messages are, as callers say them and as they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from context_service.kernel.parts import Part

MESSAGES_MAX = 500  # that one call writes or retracts
ARTIFACT_ROLE = "assistant"  # who makes artifacts


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalId:
    """What another system calls a context."""

    system: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextInput:
    """What a caller says of a new context, or of what is to change of one."""

    title: str = ""
    external_ids: tuple[ExternalId, ...] = ()
    metadata_json: str = "{}"
    entity_node_id: UUID | None = None
    app_id: str = ""
    agent_bundle_id: str = ""
    expires_at: datetime | None = None
    recall_profile: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The header of a context."""

    context_id: UUID
    ancestors: tuple[UUID, ...]  # from which it was forked, the first one first, and itself
    title: str
    external_ids: tuple[ExternalId, ...]
    metadata_json: str
    entity_node_id: UUID | None
    agent_ids: tuple[str, ...]
    app_id: str
    agent_bundle_id: str
    owner_user_id: str  # empty: nobody's in particular
    created_by: str
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    closed_at: datetime | None
    recall_profile: str
    last_seq: int
    message_count: int  # not retracted
    token_count: int  # of those
    header_change: int  # the number of the newest change of what a caller may change of it; 0: none
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageInput:
    """What a caller says of a message, secrets taken out."""

    message_id: str
    role: str
    content: str = ""
    parts: tuple[Part, ...] = ()
    name: str = ""
    agent_id: str = ""
    metadata_json: str = ""
    said_at: datetime | None = None  # None: now
    session: str = ""
    task_id: UUID | None = None
    reference_task_ids: tuple[UUID, ...] = ()  # of its context
    redacted: tuple[int, ...] = ()  # places of the parts that held secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageText:
    """A passage of a message, before it is known where the message stands."""

    part: int  # 0: the content, else the number of the part, from 1
    kind: str
    text: str
    terms: Sequence[str]
    marks: int
    is_said: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message that is to be written, with all that is worked out of it before."""

    said: MessageInput
    said_at: datetime | None  # None: when its transaction began, by the clock of Postgres, as `created_at`
    tokens: int
    size_bytes: int
    sha256: bytes
    passages: tuple[PassageText, ...] = ()  # what it is found by


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of the log."""

    message_id: str
    seq: int
    role: str
    content: str
    parts: tuple[Part, ...]
    name: str
    agent_id: str
    metadata_json: str
    created_at: datetime
    said_at: datetime
    tokens: int
    task_id: UUID | None
    reference_task_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retracted:
    """Messages that one call took back."""

    seqs: tuple[int, ...]
    message_ids: tuple[str, ...]  # in the same order


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What became of a message that was sent."""

    message_id: str
    seq: int
    created_at: datetime
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFilter:
    """Which contexts a list has; what is empty or None asks for nothing."""

    agent_id: str = ""
    owner_user_id: str = ""
    created_from: datetime | None = None
    created_to: datetime | None = None
    is_closed: bool | None = None
    external_id: ExternalId | None = None
    metadata_contains_json: str = "{}"
    app_id: str = ""
    entity_node_id: UUID | None = None


class TaskState(Enum):
    """How far a task is, as in A2A; the value is what is stored."""

    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    AUTH_REQUIRED = "auth_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"

    @property
    def is_end(self) -> bool:
        """Whether nothing follows it."""
        return self in _ENDS


_ENDS = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInput:
    """What a caller says of a task, secrets taken out."""

    state: TaskState | None = None
    message: MessageInput | None = None  # of the status
    reference_task_ids: tuple[UUID, ...] = ()
    metadata_json: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Work that is done within a context."""

    task_id: UUID
    context_id: UUID
    state: TaskState
    message: MessageInput | None  # that came with the state
    status_at: datetime
    reference_task_ids: tuple[UUID, ...]
    metadata_json: str
    version: int
    created_by: str
    created_at: datetime
    updated_at: datetime
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactInput:
    """What a caller says of an artifact, or of a chunk of one, secrets taken out."""

    artifact_id: str
    name: str = ""
    description: str = ""
    parts: tuple[Part, ...] = ()
    metadata_json: str = ""
    append: bool = False  # to what its newest version has
    is_last: bool = False  # nothing more comes to this version


@dataclass(frozen=True, slots=True, kw_only=True)
class NewArtifact:
    """An artifact, or a chunk of one, that is to be written, with all that is worked out of it before."""

    said: ArtifactInput
    tokens: int
    size_bytes: int
    passages: tuple[PassageText, ...]  # what it is found by


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A version of what a task made."""

    context_id: UUID
    task_id: UUID
    artifact_id: str
    version: int  # from 1
    name: str
    description: str
    is_complete: bool
    is_newest: bool
    part_count: int
    passage_count: int
    tokens: int
    size_bytes: int
    place: int  # of its passages in the index, below zero
    created_by: str
    created_at: datetime
    updated_at: datetime
    parts: tuple[Part, ...] = ()  # none in a list
    metadata_json: str = ""
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names
