"""Values of contextkeep/context/v1/message.proto, made by `make proto`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from contextkeep.context.v1 import message_pb2 as pb
from contextkeep.values.base import Value, time_of
from contextkeep.values.bases import ImportedBase



@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClaimedAuthor(Value):
    """An author that an archive names."""

    # The field with this author, such as "created_by".
    field: str = ""
    author: str = ""

    @classmethod
    def from_proto(cls, message: pb.ClaimedAuthor) -> ClaimedAuthor:
        """Return the value of a message."""
        return cls(
            field=message.field,
            author=message.author,
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Imported(ImportedBase):
    """The import that wrote a row.

    The row's own fields, such as `created_by`, name the credential that imported it. The authors in the archive are
    only claims.
    """

    import_id: str = ""
    # The subject of the credential that imported the row.
    imported_by: str = ""
    imported_at: datetime
    claimed_authors: tuple[ClaimedAuthor, ...] = ()

    @classmethod
    def from_proto(cls, message: pb.Imported) -> Imported:
        """Return the value of a message."""
        return cls(
            import_id=message.import_id,
            imported_by=message.imported_by,
            imported_at=time_of(message.imported_at),
            claimed_authors=tuple(map(ClaimedAuthor.from_proto, message.claimed_authors)),
        )
