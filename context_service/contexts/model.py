"""The values of contexts, messages, tasks and artifacts: as callers describe them, and as they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from context_service.kernel.parts import Part

MESSAGES_MAX = 500  # messages that one call writes or retracts at most
FILES_OF_RESULT_MAX = 100  # files of the result of a tool
ARTIFACT_ROLE = "assistant"  # the role of the maker of artifacts


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalId:
    """The id of a context in another system."""

    system: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextInput:
    """A new context, or the changes of one, as a caller describes it."""

    title: str = ""
    external_ids: tuple[ExternalId, ...] = ()
    metadata_json: str = "{}"
    entity_node_id: UUID | None = None
    app_id: str = ""
    agent_bundle_id: str = ""
    expires_at: datetime | None = None
    recall_profile: str = ""
    models: str = ""  # whether text may be sent to a model: "on", "off", or empty
    learning: str = ""  # "off", "rules", "model", or empty
    is_findable: bool | None = None  # whether `SearchContexts` finds it; None if the settings decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The header of a context."""

    context_id: UUID
    ancestors: tuple[UUID, ...]  # the contexts that it was forked from, the oldest first, and itself
    title: str
    external_ids: tuple[ExternalId, ...]
    metadata_json: str
    entity_node_id: UUID | None
    agent_ids: tuple[str, ...]
    app_id: str
    agent_bundle_id: str
    owner_user_id: str  # empty if it has no owner
    created_by: str
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    closed_at: datetime | None
    recall_profile: str
    models: str
    is_findable: bool | None
    learning: str
    last_seq: int
    message_count: int  # the number of messages that are not retracted
    token_count: int  # the tokens of those messages
    header_change: int  # the number of the newest change of its header; 0 without one
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageInput:
    """A message as its caller describes it, without its secrets."""

    message_id: str
    role: str
    content: str = ""
    parts: tuple[Part, ...] = ()
    name: str = ""
    agent_id: str = ""
    metadata_json: str = ""
    said_at: datetime | None = None  # None takes the time of the write
    session: str = ""
    task_id: UUID | None = None
    reference_task_ids: tuple[UUID, ...] = ()  # tasks of the same context
    is_imported: bool = False  # its sender does not vouch for its author
    redacted: tuple[int, ...] = ()  # indexes of the parts that had secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageText:
    """A passage of a message that has no place in the log yet."""

    part: int  # 0 for the content, else the number of the part, from 1
    kind: str
    text: str
    terms: Sequence[str]
    marks: int
    is_said: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message that will be written, with the values that are computed before."""

    draft: MessageInput
    said_at: datetime | None  # None takes the time at which the transaction begins, by Postgres's clock
    tokens: int
    size_bytes: int
    sha256: bytes
    passages: tuple[PassageText, ...] = ()  # for search and recall


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
    is_imported: bool = False  # an archive names its author, or its sender does not vouch for the author


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestMessages:
    """The newest messages of a context or task.

    Attributes:
        messages: The oldest first.
        is_partial: Older messages that the caller asked for are left out, since a page is full.
    """

    messages: Sequence[Message] = ()
    is_partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Retracted:
    """Messages that one call retracted."""

    seqs: tuple[int, ...]
    message_ids: tuple[str, ...]  # in the same order


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The place and id of a message that was sent."""

    message_id: str
    seq: int
    created_at: datetime
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFilter:
    """A filter of contexts; empty fields and None filter nothing."""

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
    """The state of a task, as in A2A; the value is the stored text."""

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
        """Whether the state is final."""
        return self in _ENDS


_ENDS = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInput:
    """A task as its caller describes it, without its secrets."""

    state: TaskState | None = None
    message: MessageInput | None = None  # the message of the task's status
    reference_task_ids: tuple[UUID, ...] = ()
    metadata_json: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Work that is done within a context."""

    task_id: UUID
    context_id: UUID
    state: TaskState
    message: MessageInput | None  # the message of the current status
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
    """An artifact or a chunk of one, as its caller describes it, without its secrets."""

    artifact_id: str
    name: str = ""
    description: str = ""
    parts: tuple[Part, ...] = ()
    metadata_json: str = ""
    append: bool = False  # append the parts to the newest version, as a chunk
    is_last: bool = False  # this chunk completes the version


@dataclass(frozen=True, slots=True, kw_only=True)
class NewArtifact:
    """An artifact or a chunk of one that will be written, with the values that are computed before."""

    draft: ArtifactInput
    tokens: int
    size_bytes: int
    passages: tuple[PassageText, ...]  # for search and recall


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """A version of an artifact of a task."""

    context_id: UUID
    task_id: UUID
    artifact_id: str
    version: int  # the number of the version, from 1
    name: str
    description: str
    is_complete: bool
    is_newest: bool
    part_count: int
    passage_count: int
    tokens: int
    size_bytes: int
    place: int  # the place of its passages in the index, below zero
    created_by: str
    created_at: datetime
    updated_at: datetime
    parts: tuple[Part, ...] = ()  # none in a list
    metadata_json: str = ""
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names
