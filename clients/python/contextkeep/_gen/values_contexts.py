"""Values of contextkeep/context/v1/contexts.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.inputs import ExternalId
from contextkeep.values.base import Value, kept, time_of
from contextkeep.values.bases import ContextBase
from contextkeep.values.bases import ContextIndexBase
from contextkeep.values.bases import ContextKeyBase
from contextkeep.values.bases import ErasureBase
from contextkeep.values.bases import TaskBase
from contextkeep.values.bases import UnreadRecordBase
from contextkeep.values.conversions import external_id
from contextkeep.values.messages import ChatMessage, Part

# How far a task is, as in A2A.
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
# Whether there is something left of a context that was deleted, or was past its time.
ErasureState = Literal[
    "running",
    "finished",
]
ERASURE_STATES: dict[int, ErasureState] = {
    1: "running",
    2: "finished",
}
# Whether a context takes messages.
ContextState = Literal[
    "open",
    "closed",
]
CONTEXT_STATES: dict[int, ContextState] = {
    1: "open",
    2: "closed",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Task(TaskBase):
    """Work that is done within a context."""

    # Made by the server.
    task_id: str = ""
    context_id: str = ""
    state: TaskState | Literal["unknown"] = "unknown"
    # What the agent says of it: a question, a reason. It belongs to the status, and is no message of the log: it has no
    # `seq`, and is not found.
    status_message: ChatMessage | None = None
    status_at: datetime
    # Other tasks of the context, which it builds on.
    reference_task_ids: tuple[str, ...] = ()
    metadata_json: str = "{}"
    # Counts its changes, from 1.
    version: int = 0
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    # Unset: no import wrote it.
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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Artifact(Value):
    """A version of what a task made."""

    # The sender's, unique in its task.
    artifact_id: str = ""
    task_id: str = ""
    context_id: str = ""
    name: str = ""
    description: str = ""
    # From 1.
    version: int = 0
    # Nothing more comes to this version: its last chunk is there.
    is_complete: bool = False
    # In GetArtifact only, as the metadata.
    parts: tuple[Part, ...] = ()
    metadata_json: str = "{}"
    part_count: int = 0
    size_bytes: int = 0
    # What its texts take of a model's context, about.
    tokens: int = 0
    created_by: str = ""
    # Of this version.
    created_at: datetime
    updated_at: datetime
    # Unset: no import wrote it.
    imported: Imported | None = None
    redacted_parts: tuple[int, ...] = ()
    _metadata: Any = kept()

    @property
    def metadata(self) -> dict[str, Any]:
        """Return `metadata_json`, parsed."""
        return self._kept_object("_metadata", self.metadata_json)

    def __str__(self) -> str:
        return f"{self.name or self.artifact_id} (version {self.version})"

    @classmethod
    def from_proto(cls, message: pb.Artifact) -> Artifact:
        """Return the value of a message."""
        return cls(
            artifact_id=message.artifact_id,
            task_id=message.task_id,
            context_id=message.context_id,
            name=message.name,
            description=message.description,
            version=message.version,
            is_complete=message.is_complete,
            parts=tuple(map(Part.from_proto, message.parts)),
            metadata_json=message.metadata_json,
            part_count=message.part_count,
            size_bytes=message.size_bytes,
            tokens=message.tokens,
            created_by=message.created_by,
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RetractedMessages(Value):
    """What one call of RetractMessages, or of SyncHistory, took back; also of messages that were never told."""

    seqs: tuple[int, ...] = ()
    # In the same order.
    message_ids: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.RetractedMessages) -> RetractedMessages:
        """Return the value of a message."""
        return cls(
            seqs=tuple(message.seqs),
            message_ids=tuple(message.message_ids),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class UnreadRecord(UnreadRecordBase):
    """A record that a part of a message or of an artifact names, and whose file has no text that could be read.

    What names it stays as it is.
    """

    # Of the message; 0 of an artifact.
    seq: int = 0
    # The number of the part, from 1.
    part: int = 0
    working_memory_id: str = ""
    # "too_large", "too_many_pages", "password", "not_as_said", "forbidden", "timeout", "memory", "broken" or
    # "no_parser"; there may be others in time.
    reason: str = ""
    # The same for people.
    detail: str = ""
    # Which artifact names it; empty of a message.
    task_id: str = ""
    artifact_id: str = ""

    @classmethod
    def from_proto(cls, message: pb.UnreadRecord) -> UnreadRecord:
        """Return the value of a message."""
        return cls(
            seq=message.seq,
            part=message.part,
            working_memory_id=message.working_memory_id,
            reason=message.reason,
            detail=message.detail,
            task_id=message.task_id,
            artifact_id=message.artifact_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContextIndex(ContextIndexBase):
    """How far the index of a context is.

    Messages are cut into passages, which words find when a message is acknowledged; the embedder's vectors, by which
    meaning finds them, follow; and so does what records say that parts of messages name, with their files.
    """

    # Passages that words find.
    passage_count: int = 0
    # Those that have a vector of the embedder's model. What has one of another model is not compared until it is made
    # anew: `context-service embeddings backfill`.
    indexed_count: int = 0
    # What is still to be made: vectors of passages, and records that are still to be read.
    pending_count: int = 0
    # What the embedder does not take, which words find all the same; and records whose file could not be read.
    failed_count: int = 0
    # When the oldest message was written of which something is pending; unset: nothing is.
    oldest_pending_at: datetime | None = None
    # Why what is pending was not made the last time it was tried; empty: it was not tried, or nothing is pending.
    error: str = ""
    # Records whose file could not be read, the newest 20 first.
    unread: tuple[UnreadRecord, ...] = ()
    # Records whose file has no text that anything reads, such as a picture: name and description find them, and nothing
    # has failed.
    without_text_count: int = 0

    @classmethod
    def from_proto(cls, message: pb.ContextIndex) -> ContextIndex:
        """Return the value of a message."""
        return cls(
            passage_count=message.passage_count,
            indexed_count=message.indexed_count,
            pending_count=message.pending_count,
            failed_count=message.failed_count,
            oldest_pending_at=time_of(message.oldest_pending_at) if message.HasField("oldest_pending_at") else None,
            error=message.error,
            unread=tuple(map(UnreadRecord.from_proto, message.unread)),
            without_text_count=message.without_text_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Context(ContextBase):
    """One isolated conversation."""

    context_id: str = ""
    title: str = ""
    external_ids: tuple[ExternalId, ...] = ()
    metadata_json: str = "{}"
    # Where it hangs in the entity graph, if it does.
    entity_node_id: str = ""
    # Of all its messages, in the order in which they were first seen; the first 100.
    agent_ids: tuple[str, ...] = ()
    app_id: str = ""
    agent_bundle_id: str = ""
    # Whose it is; empty: nobody's in particular, and seen by all of the tenant.
    owner_user_id: str = ""
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    # When it goes by itself; unset: never.
    expires_at: datetime | None = None
    state: ContextState = "open"
    # Which ranking recall has here; empty: the default.
    recall_profile: str = ""
    # The `seq` of the newest message, retracted or not.
    last_seq: int = 0
    # Messages that are not retracted, and their tokens.
    message_count: int = 0
    # Tokens of those messages.
    token_count: int = 0
    # How far its index is; set by GetContext alone.
    index: ContextIndex | None = None
    # From which it was forked (see ForkWindow), the first one first. It is closed and erased with each of them.
    ancestor_ids: tuple[str, ...] = ()
    # Unset: no import wrote it.
    imported: Imported | None = None
    _metadata: Any = kept()

    @property
    def metadata(self) -> dict[str, Any]:
        """Return `metadata_json`, parsed."""
        return self._kept_object("_metadata", self.metadata_json)

    @classmethod
    def from_proto(cls, message: pb.Context) -> Context:
        """Return the value of a message."""
        return cls(
            context_id=message.context_id,
            title=message.title,
            external_ids=tuple(map(external_id, message.external_ids)),
            metadata_json=message.metadata_json,
            entity_node_id=message.entity_node_id,
            agent_ids=tuple(message.agent_ids),
            app_id=message.app_id,
            agent_bundle_id=message.agent_bundle_id,
            owner_user_id=message.owner_user_id,
            created_by=message.created_by,
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            expires_at=time_of(message.expires_at) if message.HasField("expires_at") else None,
            state=CONTEXT_STATES.get(message.state, "open"),
            recall_profile=message.recall_profile,
            last_seq=message.last_seq,
            message_count=message.message_count,
            token_count=message.token_count,
            index=ContextIndex.from_proto(message.index) if message.HasField("index") else None,
            ancestor_ids=tuple(message.ancestor_ids),
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContextEvent(Value):
    """An event of a context: one of the messages."""

    message: ChatMessage | None = None
    task: Task | None = None
    # Without its parts.
    artifact: Artifact | None = None
    # Whoever keeps a copy of them has to remove it.
    retracted: RetractedMessages | None = None
    # Changed, or closed. Without its index.
    context: Context | None = None
    # For the next call.
    seq_from: int = 0
    change_after: int = 0

    @classmethod
    def from_proto(cls, message: pb.WatchContextResponse) -> ContextEvent:
        """Return the value of a message."""
        return cls(
            message=ChatMessage.from_proto(message.message) if message.HasField("message") else None,
            task=Task.from_proto(message.task) if message.HasField("task") else None,
            artifact=Artifact.from_proto(message.artifact) if message.HasField("artifact") else None,
            retracted=RetractedMessages.from_proto(message.retracted) if message.HasField("retracted") else None,
            context=Context.from_proto(message.context) if message.HasField("context") else None,
            seq_from=message.seq_from,
            change_after=message.change_after,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Erasure(ErasureBase):
    """The receipt of a context that is gone."""

    erasure_id: str = ""
    context_id: str = ""
    state: ErasureState = "running"
    # Since when it is there for nobody.
    created_at: datetime
    # Unset while it runs.
    finished_at: datetime | None = None
    # The subject of the credential that deleted it; empty: it was past its time.
    requested_by: str = ""
    # How many messages there were, retracted ones too, and how many of them are removed.
    message_count: int = 0
    messages_removed: int = 0
    # Pieces of text of its index.
    passages_removed: int = 0
    vectors_removed: int = 0
    external_ids_removed: int = 0
    # Answers of writes that were kept for their `request_id`.
    answers_removed: int = 0
    # Keys of IssueContextKey.
    keys_ended: int = 0
    tasks_removed: int = 0
    # Versions.
    artifacts_removed: int = 0
    windows_removed: int = 0
    # Of its windows: what they were packed of.
    window_steps_removed: int = 0

    @classmethod
    def from_proto(cls, message: pb.Erasure) -> Erasure:
        """Return the value of a message."""
        return cls(
            erasure_id=message.erasure_id,
            context_id=message.context_id,
            state=ERASURE_STATES.get(message.state, "running"),
            created_at=time_of(message.created_at),
            finished_at=time_of(message.finished_at) if message.HasField("finished_at") else None,
            requested_by=message.requested_by,
            message_count=message.message_count,
            messages_removed=message.messages_removed,
            passages_removed=message.passages_removed,
            vectors_removed=message.vectors_removed,
            external_ids_removed=message.external_ids_removed,
            answers_removed=message.answers_removed,
            keys_ended=message.keys_ended,
            tasks_removed=message.tasks_removed,
            artifacts_removed=message.artifacts_removed,
            windows_removed=message.windows_removed,
            window_steps_removed=message.window_steps_removed,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecalledItem(Value):
    """A passage that was recalled or found."""

    # Names the passage in its context: "m12.0" is the first of the message with `seq` 12, "a3.0" the first of an
    # artifact.
    ref: str = ""
    # "text", "data", "tool_call", "tool_result", "file" (its name, or an address), "record" (what the record says that
    # a part names, with its file), or "artifact".
    kind: str = ""
    # 0 of an artifact: it is none of the log.
    seq: int = 0
    message_id: str = ""
    role: str = ""
    # The speaker, where several share a role.
    name: str = ""
    said_at: datetime
    text: str = ""
    tokens: int = 0
    score: float = 0.0
    # Shares of the score by feature, where they were asked for.
    features: dict[str, float] = field(default_factory=dict, hash=False)
    # The task that it belongs to, and the artifact that it is of.
    task_id: str = ""
    # The artifact that the passage is from.
    artifact_id: str = ""

    def __str__(self) -> str:
        return f"[{self.ref}] {self.role}: {self.text}"

    @classmethod
    def from_proto(cls, message: pb.RecalledItem) -> RecalledItem:
        """Return the value of a message."""
        return cls(
            ref=message.ref,
            kind=message.kind,
            seq=message.seq,
            message_id=message.message_id,
            role=message.role,
            name=message.name,
            said_at=time_of(message.said_at),
            text=message.text,
            tokens=message.tokens,
            score=message.score,
            features=dict(message.features),
            task_id=message.task_id,
            artifact_id=message.artifact_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ByMeaning(Value):
    """Whether passages were compared by what they mean, too, or by words alone."""

    # The vectors of passages were compared with that of the text.
    is_compared: bool = False
    # Why they were not, where the service has an embedder: it did not answer in time, or not as it should.
    error: str = ""
    # What is still to be made of the context's index: words alone find it.
    pending_count: int = 0

    @classmethod
    def from_proto(cls, message: pb.ByMeaning) -> ByMeaning:
        """Return the value of a message."""
        return cls(
            is_compared=message.is_compared,
            error=message.error,
            pending_count=message.pending_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recalled(Value):
    """What was recalled."""

    # The most relevant first.
    items: tuple[RecalledItem, ...] = ()
    # The same as one block, oldest first, each marked as quoted material with its ref. Empty if there is nothing.
    prompt_text: str = ""
    # Of `prompt_text`.
    tokens: int = 0
    # Candidates that did not fit the budget or the number of items.
    left_out_count: int = 0
    # The reason of the error for which nothing was recalled behind a message that is written.
    error: str = ""
    # How vectors counted.
    by_meaning: ByMeaning

    def __str__(self) -> str:
        return f"{self.prompt_text}"

    @classmethod
    def from_proto(cls, message: pb.Recalled) -> Recalled:
        """Return the value of a message."""
        return cls(
            items=tuple(map(RecalledItem.from_proto, message.items)),
            prompt_text=message.prompt_text,
            tokens=message.tokens,
            left_out_count=message.left_out_count,
            error=message.error,
            by_meaning=ByMeaning.from_proto(message.by_meaning),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LeftOutMessage(Value):
    """A message of a history that SyncHistory could not write."""

    # Of which it came.
    node_id: str = ""
    # As of the errors of SendMessage: LIMIT_EXCEEDED, INVALID_ARGUMENT, RECORD_NOT_FOUND.
    reason: str = ""
    # For people: what is wrong with it.
    detail: str = ""

    def __str__(self) -> str:
        return f"of node {self.node_id}: {self.reason} ({self.detail})"

    @classmethod
    def from_proto(cls, message: pb.LeftOutMessage) -> LeftOutMessage:
        """Return the value of a message."""
        return cls(
            node_id=message.node_id,
            reason=message.reason,
            detail=message.detail,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SyncedHistory(Value):
    """What a context got of a history."""

    # Empty, if there was no message to begin one with.
    context_id: str = ""
    # The call began the context.
    created: bool = False
    appended_count: int = 0
    # Messages of nodes that changed.
    retracted_count: int = 0
    # Messages of the history that were there already.
    unchanged_count: int = 0
    # Nodes on which a rule failed: what the context has of them stays.
    nodes_failed: int = 0
    # Messages whose role is none: they are left out.
    roles_unknown: int = 0
    # Messages that the context does not take: such as are too large, or have a part that names a record which the
    # caller cannot read.
    left_out_count: int = 0
    # The first 20 of them.
    left_out: tuple[LeftOutMessage, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.SyncHistoryResponse) -> SyncedHistory:
        """Return the value of a message."""
        return cls(
            context_id=message.context_id,
            created=message.created,
            appended_count=message.appended_count,
            retracted_count=message.retracted_count,
            unchanged_count=message.unchanged_count,
            nodes_failed=message.nodes_failed,
            roles_unknown=message.roles_unknown,
            left_out_count=message.left_out_count,
            left_out=tuple(map(LeftOutMessage.from_proto, message.left_out)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContextKey(ContextKeyBase):
    """A key that reaches one context. It is shown once."""

    # Shown once: only its hash is kept.
    key: str = field(default="", repr=False)
    expires_at: datetime

    @classmethod
    def from_proto(cls, message: pb.IssueContextKeyResponse) -> ContextKey:
        """Return the value of a message."""
        return cls(
            key=message.key,
            expires_at=time_of(message.expires_at),
        )
