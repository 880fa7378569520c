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

from service_runtime.postgres import Database
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SQL = SqlFile.of(__file__)
_LIST_ACTIONS = SQL["list_actions"]
_OF_ENTITY = SQL["of_entity"]
_OF_ENTITY_DESCENDING = SQL["of_entity_descending"]
_LAST_KIND = SQL["last_kind"]


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
    """The table `action`, which logs what happened to each record."""

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
