"""Archives that are taken out and put in."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from contextkeep.context.v1 import transfer_pb2 as pb
from contextkeep.values.base import Value, time_of

ImportState = Literal["running", "done", "given_up", ""]
_STATES: dict[int, ImportState] = {
    pb.IMPORT_STATE_RUNNING: "running",
    pb.IMPORT_STATE_DONE: "done",
    pb.IMPORT_STATE_GIVEN_UP: "given_up",
}


class ExportedArchive(NamedTuple):
    """What `archives.export` wrote."""

    path: str
    size_bytes: int


class ImportedRows(NamedTuple):
    """What became of the rows of a table."""

    table: str
    written: int
    present: int  # were there, and equal
    conflicts: int  # were there, and other: they stay


class ImportConflict(NamedTuple):
    """A row that is there, and other than in the archive."""

    table: str
    key: dict[str, Any]
    why: str  # "different"; "taken": another has its place; "erased": it was removed; "renumbered": written, as another
    piece: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ImportedArchive(Value):
    """An import, as far as it is."""

    import_id: str = ""  # empty of a dry run
    state: ImportState
    offset_bytes: int = 0  # of the archive, that is written
    pieces: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    manifest: dict[str, Any] = field(default_factory=dict)  # what the archive says of itself
    rows: tuple[ImportedRows, ...] = ()
    conflicts: tuple[ImportConflict, ...] = ()  # the first 100
    left_out: tuple[str, ...] = ()  # what the archive has not, and why
    dry_run: bool = False

    @classmethod
    def from_proto(cls, done: pb.ImportedArchive) -> ImportedArchive:
        """Return the value of a message."""
        return cls(
            import_id=done.import_id,
            state=_STATES.get(done.state, ""),
            offset_bytes=done.offset_bytes,
            pieces=done.pieces,
            created_at=time_of(done.created_at) if done.HasField("created_at") else None,
            updated_at=time_of(done.updated_at) if done.HasField("updated_at") else None,
            manifest=json.loads(done.manifest_json or "{}"),
            rows=tuple(ImportedRows(row.table, row.written, row.present, row.conflicts) for row in done.rows),
            conflicts=tuple(
                ImportConflict(conflict.table, json.loads(conflict.key_json or "{}"), conflict.why, conflict.piece)
                for conflict in done.conflicts
            ),
            left_out=tuple(done.left_out),
            dry_run=done.dry_run,
        )
