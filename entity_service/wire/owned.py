"""The counts of what a user owns, as a message."""

from __future__ import annotations

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from entity_service.model.owned import Owned
from service_runtime.copying import copied


def owned(found: Owned) -> pb.Owned:
    """Return the message of what a user owns, or what is erased of it."""
    message = copied(pb.Owned, found, finished_at=None)
    if found.finished_at:
        message.finished_at.FromDatetime(found.finished_at)
    return message
