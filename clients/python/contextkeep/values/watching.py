"""What happens in a context, as a watch tells it."""

from __future__ import annotations

from dataclasses import dataclass

from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.values.base import Value
from contextkeep.values.contexts import Context
from contextkeep.values.messages import ChatMessage
from contextkeep.values.tasks import Artifact, Task


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RetractedMessages(Value):
    """Messages that one call took back; also such as were never told."""

    seqs: tuple[int, ...]
    message_ids: tuple[str, ...]  # in the same order

    @classmethod
    def from_proto(cls, retracted: contexts_pb.RetractedMessages) -> RetractedMessages:
        """Return the value of a message."""
        return cls(seqs=tuple(retracted.seqs), message_ids=tuple(retracted.message_ids))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContextEvent(Value):
    """Something that happened in a context: one of the first five."""

    message: ChatMessage | None = None
    task: Task | None = None
    artifact: Artifact | None = None  # without its parts
    retracted: RetractedMessages | None = None  # a copy of them has to go
    context: Context | None = None  # its header, changed or closed
    seq_from: int = 0  # from where on there is more, as the next one
    change_after: int = 0

    @classmethod
    def from_proto(cls, answer: contexts_pb.WatchContextResponse) -> ContextEvent:
        """Return the value of a message."""
        return cls(
            message=ChatMessage.from_proto(answer.message) if answer.HasField("message") else None,
            task=Task.from_proto(answer.task) if answer.HasField("task") else None,
            artifact=Artifact.from_proto(answer.artifact) if answer.HasField("artifact") else None,
            retracted=RetractedMessages.from_proto(answer.retracted) if answer.HasField("retracted") else None,
            context=Context.from_proto(answer.context) if answer.HasField("context") else None,
            seq_from=answer.seq_from,
            change_after=answer.change_after,
        )
