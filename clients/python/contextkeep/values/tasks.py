"""Tasks with their messages and artifacts."""

from __future__ import annotations

from typing import NamedTuple

from contextkeep._gen.values_contexts import Artifact, Task
from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.values.messages import ChatMessage


class TaskHistory(NamedTuple):
    """What `tasks.get` found."""

    task: Task
    messages: list[ChatMessage]  # the newest that belong to it, oldest of them first
    artifacts: list[Artifact]  # each in its newest version without its parts, oldest first

    @classmethod
    def from_proto(cls, answer: contexts_pb.GetTaskResponse) -> TaskHistory:
        """Return the value of an answer."""
        return cls(
            Task.from_proto(answer.task),
            [ChatMessage.from_proto(one) for one in answer.history],
            [Artifact.from_proto(one) for one in answer.artifacts],
        )
