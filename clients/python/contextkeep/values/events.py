"""What happened to an entity."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.values.base import Value, parsed_object, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HistoryEvent(Value):
    """Something that happened to an entity."""

    kind: str  # "node_created", "status", "record_purged", ...: the proto has all of them, with their documents
    time: datetime
    node_id: str  # the entity
    principal: str = ""  # whom the key of the call stood for, where that is kept
    edge_id: str = ""
    working_memory_id: str = ""
    request_id: str = ""
    document_json: str = "{}"

    @property
    def document(self) -> dict[str, Any]:
        """Return what is known of it."""
        return parsed_object(self.document_json)

    def __str__(self) -> str:
        return f"{self.time.isoformat()} {self.kind}"

    @classmethod
    def from_proto(cls, event: history_pb.HistoryEvent) -> HistoryEvent:
        """Return the value of a message."""
        return cls(
            kind=history_pb.HistoryEventKind.Name(event.kind).removeprefix("HISTORY_EVENT_KIND_").lower(),
            time=time_of(event.time),
            node_id=event.node_id,
            principal=event.principal,
            edge_id=event.edge_id,
            working_memory_id=event.working_memory_id,
            request_id=event.request_id,
            document_json=event.document_json,
        )
