"""Contexts, and what became of messages that were sent to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.inputs import ExternalId
from contextkeep.values.base import Value, kept, shown, time_of
from contextkeep.values.messages import ChatMessage

ContextState = Literal["open", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Context(Value):
    """One isolated conversation, without its messages."""

    context_id: str
    title: str = ""
    external_ids: tuple[ExternalId, ...] = ()
    metadata_json: str = "{}"
    entity_node_id: str = ""  # where it hangs in the entity graph, if it does
    agent_ids: tuple[str, ...] = ()  # of all its messages, in the order in which they were first seen; the first 100
    app_id: str = ""
    agent_bundle_id: str = ""
    owner_user_id: str = ""  # empty: nobody's in particular
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None  # when it goes by itself; None: never
    state: ContextState = "open"
    recall_profile: str = ""  # which ranking recall has here; empty: the default
    last_seq: int = 0  # of the newest message, retracted or not
    message_count: int = 0  # of messages that are not retracted
    token_count: int = 0  # of those
    _metadata: Any = kept()

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata's JSON object."""
        return self._kept_object("_metadata", self.metadata_json)

    def __str__(self) -> str:
        closed = ", closed" if self.state == "closed" else ""
        return f"{self.title or self.context_id} ({self.message_count} messages{closed})"

    @classmethod
    def from_proto(cls, context: contexts_pb.Context) -> Context:
        """Return the value of a message."""
        return cls(
            context_id=context.context_id,
            title=context.title,
            external_ids=tuple(ExternalId(one.system, one.id) for one in context.external_ids),
            metadata_json=context.metadata_json,
            entity_node_id=context.entity_node_id,
            agent_ids=tuple(context.agent_ids),
            app_id=context.app_id,
            agent_bundle_id=context.agent_bundle_id,
            owner_user_id=context.owner_user_id,
            created_by=context.created_by,
            created_at=time_of(context.created_at),
            updated_at=time_of(context.updated_at),
            expires_at=time_of(context.expires_at) if context.HasField("expires_at") else None,
            state="closed" if context.state == contexts_pb.CONTEXT_STATE_CLOSED else "open",
            recall_profile=context.recall_profile,
            last_seq=context.last_seq,
            message_count=context.message_count,
            token_count=context.token_count,
        )


class ContextHistory(NamedTuple):
    """What `get_context` found."""

    context: Context
    messages: list[ChatMessage]  # the newest, oldest of them first


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

    @classmethod
    def from_proto(
        cls,
        sent: contexts_pb.SentMessage,
        answer: contexts_pb.SendMessageResponse | contexts_pb.AppendMessagesResponse,
    ) -> SentMessage:
        """Return the value of a message of an answer."""
        return cls(
            context_id=answer.context_id,
            created=answer.created,
            message_id=sent.message_id,
            seq=sent.seq,
            created_at=time_of(sent.created_at) if sent.HasField("created_at") else None,
            tokens=sent.tokens,
            redacted_parts=tuple(sent.redacted_parts),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContextKey(Value):
    """A key that reaches one context. It is shown once, and not when this is printed."""

    key: str = field(repr=False)
    expires_at: datetime

    def __str__(self) -> str:
        return f"a key until {shown(self.expires_at)}"

    @classmethod
    def from_proto(cls, issued: contexts_pb.IssueContextKeyResponse) -> ContextKey:
        """Return the value of a message."""
        return cls(key=issued.key, expires_at=time_of(issued.expires_at))
