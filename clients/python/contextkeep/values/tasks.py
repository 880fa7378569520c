"""Tasks of contexts, and what they make."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args

from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.values.base import Value, kept, parsed_object, time_of
from contextkeep.values.imported import Imported, imported_of
from contextkeep.values.messages import ChatMessage, Part

TaskState = Literal[
    "submitted", "working", "input_required", "auth_required", "completed", "failed", "canceled", "rejected"
]
_STATES: dict[int, TaskState] = {
    contexts_pb.TaskState.Value(f"TASK_STATE_{name.upper()}"): name for name in get_args(TaskState)
}
_ENDS = frozenset({"completed", "failed", "canceled", "rejected"})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Task(Value):
    """Work that is done within a context. An ended one stays as it is."""

    task_id: str
    context_id: str
    state: TaskState | Literal["unknown"]  # "unknown": this client is older than the service
    status_message: ChatMessage | None = None  # what the agent says of the state; no message of the log
    status_at: datetime  # since when
    reference_task_ids: tuple[str, ...] = ()  # others of the context, which it builds on
    metadata_json: str = "{}"
    version: int = 0  # counts its changes, from 1
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    imported: Imported | None = None  # None: no import wrote it
    _metadata: Any = kept()

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata's JSON object."""
        return self._kept_object("_metadata", self.metadata_json)

    @property
    def has_ended(self) -> bool:
        """Whether nothing of it changes any more."""
        return self.state in _ENDS

    def __str__(self) -> str:
        return f"{self.task_id} ({self.state})"

    @classmethod
    def from_proto(cls, task: contexts_pb.Task) -> Task:
        """Return the value of a message."""
        status = task.status
        return cls(
            task_id=task.task_id,
            context_id=task.context_id,
            state=_STATES.get(status.state, "unknown"),
            status_message=ChatMessage.from_proto(status.message) if status.HasField("message") else None,
            status_at=time_of(status.time),
            reference_task_ids=tuple(task.reference_task_ids),
            metadata_json=task.metadata_json,
            version=task.version,
            created_by=task.created_by,
            created_at=time_of(task.created_at),
            updated_at=time_of(task.updated_at),
            imported=imported_of(task.imported, is_set=task.HasField("imported")),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Artifact(Value):
    """A version of what a task made. Parts and metadata are there where it was read by `get_artifact`."""

    artifact_id: str  # the sender's, unique in its task
    task_id: str
    context_id: str
    name: str = ""
    description: str = ""
    version: int = 0  # from 1
    is_complete: bool = False  # nothing more comes to this version
    parts: tuple[Part, ...] = ()
    metadata_json: str = ""
    part_count: int = 0
    size_bytes: int = 0
    tokens: int = 0  # what its texts take of a model's context, about
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    imported: Imported | None = None  # None: no import wrote it
    redacted_parts: tuple[int, ...] = ()  # of what was put: places of parts that held secrets

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata's JSON object."""
        return parsed_object(self.metadata_json)

    def __str__(self) -> str:
        return f"{self.name or self.artifact_id} (version {self.version})"

    @classmethod
    def from_proto(cls, artifact: contexts_pb.Artifact, redacted_parts: Iterable[int] = ()) -> Artifact:
        """Return the value of a message."""
        return cls(
            artifact_id=artifact.artifact_id,
            task_id=artifact.task_id,
            context_id=artifact.context_id,
            name=artifact.name,
            description=artifact.description,
            version=artifact.version,
            is_complete=artifact.is_complete,
            parts=tuple(map(Part.from_proto, artifact.parts)),
            metadata_json=artifact.metadata_json,
            part_count=artifact.part_count,
            size_bytes=artifact.size_bytes,
            tokens=artifact.tokens,
            created_by=artifact.created_by,
            created_at=time_of(artifact.created_at),
            updated_at=time_of(artifact.updated_at),
            imported=imported_of(artifact.imported, is_set=artifact.HasField("imported")),
            redacted_parts=tuple(redacted_parts),
        )


class TaskHistory(NamedTuple):
    """What `get_task` found."""

    task: Task
    messages: list[ChatMessage]  # the newest that belong to it, oldest of them first
    artifacts: list[Artifact]  # each in its newest version without its parts, oldest first
