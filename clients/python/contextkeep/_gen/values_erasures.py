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
    """The receipt of an erasure of a subject."""

    erasure_id: str = ""
    # FINISHED: in both services.
    state: ErasureState = "running"
    created_at: datetime
    # Unset while the erasure runs.
    finished_at: datetime | None = None
    # The subject of the credential that started it; a pseudonym if that is the erased subject.
    requested_by: str = ""
    # Rows deleted so far, in both services. For contexts, the counts of their own receipts.
    removed: dict[str, int] = field(default_factory=dict, hash=False)
    # The erasure has started in the Entity Service too. If not, call Erase again.
    is_begun_in_graph: bool = False
    # Databases that the tenant was moved away from and that still have its old rows. No erasure reaches these;
    # `context-service tenants clean --after-hours 0` deletes them. Databases that do not answer are left out.
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
    """A subject or a context that must not be erased, and why."""

    hold_id: str = ""
    # The user. Empty: the hold is for a context.
    subject: str = ""
    # The context. Empty: the hold is for a user.
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
    """The data of a subject, the holds that forbid its erasure, and the data that no erasure finds."""

    # Kinds without rows are left out.
    counts: dict[str, int] = field(default_factory=dict, hash=False)
    # The holds that forbid the erasure; at most 100.
    holds: tuple[Hold, ...] = ()
    # The data that no erasure finds: sentences for people.
    not_found: tuple[str, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.PlanErasureResponse) -> ErasurePlan:
        """Return the value of a message."""
        return cls(
            counts={one.kind: one.count for one in message.counts},
            holds=tuple(map(Hold.from_proto, message.holds)),
            not_found=tuple(message.not_found),
        )
