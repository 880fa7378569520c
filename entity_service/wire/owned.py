"""The counts of the rows that a user owns, as a message."""

from __future__ import annotations

from contextkeep.entity.v1 import entity_graph_pb2 as pb
from entity_service.model.owned import Owned
from service_runtime.values.copying import copied


def owned(counts: Owned) -> pb.Owned:
    """Return the message of the rows that a user owns, or that an erasure has removed."""
    message = copied(pb.Owned, counts, finished_at=None)
    if counts.finished_at:
        message.finished_at.FromDatetime(counts.finished_at)
    return message
