"""Entries of timelines that were written."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values.base import time_of


class AppendedEnvelope(NamedTuple):
    """What `progress.append` wrote."""

    seq: int
    created_at: datetime

    @classmethod
    def from_proto(cls, answer: graph_pb.AppendProgressResponse) -> AppendedEnvelope:
        """Return the value of a message."""
        return cls(seq=answer.seq, created_at=time_of(answer.created_at))
