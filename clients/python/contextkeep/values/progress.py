"""The entries of timelines."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values.base import Value, kept, shown, time_of

EnvelopeType = Literal["status", "message", "error", "bot_progress", "value", "waiting", "unknown"]
EnvelopeStatus = Literal["", "started", "running", "completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Envelope(Value):
    """One entry of a node's timeline."""

    node_id: str  # of a caller's list: the node that was called
    seq: int  # the server's order of writing
    type: EnvelopeType  # "unknown": this client is older than the service
    status: EnvelopeStatus = ""
    sub_type: str = ""  # "return" marks the result
    message: str = ""
    value_json: str = ""  # empty: there is none
    error_json: str = ""
    created_at: datetime
    created_by: str = ""
    _value: Any = kept()
    _error: Any = kept()

    @property
    def value(self) -> Any:
        """Return the value, parsed; None where there is none."""
        return self._kept("_value", self.value_json)

    @property
    def error(self) -> Any:
        """Return the error, parsed; None where there is none."""
        return self._kept("_error", self.error_json)

    def __str__(self) -> str:
        return " ".join(filter(None, (shown(self.created_at), self.type, self.sub_type, self.status, self.message)))

    @classmethod
    def from_proto(cls, envelope: graph_pb.Envelope) -> Envelope:
        """Return the value of a message."""
        return cls(
            node_id=envelope.node_id,
            seq=envelope.seq,
            type=_ENVELOPE_TYPES.get(envelope.type, "unknown"),
            status=_ENVELOPE_STATUSES.get(envelope.status, ""),
            sub_type=envelope.sub_type,
            message=envelope.message,
            value_json=envelope.value_json,
            error_json=envelope.error_json,
            created_at=time_of(envelope.created_at),
            created_by=envelope.created_by,
        )


class AppendedEnvelope(NamedTuple):
    """What `append_progress` wrote."""

    seq: int
    created_at: datetime

    @classmethod
    def from_proto(cls, answer: graph_pb.AppendProgressResponse) -> AppendedEnvelope:
        """Return the value of a message."""
        return cls(seq=answer.seq, created_at=time_of(answer.created_at))


_ENVELOPE_TYPES: dict[int, EnvelopeType] = {
    graph_pb.ENVELOPE_TYPE_STATUS: "status",
    graph_pb.ENVELOPE_TYPE_MESSAGE: "message",
    graph_pb.ENVELOPE_TYPE_ERROR: "error",
    graph_pb.ENVELOPE_TYPE_BOT_PROGRESS: "bot_progress",
    graph_pb.ENVELOPE_TYPE_VALUE: "value",
    graph_pb.ENVELOPE_TYPE_WAITING: "waiting",
}


_ENVELOPE_STATUSES: dict[int, EnvelopeStatus] = {
    graph_pb.ENVELOPE_STATUS_STARTED: "started",
    graph_pb.ENVELOPE_STATUS_RUNNING: "running",
    graph_pb.ENVELOPE_STATUS_COMPLETED: "completed",
    graph_pb.ENVELOPE_STATUS_FAILED: "failed",
    graph_pb.ENVELOPE_STATUS_CANCELLED: "cancelled",
}
