"""Values of contextkeep/context/v1/tasks.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import tasks_pb2 as pb
from contextkeep.values.base import kept, time_of
from contextkeep.values.bases import TaskBase
from contextkeep.values.messages import ChatMessage

# State of a task, as in A2A.
TaskState = Literal[
    "submitted",
    "working",
    "completed",
    "failed",
    "canceled",
    "input_required",
    "rejected",
    "auth_required",
]
TASK_STATES: dict[int, TaskState] = {
    1: "submitted",
    2: "working",
    3: "completed",
    4: "failed",
    5: "canceled",
    6: "input_required",
    7: "rejected",
    8: "auth_required",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Task(TaskBase):
    """Work within a context."""

    # Made by the server.
    task_id: str = ""
    context_id: str = ""
    state: TaskState | Literal["unknown"] = "unknown"
    # A message of the agent about the state: a question, or a reason. It belongs to the status and not to the log: it
    # has no `seq`, and recall and search do not find it.
    status_message: ChatMessage | None = None
    status_at: datetime
    # Other tasks of the context on which this task builds.
    reference_task_ids: tuple[str, ...] = ()
    metadata_json: str = "{}"
    # Number of the newest change; a new task has version 1.
    version: int = 0
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    # Unset if no import wrote it.
    imported: Imported | None = None
    _metadata: Any = kept()

    @property
    def metadata(self) -> dict[str, Any]:
        """Return `metadata_json`, parsed."""
        return self._kept_object("_metadata", self.metadata_json)

    @classmethod
    def from_proto(cls, message: pb.Task) -> Task:
        """Return the value of a message."""
        return cls(
            task_id=message.task_id,
            context_id=message.context_id,
            state=TASK_STATES.get(message.status.state, "unknown"),
            status_message=ChatMessage.from_proto(message.status.message) if message.status.HasField("message") else None,
            status_at=time_of(message.status.time),
            reference_task_ids=tuple(message.reference_task_ids),
            metadata_json=message.metadata_json,
            version=message.version,
            created_by=message.created_by,
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )
