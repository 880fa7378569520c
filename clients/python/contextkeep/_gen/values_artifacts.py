"""Values of contextkeep/context/v1/artifacts.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import artifacts_pb2 as pb
from contextkeep.values.base import Value, kept, time_of
from contextkeep.values.messages import Part



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Artifact(Value):
    """A version of a result of a task."""

    # The sender's id, unique in its task.
    artifact_id: str = ""
    task_id: str = ""
    context_id: str = ""
    name: str = ""
    description: str = ""
    # The first version is 1.
    version: int = 0
    # The version is complete: its last chunk was written, and no more can follow.
    is_complete: bool = False
    # Set by GetArtifact only, like `metadata_json`.
    parts: tuple[Part, ...] = ()
    metadata_json: str = "{}"
    part_count: int = 0
    size_bytes: int = 0
    # Estimated tokens of its texts in the context of a model.
    tokens: int = 0
    created_by: str = ""
    # When this version was created.
    created_at: datetime
    updated_at: datetime
    # Unset if no import wrote it.
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
