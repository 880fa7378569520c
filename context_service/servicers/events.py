"""What happened to an entity, as it travels."""

from __future__ import annotations

from typing import cast

from context_service.entity_history.events import Event
from contextkeep.context.v1 import chat_history_pb2 as pb


def event(node_id: str, of: Event) -> pb.HistoryEvent:
    """Return an event of an entity."""
    message = pb.HistoryEvent(
        kind=cast("pb.HistoryEventKind", pb.HistoryEventKind.Value(f"HISTORY_EVENT_KIND_{of.kind.name}")),
        principal=of.principal,
        node_id=node_id,
        edge_id=of.edge_id,
        working_memory_id=of.working_memory_id,
        request_id=of.request_id,
        document_json=of.document_json,
    )
    message.time.seconds, microseconds = divmod(of.time_us, 1_000_000)
    message.time.nanos = microseconds * 1000
    return message
