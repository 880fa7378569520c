"""Values of contextkeep/context/v1/source_tests.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep._gen.values_context_query import QueriedContext
from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import source_tests_pb2 as pb
from contextkeep.values.base import Value, time_of
from contextkeep.values.query import ComparedProvider



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SourceTest(Value):
    """A question that an operator asked, with its answer."""

    test_id: str = ""
    created_at: datetime
    created_by: str = ""
    # The user for whom it was asked. Empty if it was asked for no user.
    owner_user_id: str = ""
    label: str = ""
    replay_of: str = ""
    # Not blank. Up to 8,000 characters.
    query: str = ""
    # Warnings: a mode that differs from the requested one, and parts that are cut.
    warnings: tuple[str, ...] = ()
    hit_count: int = 0
    duration_ms: int = 0
    # The whole answer, up to 1 MiB. Unset in lists.
    answer: QueriedContext | None = None
    # Unset if no import wrote it.
    imported: Imported | None = None

    @classmethod
    def from_proto(cls, message: pb.SourceTest) -> SourceTest:
        """Return the value of a message."""
        return cls(
            test_id=message.test_id,
            created_at=time_of(message.created_at),
            created_by=message.created_by,
            owner_user_id=message.owner_user_id,
            label=message.label,
            replay_of=message.replay_of,
            query=message.question.query,
            warnings=tuple(message.warnings),
            hit_count=message.hit_count,
            duration_ms=message.duration_ms,
            answer=QueriedContext.from_proto(message.answer) if message.HasField("answer") else None,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ComparedHit(Value):
    """A hit of one or both tests."""

    ref: str = ""
    title: str = ""
    # Rank in the first test and in the other one. 0 means that the test does not have the hit.
    rank: int = 0
    other_rank: int = 0

    @classmethod
    def from_proto(cls, message: pb.ComparedHit) -> ComparedHit:
        """Return the value of a message."""
        return cls(
            ref=message.ref,
            title=message.title,
            rank=message.rank,
            other_rank=message.other_rank,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ComparedTests(Value):
    """The differences of two tests.

    A rank of 0 or an unspecified state means that only the other test has the hit or provider.
    """

    # The hits of both tests: first those of the first test in its order, then those that only the other test has.
    hits: tuple[ComparedHit, ...] = ()
    # By id.
    providers: tuple[ComparedProvider, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.CompareSourceTestsResponse) -> ComparedTests:
        """Return the value of a message."""
        return cls(
            hits=tuple(map(ComparedHit.from_proto, message.hits)),
            providers=tuple(map(ComparedProvider.from_proto, message.providers)),
        )
