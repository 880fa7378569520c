"""By which import a row was written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep.context.v1 import message_pb2 as message_pb
from contextkeep.values.base import Value, time_of


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClaimedAuthor(Value):
    """Whom an archive names as author: a claim, which nothing confirms."""

    field: str  # such as "created_by"
    author: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Imported(Value):
    """By which import a row was written. The row's own fields, such as `created_by`, name who imported it."""

    import_id: str
    imported_by: str
    imported_at: datetime
    claimed_authors: tuple[ClaimedAuthor, ...] = ()

    def __str__(self) -> str:
        claims = ", ".join(f"{one.field} {one.author}" for one in self.claimed_authors)
        return f"import {self.import_id} by {self.imported_by}" + (f" (claims {claims})" if claims else "")

    @classmethod
    def from_proto(cls, imported: message_pb.Imported) -> Imported:
        """Return the value of a message."""
        return cls(
            import_id=imported.import_id,
            imported_by=imported.imported_by,
            imported_at=time_of(imported.imported_at),
            claimed_authors=tuple(
                ClaimedAuthor(field=one.field, author=one.author) for one in imported.claimed_authors
            ),
        )


def imported_of(message: message_pb.Imported, *, is_set: bool) -> Imported | None:
    """Return the value of a field `imported`, or None if it is not set."""
    return Imported.from_proto(message) if is_set else None
