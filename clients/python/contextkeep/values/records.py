"""Records of working memory, their logs, and what finds them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.values.base import Value, kept, shown, shown_size, time_of
from contextkeep.values.imported import Imported, imported_of

RecordStatus = Literal["active", "archived"]
RecordActionKind = Literal["created", "updated", "archived", "restored", "moved", "purged", "unknown"]
IndexState = Literal["none", "pending", "indexed", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Record(Value):
    """One item of working memory: metadata, and inline JSON or a blob as its content."""

    working_memory_id: str
    entity_node_id: str = ""
    memory_type: str
    subtype: str = ""
    semantic_purpose: str = ""
    name: str
    description: str = ""
    reasoning: str = ""
    content_type: str = ""
    metadata_json: str = "{}"
    content_json: str = ""  # inline JSON, byte for byte as it was given; empty: none, or left out of a list
    content_text: str = ""  # inline text, likewise
    provider: str = ""  # "postgres" for inline content, else where the blob lives; empty without content
    blob_key: str = ""
    size_bytes: int = 0
    sha256: str = ""  # of the content, in hexadecimal; empty without content
    status: RecordStatus = "active"
    tags: tuple[str, ...] = ()
    graph_name: str = ""
    agent_bundle_id: str = ""
    app_id: str = ""
    context_id: str = ""
    created_by: str = ""
    owner_user_id: str = ""
    agent_id: str = ""
    expires_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1
    index_state: IndexState = "none"
    index_error: str = ""  # what went wrong last, of a pending or failed one
    text_state: IndexState = "none"  # of a PDF, an Office file, HTML or a long text: found by a search
    text_error: str = ""  # why there is none, or none yet
    imported: Imported | None = None  # None: no import wrote it
    _metadata: Any = kept()
    _content: Any = kept()

    @property
    def metadata(self) -> dict[str, Any]:
        """Return the metadata's JSON object."""
        return self._kept_object("_metadata", self.metadata_json)

    @property
    def content(self) -> Any:
        """Return the inline content: JSON parsed, text as it is; None where there is none."""
        return self.content_text or self._kept("_content", self.content_json)

    def __str__(self) -> str:
        archived = ", archived" if self.status == "archived" else ""
        return f"{self.name} ({self.memory_type}, {shown_size(self.size_bytes)}{archived})"

    @classmethod
    def from_proto(cls, record: memory_pb.WMRecord) -> Record:
        """Return the value of a message."""
        return cls(
            working_memory_id=record.working_memory_id,
            entity_node_id=record.entity_node_id,
            memory_type=record.memory_type,
            subtype=record.subtype,
            semantic_purpose=record.semantic_purpose,
            name=record.name,
            description=record.description,
            reasoning=record.reasoning,
            content_type=record.content_type,
            metadata_json=record.metadata_json,
            content_json=record.content_json,
            content_text=record.content_text,
            provider=record.provider,
            blob_key=record.blob_key,
            size_bytes=record.size_bytes,
            sha256=record.sha256,
            status="archived" if record.status == memory_pb.RECORD_STATUS_ARCHIVED else "active",
            tags=tuple(record.tags),
            graph_name=record.graph_name,
            agent_bundle_id=record.agent_bundle_id,
            app_id=record.app_id,
            context_id=record.context_id,
            created_by=record.created_by,
            owner_user_id=record.owner_user_id,
            agent_id=record.agent_id,
            expires_at=time_of(record.expires_at) if record.HasField("expires_at") else None,
            created_at=time_of(record.created_at),
            updated_at=time_of(record.updated_at),
            version=record.version,
            index_state=_INDEX_STATES.get(record.index_state, "none"),
            index_error=record.index_error,
            text_state=_INDEX_STATES.get(record.text_state, "none"),
            text_error=record.text_error,
            imported=imported_of(record.imported, is_set=record.HasField("imported")),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecordAction(Value):
    """One entry of a record's log, as `list_wm_record_actions` shows it."""

    kind: RecordActionKind  # "unknown": this client is older than the service
    created_at: datetime
    principal: str  # whom the key of the call stood for; "sweeper": the service itself, when a retention ended
    request_id: str = ""
    details_json: str = "{}"
    _details: Any = kept()

    @property
    def details(self) -> dict[str, Any]:
        """Return what is known of the change, parsed: the fields of an update, the reason of a purge."""
        return self._kept_object("_details", self.details_json)

    def __str__(self) -> str:
        return f"{self.kind} by {self.principal} at {shown(self.created_at)}"

    @classmethod
    def from_proto(cls, action: memory_pb.WMRecordAction) -> RecordAction:
        """Return the value of a message."""
        return cls(
            kind=_ACTION_KINDS.get(action.kind, "unknown"),
            created_at=time_of(action.created_at),
            principal=action.principal,
            request_id=action.request_id,
            details_json=action.details_json,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SearchHit(Value):
    """A record that was found, and why."""

    record: Record
    score: float  # what the hits are ordered by: a rank, a cosine, or a sum of reciprocal ranks
    text_place: int = 0  # among what was found by text, from 1; 0: not found by it
    text_score: float = 0.0
    vector_place: int = 0
    similarity: float = 0.0  # cosine, -1 to 1
    approximate: bool = False  # its place by vector is from the operator's index, which may have missed nearer ones

    def __str__(self) -> str:
        return f"{self.score:.3f} {self.record}"

    @classmethod
    def from_proto(cls, hit: memory_pb.SearchHit) -> SearchHit:
        """Return the value of a message."""
        return cls(
            record=Record.from_proto(hit.record),
            score=hit.score,
            text_place=hit.text_place,
            text_score=hit.text_score,
            vector_place=hit.vector_place,
            similarity=hit.similarity,
            approximate=hit.approximate,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QueryAnswer(Value):
    """The rows that answer a question about records."""

    rows: list[dict[str, Any]]  # the columns by the names that they were asked for by
    has_more: bool = False  # there are rows behind the limit

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def from_proto(cls, answer: memory_pb.QueryWMRecordsResponse) -> QueryAnswer:
        """Return the value of a message."""
        return cls(rows=[json.loads(row) for row in answer.rows_json], has_more=answer.has_more)


_INDEX_STATES: dict[int, IndexState] = {
    memory_pb.INDEX_STATE_PENDING: "pending",
    memory_pb.INDEX_STATE_INDEXED: "indexed",
    memory_pb.INDEX_STATE_FAILED: "failed",
}


_ACTION_KINDS: dict[int, RecordActionKind] = {
    memory_pb.RECORD_ACTION_KIND_CREATED: "created",
    memory_pb.RECORD_ACTION_KIND_UPDATED: "updated",
    memory_pb.RECORD_ACTION_KIND_ARCHIVED: "archived",
    memory_pb.RECORD_ACTION_KIND_RESTORED: "restored",
    memory_pb.RECORD_ACTION_KIND_MOVED: "moved",
    memory_pb.RECORD_ACTION_KIND_PURGED: "purged",
}
