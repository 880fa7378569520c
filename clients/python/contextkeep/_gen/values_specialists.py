"""Values of contextkeep/context/v1/specialists.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep._gen.values_message import Imported
from contextkeep.context.v1 import specialists_pb2 as pb
from contextkeep.values.base import Value, time_of



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Specialist(Value):
    """A specialist: a provider that searches one folder of the workspace in several steps."""

    specialist_id: str = ""
    display_name: str = ""
    instructions: str = ""
    # The folder. Empty: the specialist has none.
    node_ids: tuple[str, ...] = ()
    steps_max: int = 0
    # Context query queries it if a question selects no provider.
    is_default: bool = False
    # Its provider id in context query, of the family `sub-agent`.
    provider_id: str = ""
    # Counts the puts of the specialist, from 1.
    version: int = 0
    created_at: datetime
    updated_at: datetime
    # The subject of the credential that put it last.
    updated_by: str = ""
    # Where an import took it from. Unset: no import wrote it, or it was put since.
    imported: Imported | None = None

    @classmethod
    def from_proto(cls, message: pb.Specialist) -> Specialist:
        """Return the value of a message."""
        return cls(
            specialist_id=message.specialist_id,
            display_name=message.display_name,
            instructions=message.instructions,
            node_ids=tuple(message.node_ids),
            steps_max=message.steps_max,
            is_default=message.is_default,
            provider_id=message.provider_id,
            version=message.version,
            created_at=time_of(message.created_at),
            updated_at=time_of(message.updated_at),
            updated_by=message.updated_by,
            imported=Imported.from_proto(message.imported) if message.HasField("imported") else None,
        )
