"""Values of contextkeep/context/v1/erasures.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from contextkeep._gen.values_contexts import ERASURE_STATES, ErasureState
from contextkeep.context.v1 import erasures_pb2 as pb
from contextkeep.values.base import Value, time_of
from contextkeep.values.bases import SubjectErasureBase



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SubjectErasure(SubjectErasureBase):
    """The receipt of a subject that is erased."""

    erasure_id: str = ""
    # FINISHED: in both services.
    state: ErasureState = "running"
    created_at: datetime
    # Unset while it runs.
    finished_at: datetime | None = None
    # The subject of the credential that asked for it, unless that is who was erased.
    requested_by: str = ""
    # What is removed so far, of both services. Of contexts, those of their receipts.
    removed: dict[str, int] = field(default_factory=dict, hash=False)
    # It is begun in the Entity Service, too. If not, call Erase again.
    is_begun_in_graph: bool = False
    # Databases that the tenant was moved away from and that still have its rows from before the move, which no erasure
    # reaches: `context-service tenants clean --after-hours 0` removes them. Those that do not answer are left out.
    old_copies: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.SubjectErasure) -> SubjectErasure:
        """Return the value of a message."""
        return cls(
            erasure_id=message.erasure_id,
            state=ERASURE_STATES.get(message.state, "running"),
            created_at=time_of(message.created_at),
            finished_at=time_of(message.finished_at) if message.HasField("finished_at") else None,
            requested_by=message.requested_by,
            removed={one.kind: one.count for one in message.removed},
            is_begun_in_graph=message.is_begun_in_graph,
            old_copies=tuple(message.old_copies),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Hold(Value):
    """What may not be erased, and why."""

    hold_id: str = ""
    # One of these two.
    subject: str = ""
    context_id: str = ""
    reason: str = ""
    created_at: datetime
    # The subject of the credential that put it.
    created_by: str = ""

    @classmethod
    def from_proto(cls, message: pb.Hold) -> Hold:
        """Return the value of a message."""
        return cls(
            hold_id=message.hold_id,
            subject=message.subject,
            context_id=message.context_id,
            reason=message.reason,
            created_at=time_of(message.created_at),
            created_by=message.created_by,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErasurePlan(Value):
    """What there is of a subject, which holds forbid to erase it, and what no erasure finds."""

    # Without kinds of which there is nothing.
    counts: dict[str, int] = field(default_factory=dict, hash=False)
    # Those that forbid it: 100 at most.
    holds: tuple[Hold, ...] = ()
    # What is not found: sentences for people.
    not_found: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.PlanErasureResponse) -> ErasurePlan:
        """Return the value of a message."""
        return cls(
            counts={one.kind: one.count for one in message.counts},
            holds=tuple(map(Hold.from_proto, message.holds)),
            not_found=tuple(message.not_found),
        )
