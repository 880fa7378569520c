"""Specialists: providers of context query that search one folder of the workspace in several steps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep.context.v1 import specialists_pb2 as pb
from contextkeep.values.base import Value, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Specialist(Value):
    """A specialist."""

    specialist_id: str
    display_name: str = ""
    instructions: str = ""
    node_ids: tuple[str, ...] = ()  # its folder; empty: it is not wired
    steps_max: int = 0
    is_default: bool = False  # asked where a question selects nobody
    provider_id: str = ""  # of context query
    version: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    updated_by: str = ""

    @classmethod
    def from_proto(cls, specialist: pb.Specialist) -> Specialist:
        """Return the value of a message."""
        return cls(
            specialist_id=specialist.specialist_id,
            display_name=specialist.display_name,
            instructions=specialist.instructions,
            node_ids=tuple(specialist.node_ids),
            steps_max=specialist.steps_max,
            is_default=specialist.is_default,
            provider_id=specialist.provider_id,
            version=specialist.version,
            created_at=time_of(specialist.created_at),
            updated_at=time_of(specialist.updated_at),
            updated_by=specialist.updated_by,
        )
