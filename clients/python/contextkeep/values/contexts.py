"""Contexts, and what became of messages that were sent to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.inputs import ExternalId
from contextkeep.values.base import Value, kept, shown, time_of
from contextkeep.values.imported import Imported, imported_of
from contextkeep.values.messages import ChatMessage

ContextState = Literal["open", "closed"]
ErasureState = Literal["running", "finished"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UnreadRecord(Value):
    """A record that a message or an artifact points at, and whose file has no text that could be read."""

    seq: int  # of the message; 0 of an artifact
    part: int  # its number in the message or artifact, from 1
    working_memory_id: str
    reason: str  # "password", "too_large", …: docs/documents.md has them all
    detail: str = ""
    task_id: str = ""  # of the artifact
    artifact_id: str = ""

    def __str__(self) -> str:
        where = f"artifact {self.artifact_id}" if self.artifact_id else f"message {self.seq}"
        return f"part {self.part} of {where}: {self.reason} ({self.detail})"

    @classmethod
    def from_proto(cls, record: contexts_pb.UnreadRecord) -> UnreadRecord:
        """Return the value of a message."""
        return cls(
            seq=record.seq,
            part=record.part,
            working_memory_id=record.working_memory_id,
            reason=record.reason,
            detail=record.detail,
            task_id=record.task_id,
            artifact_id=record.artifact_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContextIndex(Value):
    """How far the index of a context is: words find a passage at once, the embedder's vectors follow."""

    passage_count: int = 0  # that words find
    indexed_count: int = 0  # of them, that meaning finds, too
    pending_count: int = 0  # still to be made, and records that are still to be read
    failed_count: int = 0  # that the embedder does not take, and records whose file could not be read
    oldest_pending_at: datetime | None = None  # None: nothing is pending
    error: str = ""  # why what is pending was not made the last time it was tried
    unread: tuple[UnreadRecord, ...] = ()  # records whose file could not be read, the newest 20 first
    without_text_count: int = 0  # records whose file has no text that anything reads, such as a picture

    @property
    def is_complete(self) -> bool:
        """Whether nothing is pending."""
        return not self.pending_count

    def __str__(self) -> str:
        return f"{self.indexed_count} of {self.passage_count} passages have vectors, {self.pending_count} are pending"

    @classmethod
    def from_proto(cls, index: contexts_pb.ContextIndex) -> ContextIndex:
        """Return the value of a message."""
        return cls(
            passage_count=index.passage_count,
            indexed_count=index.indexed_count,
            pending_count=index.pending_count,
            failed_count=index.failed_count,
            oldest_pending_at=time_of(index.oldest_pending_at) if index.HasField("oldest_pending_at") else None,
            error=index.error,
            unread=tuple(map(UnreadRecord.from_proto, index.unread)),
            without_text_count=index.without_text_count,
        )


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
    index: ContextIndex | None = None  # how far its index is; `get_context` alone says it
    ancestor_ids: tuple[str, ...] = ()  # from which it was forked, the first one first
    imported: Imported | None = None  # None: no import wrote it
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
            imported=imported_of(context.imported, is_set=context.HasField("imported")),
            expires_at=time_of(context.expires_at) if context.HasField("expires_at") else None,
            state="closed" if context.state == contexts_pb.CONTEXT_STATE_CLOSED else "open",
            recall_profile=context.recall_profile,
            last_seq=context.last_seq,
            message_count=context.message_count,
            token_count=context.token_count,
            index=ContextIndex.from_proto(context.index) if context.HasField("index") else None,
            ancestor_ids=tuple(context.ancestor_ids),
        )


class ContextHistory(NamedTuple):
    """What `get_context` found."""

    context: Context
    messages: list[ChatMessage]  # the newest, oldest of them first


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecalledItem(Value):
    """A passage of a context that was recalled or found."""

    ref: str  # names it in its context: "m12.0" is the first passage of the message with `seq` 12
    kind: str  # "text", "data", "tool_call", "tool_result", "file", "record" or "artifact"
    seq: int  # 0 of an artifact
    message_id: str
    role: str
    name: str = ""  # who spoke, where several share a role
    said_at: datetime
    text: str
    tokens: int
    score: float
    features: Mapping[str, float] = field(default_factory=dict, hash=False)  # shares of the score, if asked for
    task_id: str = ""  # the task that it belongs to
    artifact_id: str = ""  # the artifact that it is of

    def __str__(self) -> str:
        return f"[{self.ref}] {self.role}: {self.text}"

    @classmethod
    def from_proto(cls, item: contexts_pb.RecalledItem) -> RecalledItem:
        """Return the value of a message."""
        return cls(
            ref=item.ref,
            kind=item.kind,
            seq=item.seq,
            message_id=item.message_id,
            role=item.role,
            name=item.name,
            said_at=time_of(item.said_at),
            text=item.text,
            tokens=item.tokens,
            score=item.score,
            features=dict(item.features),
            task_id=item.task_id,
            artifact_id=item.artifact_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ByMeaning(Value):
    """Whether passages were compared by what they mean, too, or by words alone."""

    is_compared: bool = False
    error: str = ""  # why they were not, where the service has an embedder
    pending_count: int = 0  # what is still to be made of the context's index: words alone find it

    @classmethod
    def from_proto(cls, meaning: contexts_pb.ByMeaning) -> ByMeaning:
        """Return the value of a message."""
        return cls(is_compared=meaning.is_compared, error=meaning.error, pending_count=meaning.pending_count)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recalled(Value):
    """What of a context's past matters to a text."""

    items: tuple[RecalledItem, ...] = ()  # the most relevant first
    prompt_text: str = ""  # the same as one block for a model, oldest first, marked as quoted; empty: there is nothing
    tokens: int = 0  # of `prompt_text`
    left_out_count: int = 0  # candidates that did not fit the budget or the number of items
    error: str = ""  # the reason for which nothing was recalled behind a message that is written
    by_meaning: ByMeaning = ByMeaning()  # how vectors counted

    def __str__(self) -> str:
        return self.prompt_text

    @classmethod
    def from_proto(cls, recalled: contexts_pb.Recalled) -> Recalled:
        """Return the value of a message."""
        return cls(
            items=tuple(map(RecalledItem.from_proto, recalled.items)),
            prompt_text=recalled.prompt_text,
            tokens=recalled.tokens,
            left_out_count=recalled.left_out_count,
            error=recalled.error,
            by_meaning=ByMeaning.from_proto(recalled.by_meaning),
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
    recalled: Recalled | None = None  # what of the context's past matters to it; None: nothing was to be recalled

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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LeftOutMessage(Value):
    """A message of a history that a context does not take."""

    node_id: str  # of which it came
    reason: str  # as of an error: "LIMIT_EXCEEDED", "INVALID_ARGUMENT", "RECORD_NOT_FOUND"
    detail: str

    def __str__(self) -> str:
        return f"of node {self.node_id}: {self.reason} ({self.detail})"

    @classmethod
    def from_proto(cls, left_out: contexts_pb.LeftOutMessage) -> LeftOutMessage:
        """Return the value of a message."""
        return cls(node_id=left_out.node_id, reason=left_out.reason, detail=left_out.detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedHistory(Value):
    """What a context was given of a history."""

    context_id: str = ""  # empty: the history has no message to begin one with
    created: bool = False  # the call began the context
    appended_count: int = 0
    retracted_count: int = 0  # of nodes that changed
    unchanged_count: int = 0  # messages that were there already
    nodes_failed: int = 0  # on which a rule failed: what the context has of them stays
    roles_unknown: int = 0  # messages without a role, which are left out
    left_out_count: int = (
        0  # messages that the context does not take: an older version stays, the next call tries again
    )
    left_out: tuple[LeftOutMessage, ...] = ()  # the first 20 of them

    @classmethod
    def from_proto(cls, synced: contexts_pb.SyncHistoryResponse) -> SyncedHistory:
        """Return the value of an answer."""
        plain = {name: getattr(synced, name) for name in cls.__slots__ if name != "left_out"}
        return cls(**plain, left_out=tuple(map(LeftOutMessage.from_proto, synced.left_out)))


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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Erasure(Value):
    """The receipt of a context that is gone. It is there for nobody since `created_at`; `finished`: nothing is left."""

    erasure_id: str
    context_id: str
    state: ErasureState = "running"
    created_at: datetime
    finished_at: datetime | None = None
    requested_by: str = ""  # empty: it was past its time
    message_count: int = 0  # that there were, retracted ones too
    messages_removed: int = 0
    passages_removed: int = 0  # of its index
    vectors_removed: int = 0
    external_ids_removed: int = 0
    answers_removed: int = 0  # of writes, which were kept for their `request_id`
    keys_ended: int = 0
    tasks_removed: int = 0
    artifacts_removed: int = 0  # versions
    windows_removed: int = 0
    window_steps_removed: int = 0  # what they were packed of, and their accounts

    def __str__(self) -> str:
        done = "all" if self.state == "finished" else f"{self.messages_removed} of {self.message_count} messages"
        return f"erasure of {self.context_id} ({done} removed)"

    @classmethod
    def from_proto(cls, erasure: contexts_pb.Erasure) -> Erasure:
        """Return the value of a message."""
        return cls(
            erasure_id=erasure.erasure_id,
            context_id=erasure.context_id,
            state="finished" if erasure.state == contexts_pb.ERASURE_STATE_FINISHED else "running",
            created_at=time_of(erasure.created_at),
            finished_at=time_of(erasure.finished_at) if erasure.HasField("finished_at") else None,
            requested_by=erasure.requested_by,
            message_count=erasure.message_count,
            messages_removed=erasure.messages_removed,
            passages_removed=erasure.passages_removed,
            vectors_removed=erasure.vectors_removed,
            external_ids_removed=erasure.external_ids_removed,
            answers_removed=erasure.answers_removed,
            keys_ended=erasure.keys_ended,
            tasks_removed=erasure.tasks_removed,
            artifacts_removed=erasure.artifacts_removed,
            windows_removed=erasure.windows_removed,
            window_steps_removed=erasure.window_steps_removed,
        )
