"""Blobs, and uploads that become some."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.values.base import Value, shown_size, time_of
from contextkeep.values.records import Record


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BlobEntry(Value):
    """One blob of an entity, as `list_blobs` shows it."""

    blob_key: str
    working_memory_id: str
    name: str
    memory_type: str
    content_type: str = ""
    size_bytes: int
    sha256: str
    created_at: datetime

    def __str__(self) -> str:
        return f"{self.name} ({self.memory_type}, {shown_size(self.size_bytes)})"

    @classmethod
    def from_proto(cls, blob: memory_pb.BlobEntry) -> BlobEntry:
        """Return the value of a message."""
        return cls(
            blob_key=blob.blob_key,
            working_memory_id=blob.working_memory_id,
            name=blob.name,
            memory_type=blob.memory_type,
            content_type=blob.content_type,
            size_bytes=blob.size_bytes,
            sha256=blob.sha256,
            created_at=time_of(blob.created_at),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DownloadUrl(Value):
    """A URL that gives a blob to whoever has it."""

    url: str
    expires_at: datetime
    record: Record  # with the sha256 that the bytes must have

    def __str__(self) -> str:
        return self.url

    @classmethod
    def from_proto(cls, response: memory_pb.CreateDownloadUrlResponse) -> DownloadUrl:
        """Return the value of a message."""
        return cls(url=response.url, expires_at=time_of(response.expires_at), record=Record.from_proto(response.record))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Upload(Value):
    """How far a resumable upload is."""

    id: str
    offset_bytes: int = 0  # that are durable; the next part begins here
    size_bytes: int | None = None  # of the whole, where it was declared
    expires_at: datetime | None = None  # it is given up then, unless a part comes; None: it is finished
    part_bytes_max: int = 0
    record: Record | None = None  # once it is finished

    def __str__(self) -> str:
        return f"{self.id} ({shown_size(self.offset_bytes)} so far)"

    @classmethod
    def from_proto(cls, upload: memory_pb.Upload) -> Upload:
        """Return the value of a message."""
        return cls(
            id=upload.upload_id,
            offset_bytes=upload.offset_bytes,
            size_bytes=upload.size_bytes if upload.HasField("size_bytes") else None,
            expires_at=time_of(upload.expires_at) if upload.HasField("expires_at") else None,
            part_bytes_max=upload.part_bytes_max,
            record=Record.from_proto(upload.record) if upload.HasField("record") else None,
        )
