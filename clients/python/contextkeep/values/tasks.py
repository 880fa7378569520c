"""Tasks with their messages and artifacts."""

from __future__ import annotations

from typing import NamedTuple

from contextkeep._gen.values_artifacts import Artifact
from contextkeep._gen.values_tasks import Task
from contextkeep.context.v1 import tasks_pb2 as tasks_pb
from contextkeep.values.messages import ChatMessage


class TaskHistory(NamedTuple):
    """What `tasks.get` found."""

    task: Task
    messages: list[ChatMessage]  # the newest that belong to it, oldest of them first
    artifacts: list[Artifact]  # each in its newest version without its parts, oldest first
    history_is_partial: bool  # older messages were asked for and are left out

    @classmethod
    def from_proto(cls, answer: tasks_pb.GetTaskResponse) -> TaskHistory:
        """Return the value of an answer."""
        return cls(
            Task.from_proto(answer.task),
            [ChatMessage.from_proto(item) for item in answer.history],
            [Artifact.from_proto(artifact) for artifact in answer.artifacts],
            answer.history_is_partial,
        )
