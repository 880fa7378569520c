"""What happened to an entity, as it travels."""

from __future__ import annotations

from typing import cast

from context_service.entity_history.model import Event
from contextkeep.context.v1 import chat_history_pb2 as pb
from service_runtime.values.copying import copied


def event(node_id: str, of: Event) -> pb.HistoryEvent:
    """Return an event of an entity."""
    message = copied(
        pb.HistoryEvent,
        of,
        kind=cast("pb.HistoryEventKind", pb.HistoryEventKind.Value(f"HISTORY_EVENT_KIND_{of.kind.name}")),
        node_id=node_id,
        time=None,
    )
    message.time.seconds, microseconds = divmod(of.time_us, 1_000_000)
    message.time.nanos = microseconds * 1000
    return message
