"""The log of a record: reads what happened to it.

An entry is written by the statement or the transaction that changes the record, so its SQL is part of the change's SQL.
The services' role may only insert and read entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from service_runtime.auth import Principal
from service_runtime.copying import copied
from service_runtime.postgres import Database

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# For an entry that an import wrote: the import, and the author that its archive names.
_IMPORTED = "CASE WHEN imported IS NULL THEN '{}'::jsonb ELSE jsonb_build_object('imported', imported) END"

_LIST_ACTIONS = f"""
SELECT seq, created_at, request_id, kind, principal, (details || {_IMPORTED})::text AS details_json
FROM context.action
WHERE tenant_id = %s AND record_id = %s AND seq > %s
ORDER BY seq
LIMIT %s
"""  # noqa: S608 - a constant


# The log of an entity's records, also of purged ones; with a few fields of records that still exist.
def _of_entity(way: str, after: str) -> str:
    """Return the statement of a page, ascending or descending."""
    return f"""
SELECT a.created_at_us, a.seq, a.record_id, a.request_id, a.kind, a.principal,
    (coalesce(r.said, '{{}}') || a.details)::text AS document_json
FROM (
    SELECT (extract(epoch FROM created_at) * 1000000)::bigint AS created_at_us, seq, record_id, request_id, kind,
        principal, details || {_IMPORTED} AS details
    FROM context.action
    WHERE tenant_id = %(tenant_id)s AND entity_node_id = %(entity_node_id)s
        AND (created_at, seq) {after} (%(behind_at)s::timestamptz, %(behind_seq)s::bigint)
    ORDER BY created_at {way}, seq {way}
    LIMIT %(count_max)s
) a
LEFT JOIN LATERAL (
    SELECT jsonb_build_object(
        'name', name, 'memory_type', memory_type, 'content_type', content_type, 'size_bytes', size_bytes
    ) AS said
    FROM context.wm_record
    WHERE tenant_id = %(tenant_id)s AND id = a.record_id
    OFFSET 0
) r ON true
ORDER BY a.created_at_us {way}, a.seq {way}
"""  # noqa: S608 - of constants


_OF_ENTITY = _of_entity("ASC", ">")
_OF_ENTITY_DESCENDING = _of_entity("DESC", "<")  # the same page from the other end

_LAST_KIND = "SELECT kind FROM context.action WHERE tenant_id = %s AND record_id = %s ORDER BY seq DESC LIMIT 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One entry of a record's log."""

    seq: int  # order of a record's entries
    created_at: datetime  # aware, UTC
    request_id: UUID | None
    kind: str  # "created", "updated", "archived", "restored", "moved" or "purged"
    principal: str
    details_json: str


class ActionPlace(NamedTuple):
    """The position of an entry among those of an entity."""

    created_at_us: int  # microseconds since 1970, UTC
    seq: int


class EntityAction(NamedTuple):
    """An entry of the log of one of an entity's records."""

    place: ActionPlace
    record_id: UUID
    request_id: UUID | None
    kind: str  # as of `Action`
    principal: str
    document_json: str  # the entry's details, and a few fields of the record while it exists


class ActionLog:
    """The table `action`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, principal: Principal, record_id: UUID, *, after_seq: int, count_max: int) -> Sequence[Action]:
        """Return up to `count_max` entries after `after_seq`, oldest first."""
        parameters = (principal.tenant_id, record_id, after_seq, count_max)
        return [
            copied(Action, row, created_at=row.created_at.astimezone(UTC))
            for row in await self._database.of(principal).query(_LIST_ACTIONS, parameters)
        ]

    async def of_entity(
        self,
        principal: Principal,
        entity_node_id: UUID,
        *,
        after: ActionPlace | None,
        descending: bool,
        count_max: int,
    ) -> list[EntityAction]:
        """Return up to `count_max` entries of the logs of all records of an entity, by time."""
        after_at, after_seq = ("infinity" if descending else "-infinity"), 0
        if after is not None:
            after_at = (_EPOCH + timedelta(microseconds=after.created_at_us)).isoformat()
            after_seq = after.seq
        parameters = {
            "entity_node_id": entity_node_id,
            "behind_at": after_at,
            "behind_seq": after_seq,
            "count_max": count_max,
        }
        statement = _OF_ENTITY_DESCENDING if descending else _OF_ENTITY
        rows = await self._database.of(principal).query(statement, parameters, named=False)
        return [EntityAction(ActionPlace(row[0], row[1]), *row[2:]) for row in rows]

    async def was_purged(self, principal: Principal, record_id: UUID) -> bool:
        """Tell whether the last entry of a record's log is a purge."""
        rows = await self._database.of(principal).query(_LAST_KIND, (principal.tenant_id, record_id))
        return bool(rows) and rows[0].kind == "purged"
