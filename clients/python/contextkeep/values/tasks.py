"""Tasks with their messages and artifacts."""

from __future__ import annotations

from typing import NamedTuple

from contextkeep._gen.values_contexts import Artifact, Task
from contextkeep.values.messages import ChatMessage


class TaskHistory(NamedTuple):
    """What `tasks.get` found."""

    task: Task
    messages: list[ChatMessage]  # the newest that belong to it, oldest of them first
    artifacts: list[Artifact]  # each in its newest version without its parts, oldest first
