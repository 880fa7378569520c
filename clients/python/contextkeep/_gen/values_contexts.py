"""Values of contextkeep/context/v1/contexts.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_artifacts import Artifact
from contextkeep._gen.values_context_settings import LEARNING_MODES, LearningMode, MODEL_USES, ModelUse
from contextkeep._gen.values_message import Imported
from contextkeep._gen.values_tasks import Task
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.inputs import ExternalId
from contextkeep.values.base import Value, kept, time_of
from contextkeep.values.bases import ContextBase, ContextIndexBase, ContextKeyBase, ErasureBase, UnreadRecordBase
from contextkeep.values.conversions import external_id
from contextkeep.values.messages import ChatMessage

# State of the removal of a context that was deleted or has expired.
ErasureState = Literal[
    "running",
    "finished",
]
ERASURE_STATES: dict[int, ErasureState] = {
    1: "running",
    2: "finished",
}
# Whether a context accepts messages.
ContextState = Literal[
    "open",
    "closed",
]
CONTEXT_STATES: dict[int, ContextState] = {
    1: "open",
    2: "closed",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RetractedMessages(Value):
    """The messages that one call of RetractMessages or SyncHistory retracted.

    It may name messages that were never sent in the stream.
    """

    seqs: tuple[int, ...] = ()
    # In the same order as `seqs`.
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
    """A record that a part of a message or of an artifact names, and whose file could not be read as text.

    The message or artifact stays as it is.
    """

    # `seq` of the message. 0 if an artifact names the record.
    seq: int = 0
    # The number of the part; the first part is 1.
    part: int = 0
    working_memory_id: str = ""
    # "too_large", "too_many_pages", "password", "not_as_said", "forbidden", "timeout", "memory", "broken" or
    # "no_parser". Later releases may add values.
    reason: str = ""
    # The reason as a text for people.
    detail: str = ""
    # The task of the artifact that names the record. Empty if a message names it.
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
    """State of the index of a context.

    Messages are cut into passages. Words find a passage as soon as its message is acknowledged. Vectors of the
    embedder, for search by meaning, are added later. So are the records that parts of messages name, and their files.
    """

    # Passages that words find.
    passage_count: int = 0
    # Passages that have a vector of the embedder's current model. Passages with a vector of another model are not
    # compared by meaning until `context-service embeddings backfill` computes them again.
    indexed_count: int = 0
    # Work that is pending: vectors of passages to compute, and records to read.
    pending_count: int = 0
    # Passages that the embedder refused (words still find them), and records whose file could not be read.
    failed_count: int = 0
    # When the oldest message with pending work was written. Unset if no work is pending.
    oldest_pending_at: datetime | None = None
    # Error of the last attempt at the pending work. Empty if there was no attempt, or no work is pending.
    error: str = ""
    # Records whose file could not be read, newest first, at most 20.
    unread: tuple[UnreadRecord, ...] = ()
    # Records whose file has no readable text, such as a picture. Their name and description find them; they do not
    # count as failed.
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
    # Its node in the entity graph. Empty if it has none.
    entity_node_id: str = ""
    # The agents of all its messages, in the order of their first message. Only the first 100.
    agent_ids: tuple[str, ...] = ()
    app_id: str = ""
    agent_bundle_id: str = ""
    # Its owner. Empty means that it has no owner, and all callers of the tenant see it.
    owner_user_id: str = ""
    created_by: str = ""
    created_at: datetime
    updated_at: datetime
    # When the context expires and is removed. Unset means never.
    expires_at: datetime | None = None
    state: ContextState = "open"
    # Name of the ranking that recall uses. Empty means that the service chooses by who speaks.
    recall_profile: str = ""
    # The `seq` of the newest message, retracted messages included.
    last_seq: int = 0
    # Number of messages that are not retracted.
    message_count: int = 0
    # Tokens of those messages.
    token_count: int = 0
    # State of its index. Only GetContext sets it.
    index: ContextIndex | None = None
    # The contexts from which it was forked (see ForkWindow), the oldest ancestor first. Closing or erasing one of them
    # closes or erases this context too.
    ancestor_ids: tuple[str, ...] = ()
    # Unset if no import wrote it.
    imported: Imported | None = None
    # Its own setting. Those of its tenant, app and agents apply, too (see `ContextSettings`).
    models: ModelUse | Literal[""] = ""
    # Whether SearchContexts, and queries about a user's own contexts, may find it. Unset means as its agents, app and
    # tenant say (see `ContextSettings`).
    is_findable: bool | None = None
    # Its own setting. Those of its tenant, app and agents apply, too (see `ContextSettings`).
    learning: LearningMode | Literal[""] = ""
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
            models=MODEL_USES.get(message.models, ""),
            is_findable=message.is_findable if message.HasField("is_findable") else None,
            learning=LEARNING_MODES.get(message.learning, ""),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ContextEvent(Value):
    """An event of a context: one field of the `event` oneof is set."""

    message: ChatMessage | None = None
    task: Task | None = None
    # Without its parts.
    artifact: Artifact | None = None
    # A client that keeps a copy of these messages must remove it.
    retracted: RetractedMessages | None = None
    # The header after it changed or was closed, without its index.
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
    """The receipt of a context that was deleted or has expired."""

    erasure_id: str = ""
    context_id: str = ""
    state: ErasureState = "running"
    # When the context became unreadable.
    created_at: datetime
    # Unset while the removal runs.
    finished_at: datetime | None = None
    # The subject of the credential that deleted the context. Empty means that the context expired.
    requested_by: str = ""
    # `message_count` is the number of messages, retracted ones included; `messages_removed` is how many of them are
    # removed.
    message_count: int = 0
    messages_removed: int = 0
    # Passages of its index.
    passages_removed: int = 0
    vectors_removed: int = 0
    external_ids_removed: int = 0
    # Stored answers of writes with a `request_id`.
    answers_removed: int = 0
    # Keys of IssueContextKey.
    keys_ended: int = 0
    tasks_removed: int = 0
    # Versions of artifacts.
    artifacts_removed: int = 0
    windows_removed: int = 0
    # Stored steps of its windows.
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

    # Id of the passage in its context: "m12.0" is the first passage of the message with `seq` 12, "a3.0" the first
    # passage of an artifact.
    ref: str = ""
    # "text", "data", "tool_call", "tool_result", "file" (its name or its address), "record" (text of a record that a
    # part names, and of its file), or "artifact".
    kind: str = ""
    # 0 for an artifact, which has no `seq`.
    seq: int = 0
    message_id: str = ""
    role: str = ""
    # Name of the speaker, if several speakers share a role.
    name: str = ""
    said_at: datetime
    text: str = ""
    tokens: int = 0
    # The probability that the passage answers the text, 0 to 1. It can be compared between questions and contexts. It
    # is 0 if the text asks for nothing, such as a greeting.
    score: float = 0.0
    # Parts of the sum that orders the passages, by feature. Set if the request has `with_features`.
    features: dict[str, float] = field(default_factory=dict, hash=False)
    # The task of the message or artifact.
    task_id: str = ""
    # The artifact of the passage.
    artifact_id: str = ""
    # Ref of a newer passage that says the same thing with another value, or answers the same question later. The newer
    # passage comes first. Empty if there is none among the best 50 passages.
    superseded_by: str = ""
    # As in ChatMessage.
    is_imported: bool = False

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
            superseded_by=message.superseded_by,
            is_imported=message.is_imported,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ByMeaning(Value):
    """Whether passages were compared by meaning, or by words alone."""

    # The vectors of the passages were compared with the vector of the text.
    is_compared: bool = False
    # Why the embedder of the service was not used: it did not answer in time, or its answer was not valid.
    error: str = ""
    # Passages and records of the context that have no vector yet. Only words find them.
    pending_count: int = 0
    # The reranker of the service ordered the first 50 passages. Their scores are still those of the ranking.
    is_reranked: bool = False
    # Why the reranker of the service was not used: it failed, it did not answer in time, or models are switched off for
    # the context.
    reranker_error: str = ""

    @classmethod
    def from_proto(cls, message: pb.ByMeaning) -> ByMeaning:
        """Return the value of a message."""
        return cls(
            is_compared=message.is_compared,
            error=message.error,
            pending_count=message.pending_count,
            is_reranked=message.is_reranked,
            reranker_error=message.reranker_error,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Recalled(Value):
    """The result of a recall."""

    # Sorted by relevance, best first.
    items: tuple[RecalledItem, ...] = ()
    # The same items as one block, oldest first, each marked as a quotation with its ref. Empty if there are no items.
    prompt_text: str = ""
    # Tokens of `prompt_text`.
    tokens: int = 0
    # Candidates that exceeded the budget of tokens or the maximum number of items.
    left_out_count: int = 0
    # Reason of the error if the message was stored and the recall after it failed.
    error: str = ""
    # Whether the ranking used vectors.
    by_meaning: ByMeaning
    # Candidates whose score was too low (`score_min`).
    irrelevant_count: int = 0

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
            irrelevant_count=message.irrelevant_count,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FoundContext(Value):
    """A context with the passages that were found in it."""

    context_id: str = ""
    title: str = ""
    external_ids: tuple[ExternalId, ...] = ()
    owner_user_id: str = ""
    created_at: datetime
    # When the context last changed.
    updated_at: datetime
    message_count: int = 0
    # The score of its best passage.
    score: float = 0.0
    # Best first.
    passages: tuple[RecalledItem, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.FoundContext) -> FoundContext:
        """Return the value of a message."""
        return cls(
            context_id=message.context_id,
            title=message.title,
            external_ids=tuple(map(external_id, message.external_ids)),
            owner_user_id=message.owner_user_id,
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            message_count=message.message_count,
            score=message.score,
            passages=tuple(map(RecalledItem.from_proto, message.passages)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FoundContexts(Value):
    """The contexts that a search found."""

    # Sorted by their best passage, best first.
    contexts: tuple[FoundContext, ...] = ()
    # Number of contexts that the call searched.
    searched_count: int = 0
    # Whether the ranking used vectors. `pending_count` is not set.
    by_meaning: ByMeaning
    # Set if older contexts were not searched: the next call with this cursor searches them.
    next_cursor: str = ""

    @classmethod
    def from_proto(cls, message: pb.SearchContextsResponse) -> FoundContexts:
        """Return the value of a message."""
        return cls(
            contexts=tuple(map(FoundContext.from_proto, message.contexts)),
            searched_count=message.searched_count,
            by_meaning=ByMeaning.from_proto(message.by_meaning),
            next_cursor=message.next_cursor,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LeftOutMessage(Value):
    """A message of a history that SyncHistory could not write."""

    # The node of the message.
    node_id: str = ""
    # As in the errors of SendMessage: LIMIT_EXCEEDED, INVALID_ARGUMENT, RECORD_NOT_FOUND.
    reason: str = ""
    # Description of the error for people.
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
    """What SyncHistory changed in a context."""

    # Empty if the history has no message, and so no context was created.
    context_id: str = ""
    # True if the call created the context.
    created: bool = False
    appended_count: int = 0
    # Messages of nodes that changed.
    retracted_count: int = 0
    # Messages of the history that the context already had.
    unchanged_count: int = 0
    # Nodes on which a rule failed. The context keeps their messages.
    nodes_failed: int = 0
    # Messages with an unknown role. They are left out.
    roles_unknown: int = 0
    # Messages that the context refused: for example, they are too large, or a part names a record that the caller
    # cannot read.
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
    """A key that reaches one context and its forks. It is shown once."""

    # Shown once: the service stores only its hash.
    key: str = field(default="", repr=False)
    expires_at: datetime

    @classmethod
    def from_proto(cls, message: pb.IssueContextKeyResponse) -> ContextKey:
        """Return the value of a message."""
        return cls(
            key=message.key,
            expires_at=time_of(message.expires_at),
        )
