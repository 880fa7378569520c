"""Contexts with their messages, and messages that were sent to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from contextkeep._gen.values_artifacts import Artifact
from contextkeep._gen.values_contexts import Context, Recalled
from contextkeep.context.v1 import artifacts_pb2 as artifacts_pb
from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.values.base import Value, time_of
from contextkeep.values.messages import ChatMessage


class ContextHistory(NamedTuple):
    """What `contexts.get` found."""

    context: Context
    messages: list[ChatMessage]  # the newest, oldest of them first
    history_is_partial: bool  # older messages were asked for and are left out; `list_messages` reads them

    @classmethod
    def from_proto(cls, answer: contexts_pb.GetContextResponse) -> ContextHistory:
        """Return the value of an answer."""
        return cls(
            Context.from_proto(answer.context),
            [ChatMessage.from_proto(message) for message in answer.messages],
            answer.history_is_partial,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SentMessage(Value):
    """What became of a message that was sent. Of a standalone one only `redacted_parts` is set."""

    context_id: str = ""
    created: bool = False  # the call began the context
    message_id: str = ""
    seq: int = 0  # its place in the context, from 1
    created_at: datetime | None = None
    tokens: int = 0  # what it takes of a model's context, about
    redacted_parts: tuple[int, ...] = ()  # places of the parts that held secrets; {"redacted": true} stands there
    recalled: Recalled | None = None  # passages of the context that matter to the message; None if recall was off

    @classmethod
    def of_answer(cls, answer: contexts_pb.SendMessageResponse) -> SentMessage:
        """Return the value of the answer to a message."""
        return cls.from_proto(answer.message, answer)

    @classmethod
    def from_proto(
        cls,
        sent: contexts_pb.SentMessage,
        answer: contexts_pb.SendMessageResponse | contexts_pb.AppendMessagesResponse,
    ) -> SentMessage:
        """Return the value of a message of an answer."""
        recalled = None
        if isinstance(answer, contexts_pb.SendMessageResponse) and answer.HasField("recall"):
            recalled = Recalled.from_proto(answer.recall)
        return cls(
            context_id=answer.context_id,
            created=answer.created,
            message_id=sent.message_id,
            seq=sent.seq,
            created_at=time_of(sent.created_at) if sent.HasField("created_at") else None,
            tokens=sent.tokens,
            redacted_parts=tuple(sent.redacted_parts),
            recalled=recalled,
        )


def artifact_of(answer: artifacts_pb.PutArtifactResponse) -> Artifact:
    """Return the artifact of an answer, with the places of its parts that held secrets."""
    return replace(Artifact.from_proto(answer.artifact), redacted_parts=tuple(answer.redacted_parts))
