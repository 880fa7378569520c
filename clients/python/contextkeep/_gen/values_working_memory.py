"""Values of contextkeep/context/v1/working_memory.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import working_memory_pb2 as pb
from contextkeep.values.base import Value, kept, time_of
from contextkeep.values.bases import BlobEntryBase, ManifestEntityBase, RecordActionBase, RecordBase, UploadBase

# Whether a record is in use.
RecordStatus = Literal[
    "active",
    "archived",
]
RECORD_STATUSS: dict[int, RecordStatus] = {
    1: "active",
    2: "archived",
}
# The progress of the embedding of a record's text (name, description, inline content). In any state, searches by words
# find the record.
IndexState = Literal[
    "none",
    "pending",
    "indexed",
    "failed",
]
INDEX_STATES: dict[int, IndexState] = {
    1: "none",
    2: "pending",
    3: "indexed",
    4: "failed",
}
# How to search for records.
SearchMode = Literal[
    "text",
    "vector",
    "fused",
]
SEARCH_MODES: dict[int, SearchMode] = {
    1: "text",
    2: "vector",
    3: "fused",
}
# An action on a record.
RecordActionKind = Literal[
    "created",
    "updated",
    "archived",
    "restored",
    "moved",
    "purged",
]
RECORD_ACTION_KINDS: dict[int, RecordActionKind] = {
    1: "created",
    2: "updated",
    3: "archived",
    4: "restored",
    5: "moved",
    6: "purged",
}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Record(RecordBase):
    """One item of working memory."""

    working_memory_id: str = ""
    entity_node_id: str = ""
    # "file", "data/json", "image/png", "code/python", or any other text of up to 100 characters.
    memory_type: str = ""
    subtype: str = ""
    semantic_purpose: str = ""
    name: str = ""
    description: str = ""
    reasoning: str = ""
    content_type: str = ""
    metadata_json: str = "{}"
    # Inline JSON, byte for byte as it was written. Lists leave it out unless `with_content`.
    content_json: str = ""
    # "postgres" for inline content, else the provider of the blob: "azure", "gcs", "s3" or "local". Empty without
    # content.
    provider: str = ""
    # Key of the record's blob, unique to this record even if records share their bytes. Empty without a blob.
    blob_key: str = ""
    size_bytes: int = 0
    # SHA-256 of the content, in hexadecimal. Empty without content.
    sha256: str = ""
    status: RecordStatus = "active"
    tags: tuple[str, ...] = ()
    graph_name: str = ""
    agent_bundle_id: str = ""
    app_id: str = ""
    # The isolated context that the record belongs to. Empty: none.
    context_id: str = ""
    created_by: str = ""
    owner_user_id: str = ""
    agent_id: str = ""
    # When the record expires. Unset: never.
    expires_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    # Counts the changes, from 1.
    version: int = 0
    index_state: IndexState = "none"
    # The last error, for a record that is PENDING or FAILED.
    index_error: str = ""
    # Inline text, as it was written. A record has at most one of this, `content_json` and a blob. Lists leave it out
    # unless `with_content`.
    content_text: str = ""
    # The progress of the text that the service extracts in the background for SearchWMRecords: the text of PDF, Office
    # and HTML files, and any text longer than 50,000 characters. NONE for other records: a shorter text is found at
    # once, and a picture has no text.
    text_state: IndexState = "none"
    # Why there is no text, if `text_state` is FAILED; the last error, while it is PENDING.
    text_error: str = ""
    # Where an import took it from. Unset: no import wrote it.
    imported: Imported | None = None
    _metadata: Any = kept()
    _content: Any = kept()

    @property
    def metadata(self) -> dict[str, Any]:
        """Return `metadata_json`, parsed."""
        return self._kept_object("_metadata", self.metadata_json)

    @classmethod
    def from_proto(cls, message: pb.WMRecord) -> Record:
        """Return the value of a message."""
        return cls(
            working_memory_id=message.working_memory_id,
            entity_node_id=message.entity_node_id,
            memory_type=message.memory_type,
            subtype=message.subtype,
            semantic_purpose=message.semantic_purpose,
            name=message.name,
            description=message.description,
            reasoning=message.reasoning,
            content_type=message.content_type,
            metadata_json=message.metadata_json,
            content_json=message.content_json,
            provider=message.provider,
            blob_key=message.blob_key,
            size_bytes=message.size_bytes,
            sha256=message.sha256,
            status=RECORD_STATUSS.get(message.status, "active"),
            tags=tuple(message.tags),
            graph_name=message.graph_name,
            agent_bundle_id=message.agent_bundle_id,
            app_id=message.app_id,
            context_id=message.context_id,
            created_by=message.created_by,
            owner_user_id=message.owner_user_id,
            agent_id=message.agent_id,
            expires_at=time_of(message.expires_at) if message.HasField("expires_at") else None,
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            version=message.version,
            index_state=INDEX_STATES.get(message.index_state, "none"),
            index_error=message.index_error,
            content_text=message.content_text,
            text_state=INDEX_STATES.get(message.text_state, "none"),
            text_error=message.text_error,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ManifestGroup(Value):
    """The records of an entity that have one memory type."""

    memory_type: str = ""
    # Number of all records of the group.
    record_count: int = 0
    # Total size of their contents.
    size_bytes: int = 0
    # Newest first, without content; at most `records_max`.
    records: tuple[Record, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.ManifestGroup) -> ManifestGroup:
        """Return the value of a message."""
        return cls(
            memory_type=message.memory_type,
            record_count=message.record_count,
            size_bytes=message.size_bytes,
            records=tuple(map(Record.from_proto, message.records)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ManifestEntity(ManifestEntityBase):
    """An entity that has records."""

    entity_node_id: str = ""
    # Name of the node. Empty, like its type, if the root is not a node that the caller sees.
    name: str = ""
    specific_type_name: str = ""
    # The node above it on the path. Empty for the root.
    parent_node_id: str = ""
    # Type of the edge from the node above. Empty for the root.
    edge_type: str = ""
    # 0: the root.
    depth: int = 0
    # Node ids from the root to this one, both included.
    path: tuple[str, ...] = ()
    # The records, by memory type.
    groups: tuple[ManifestGroup, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.ManifestEntity) -> ManifestEntity:
        """Return the value of a message."""
        return cls(
            entity_node_id=message.entity_node_id,
            name=message.name,
            specific_type_name=message.specific_type_name,
            parent_node_id=message.parent_node_id,
            edge_type=message.edge_type,
            depth=message.depth,
            path=tuple(message.path),
            groups=tuple(map(ManifestGroup.from_proto, message.groups)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SearchHit(Value):
    """A record that a search found, and why."""

    record: Record
    # The hits are sorted by it; see SearchWMRecords.
    score: float = 0.0
    # Its rank in the search by text, from 1. 0: that search did not find it.
    text_place: int = 0
    # Its score in the search by text.
    text_score: float = 0.0
    # Its rank in the search by vector, from 1. 0: that search did not find it.
    vector_place: int = 0
    # The cosine, -1 to 1.
    similarity: float = 0.0
    # The search by vector used the operator's index, which may have missed nearer records.
    approximate: bool = False

    def __str__(self) -> str:
        return f"{self.score:.3f} {self.record}"

    @classmethod
    def from_proto(cls, message: pb.SearchHit) -> SearchHit:
        """Return the value of a message."""
        return cls(
            record=Record.from_proto(message.record),
            score=message.score,
            text_place=message.text_place,
            text_score=message.text_score,
            vector_place=message.vector_place,
            similarity=message.similarity,
            approximate=message.approximate,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RecordAction(RecordActionBase):
    """One entry of a record's log."""

    kind: RecordActionKind | Literal["unknown"] = "unknown"
    created_at: datetime
    # The subject of the caller's key; "sweeper" for actions of the service itself at the end of a retention.
    principal: str = ""
    # The request id of the call, if it had one.
    request_id: str = ""
    # A JSON object. An entry that an import wrote has `imported`: `import_id`, `imported_by`, `imported_at`, and the
    # `principal` that the archive claims; `principal` above is the importer. UPDATED has `fields` and the new
    # `version`. PURGED has `why` ("deleted", "retention" or "context deleted"), `memory_type` and `size_bytes`.
    details_json: str = "{}"
    _details: Any = kept()

    @property
    def details(self) -> dict[str, Any]:
        """Return `details_json`, parsed."""
        return self._kept_object("_details", self.details_json)

    @classmethod
    def from_proto(cls, message: pb.WMRecordAction) -> RecordAction:
        """Return the value of a message."""
        return cls(
            kind=RECORD_ACTION_KINDS.get(message.kind, "unknown"),
            created_at=time_of(message.created_at),
            principal=message.principal,
            request_id=message.request_id,
            details_json=message.details_json,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Upload(UploadBase):
    """The progress of a resumable upload."""

    id: str = ""
    # Number of durable bytes; the next part begins here.
    offset_bytes: int = 0
    # The size that StartUpload declared.
    size_bytes: int | None = None
    # When it expires, unless a part arrives before.
    expires_at: datetime | None = None
    # Maximum size of a part.
    part_bytes_max: int = 0
    # After FinishUpload: the record as that call answered it.
    record: Record | None = None

    @classmethod
    def from_proto(cls, message: pb.Upload) -> Upload:
        """Return the value of a message."""
        return cls(
            id=message.upload_id,
            offset_bytes=message.offset_bytes,
            size_bytes=message.size_bytes if message.HasField("size_bytes") else None,
            expires_at=time_of(message.expires_at) if message.HasField("expires_at") else None,
            part_bytes_max=message.part_bytes_max,
            record=Record.from_proto(message.record) if message.HasField("record") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DownloadUrl(Value):
    """A URL of a blob. It works without a key."""

    # The record, with the sha256 that the bytes must have.
    record: Record
    url: str = ""
    expires_at: datetime

    def __str__(self) -> str:
        return f"{self.url}"

    @classmethod
    def from_proto(cls, message: pb.CreateDownloadUrlResponse) -> DownloadUrl:
        """Return the value of a message."""
        return cls(
            record=Record.from_proto(message.record),
            url=message.url,
            expires_at=time_of(message.expires_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BlobEntry(BlobEntryBase):
    """A blob of an entity."""

    blob_key: str = ""
    working_memory_id: str = ""
    name: str = ""
    memory_type: str = ""
    content_type: str = ""
    size_bytes: int = 0
    sha256: str = ""
    created_at: datetime

    @classmethod
    def from_proto(cls, message: pb.BlobEntry) -> BlobEntry:
        """Return the value of a message."""
        return cls(
            blob_key=message.blob_key,
            working_memory_id=message.working_memory_id,
            name=message.name,
            memory_type=message.memory_type,
            content_type=message.content_type,
            size_bytes=message.size_bytes,
            sha256=message.sha256,
            created_at=time_of(message.created_at),
        )
