"""The import that wrote a row, between the database and protobuf."""

from __future__ import annotations

from datetime import datetime

import orjson

from context_service.kernel.wire import times
from contextkeep.context.v1 import message_pb2 as pb

_OURS = frozenset({"import_id", "imported_by", "imported_at"})


def imported_of(imported_json: str | None) -> pb.Imported | None:
    """Return the protobuf message of the column `imported`, or None if no import wrote the row."""
    if imported_json is None:
        return None
    document = orjson.loads(imported_json)
    claims = ((field, author) for field, author in sorted(document.items()) if field not in _OURS and author)
    return pb.Imported(
        import_id=document["import_id"],
        imported_by=document["imported_by"],
        imported_at=times.timestamp(datetime.fromisoformat(document["imported_at"])),
        claimed_authors=[pb.ClaimedAuthor(field=field, author=author) for field, author in claims],
    )
