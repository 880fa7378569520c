"""Registered mappings in Postgres: rows, versions, and the revision that all replicas watch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from context_service.history.pure.mapping_rules import Rules
from contextkeep.errors import LimitExceeded, MappingExists
from service_runtime.postgres import Database, Row, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

_RULES = TypeAdapter(Rules)

SQL = SqlFile.of(__file__)
_FIND = SQL["find"]
_LIST = SQL["list"]
_APPS = SQL["apps"]
_INSERT = SQL["insert"]
_LOCK = SQL["lock"]
_UPDATE = SQL["update"]
_DELETE = SQL["delete"]
_COUNT = SQL["count"]
_BUMP = SQL["bump"]
_REVISION = SQL["revision"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMapping:
    """A row: rules as their author wrote them, not compiled."""

    app_id: str  # empty for the tenant's shared scope
    name: str
    rules: Rules
    rules_version: int  # the author's own number; 0: none
    version: int  # counts the changes, from 1
    created_at: datetime
    updated_at: datetime
    imported_json: str | None = None  # the import that wrote the row, and the authors that its archive names


class MappingStore:
    """The table `mapping`."""

    def __init__(self, database: Database, *, mappings_max: int) -> None:
        """Take the database, and how many mappings an app may have."""
        self._database = database
        self._mappings_max = mappings_max

    async def find(self, principal: Principal, name: str, app_ids: Sequence[str]) -> dict[str, StoredMapping]:
        """Return the mappings of that name in some apps, by app."""
        rows = await self._database.of(principal).query(_FIND, {"name": name, "app_ids": list(app_ids)})
        return {row.app_id: _mapping_of(row) for row in rows}

    async def apps(self, principal: Principal, name: str) -> list[str]:
        """Return up to 20 apps that have a mapping of that name."""
        rows = await self._database.of(principal).query(_APPS, {"name": name})
        return [row.app_id for row in rows]

    async def list(
        self,
        principal: Principal,
        *,
        app_ids: Sequence[str] | None,
        after: tuple[str, str],
        count_max: int,
        bytes_max: int,
    ) -> tuple[list[StoredMapping], bool]:
        """Return mappings by app and name, from the one after `after`, and whether there are more.

        Args:
            principal: The caller; its tenant and bounds limit the rows.
            app_ids: Only mappings of these apps; None returns those of all apps.
            after: The app and name after which the page begins.
            count_max: The number of mappings at most.
            bytes_max: The size of all rules together at most; the first mapping may be larger.
        """
        parameters = {
            "app_ids": None if app_ids is None else list(app_ids),
            "after_app_id": after[0],
            "after_name": after[1],
            "count_max": count_max,
            "bytes_max": bytes_max,
        }
        rows = await self._database.of(principal).query(_LIST, parameters)
        return [_mapping_of(row) for row in rows], bool(rows) and rows[0].found > len(rows)

    async def register(
        self, principal: Principal, app_id: str, name: str, rules: Rules, *, rules_version: int, replace: bool
    ) -> tuple[StoredMapping, bool]:
        """Write rules under a name, unless the stored ones are the same or newer.

        Returns:
            What holds now, and whether this call changed it.

        Raises:
            MappingExists: other rules have the name.
            LimitExceeded: the app has as many mappings as it may.
        """
        parameters = {
            "app_id": app_id,
            "name": name,
            "rules": Jsonb(_RULES.dump_python(rules)),
            "rules_version": rules_version,
            "created_by": principal.subject,
        }

        async def write(transaction: Transaction) -> tuple[StoredMapping, bool]:
            """Insert the mapping, or replace the stored one if the new rules supersede it; return what is stored then.

            The row of an existing mapping is locked first. Each change raises the revision that all replicas watch.
            """
            inserted = await transaction.query(_INSERT, parameters)
            if inserted:
                (count,) = await transaction.query(_COUNT, parameters)
                if count.mappings > self._mappings_max:
                    raise LimitExceeded(
                        f"an app may have up to {self._mappings_max} mappings; delete some",
                        limit="mappings",
                        limit_max=self._mappings_max,
                        value=count.mappings,
                    )
                await transaction.query(_BUMP)
                return _mapping_of(inserted[0]), True
            (row,) = await transaction.query(_LOCK, parameters)
            current = _mapping_of(row)
            if not _supersedes(rules, rules_version, current, replace=replace):
                return current, False
            is_changed = rules != current.rules
            # An app that registers its older rules at its next start must not undo what replaced them.
            version = rules_version or (current.rules_version + 1 if current.rules_version else 0)
            (row,) = await transaction.query(_UPDATE, {**parameters, "rules_version": version, "changed": is_changed})
            await transaction.query(_BUMP)
            return _mapping_of(row), is_changed

        return await self._database.of(principal).transaction(write)

    async def delete(self, principal: Principal, app_id: str, name: str) -> StoredMapping | None:
        """Remove the mapping of that name from an app, and return it as it was; None if there is none."""
        parameters = {"app_id": app_id, "name": name}

        async def remove(transaction: Transaction) -> StoredMapping | None:
            rows = await transaction.query(_DELETE, parameters)
            if not rows:
                return None
            await transaction.query(_BUMP)
            return _mapping_of(rows[0])

        return await self._database.of(principal).transaction(remove)

    async def revision(self) -> int:
        """Return the number that grows with every change of any mapping."""
        return sum([row.revision for row in await self._database.everywhere(_REVISION)])


def _supersedes(rules: Rules, rules_version: int, current: StoredMapping, *, replace: bool) -> bool:
    """Return whether a registration replaces the stored rules.

    Raises:
        MappingExists: the rules differ, and neither `replace` nor a higher version says that they are to be replaced.
    """
    if rules_version and rules_version < current.rules_version:
        return False  # an old replica of a rolling deployment
    if rules == current.rules:
        return rules_version > current.rules_version
    if replace or rules_version > current.rules_version:
        return True
    raise MappingExists(
        f"the mapping {current.name!r} has other rules; set replace or a higher rules_version to replace them",
        app_id=current.app_id,
        mapping_name=current.name,
        rules_version=current.rules_version,
    )


def _mapping_of(row: Row) -> StoredMapping:
    return copied(StoredMapping, row, rules=_RULES.validate_python(row.rules))
