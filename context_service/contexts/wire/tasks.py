"""Tasks and artifacts, as answers show them."""

from __future__ import annotations

from typing import cast

from context_service.contexts.model import Artifact, MessageInput, Task
from context_service.history.wire import messages as message_wire
from context_service.kernel.wire import times
from context_service.kernel.wire.imported import imported_of
from contextkeep.context.v1 import artifacts_pb2 as artifacts_pb
from contextkeep.context.v1 import tasks_pb2 as pb
from service_runtime.values.copying import copied

STATE_NAME = "TASK_STATE_{}".format


def task_of(task: Task) -> pb.Task:
    """Return the protobuf message of a task."""
    status = pb.TaskStatus(
        state=cast("pb.TaskState", pb.TaskState.Value(STATE_NAME(task.state.name))),
        time=times.timestamp(task.status_at),
    )
    if task.message:
        _fill(status, task.message)
    return copied(pb.Task, task, status=status, imported=imported_of(task.imported_json))


def artifact_of(artifact: Artifact) -> artifacts_pb.Artifact:
    """Return the protobuf message of an artifact, without its parts and metadata."""
    return copied(
        artifacts_pb.Artifact, artifact, imported=imported_of(artifact.imported_json), parts=None, metadata_json=None
    )


def _fill(status: pb.TaskStatus, draft: MessageInput) -> None:
    """Fill the status of a task with the message that a caller sent for it."""
    message = status.message
    message.message_id = draft.message_id
    message.role = draft.role
    message.content = draft.content
    message.name = draft.name
    message.agent_id = draft.agent_id
    message.metadata_json = draft.metadata_json
    for part in draft.parts:
        message_wire.fill_part(message.parts.add(), part)
