"""Subjects that are erased, and holds that forbid it, as administrators see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from contextkeep.context.v1 import contexts_pb2 as contexts_pb
from contextkeep.context.v1 import erasures_pb2 as pb
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.values.base import Value, time_of
from contextkeep.values.contexts import ErasureState


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Hold(Value):
    """What may not be erased, and why: a subject, or a context."""

    hold_id: str
    subject: str = ""
    context_id: str = ""
    reason: str = ""
    created_at: datetime
    created_by: str = ""

    @classmethod
    def from_proto(cls, hold: pb.Hold) -> Hold:
        """Return the value of a message."""
        return cls(
            hold_id=hold.hold_id,
            subject=hold.subject,
            context_id=hold.context_id,
            reason=hold.reason,
            created_at=time_of(hold.created_at),
            created_by=hold.created_by,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErasurePlan(Value):
    """What there is of a subject, which holds forbid to erase it, and what no erasure finds."""

    counts: dict[str, int] = field(default_factory=dict)  # by kind, as tables are called
    holds: tuple[Hold, ...] = ()
    not_found: tuple[str, ...] = ()  # sentences for people

    @classmethod
    def from_proto(cls, plan: pb.PlanErasureResponse) -> ErasurePlan:
        """Return the value of a message."""
        return cls(
            counts=_counts(plan.counts),
            holds=tuple(Hold.from_proto(hold) for hold in plan.holds),
            not_found=tuple(plan.not_found),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SubjectErasure(Value):
    """The receipt of a subject that is erased. `finished`: nothing is left of it in either service."""

    erasure_id: str
    state: ErasureState = "running"
    created_at: datetime
    finished_at: datetime | None = None
    requested_by: str = ""
    removed: dict[str, int] = field(default_factory=dict)  # by kind, so far
    is_begun_in_graph: bool = False  # if not, erase again
    old_copies: tuple[str, ...] = ()  # databases that have rows from before the tenant moved: `tenants clean` them

    def __str__(self) -> str:
        return f"erasure {self.erasure_id} ({self.state}, {sum(self.removed.values())} removed)"

    @classmethod
    def from_proto(cls, erasure: pb.SubjectErasure) -> SubjectErasure:
        """Return the value of a message."""
        return cls(
            erasure_id=erasure.erasure_id,
            state="finished" if erasure.state == contexts_pb.ERASURE_STATE_FINISHED else "running",
            created_at=time_of(erasure.created_at),
            finished_at=time_of(erasure.finished_at) if erasure.HasField("finished_at") else None,
            requested_by=erasure.requested_by,
            removed=_counts(erasure.removed),
            is_begun_in_graph=erasure.is_begun_in_graph,
            old_copies=tuple(erasure.old_copies),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class OwnedNodes(Value):
    """What of the graph a user owns, or what an erasure has removed of it."""

    nodes: int = 0
    edges: int = 0
    answers: int = 0  # of repeated calls
    names: int = 0  # in the place of which there is a pseudonym
    finished_at: datetime | None = None  # of an erasure

    @classmethod
    def from_proto(cls, owned: graph_pb.Owned) -> OwnedNodes:
        """Return the value of a message."""
        return cls(
            nodes=owned.nodes,
            edges=owned.edges,
            answers=owned.answers,
            names=owned.names,
            finished_at=time_of(owned.finished_at) if owned.HasField("finished_at") else None,
        )


def _counts(counts: Iterable[pb.ErasureCount]) -> dict[str, int]:
    return {one.kind: one.count for one in counts}
