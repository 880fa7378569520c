"""Tenants as operators see them: their databases, usage and limits.

The home database has the list; each database knows the usage of the tenants that live in it. The functions of the
tables' owner (migrations/0001_context.sql) check the caller's key themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from context_service.operations.rules.operators import check_operator, everywhere, key_of
from context_service.operations.store.tenants import FIND, LIST, SET, STORED
from contextkeep.errors import InvalidArgument, TenantNotFound
from service_runtime.inputs import pages
from service_runtime.inputs.pages import PageRequest
from service_runtime.postgres import Database, Row, lives_elsewhere
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_text

NAME_CHARS_MAX = 500
LIMIT_MAX = 2**62
_LIMITS = ("records_max", "bytes_max", "blob_bytes_max", "content_bytes_max")
_LEAST = {"records_max": 0, "bytes_max": 0, "blob_bytes_max": 1, "content_bytes_max": 1}


_LOOKED_FOR = 2  # times: the second lookup finds a tenant that has moved meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTenant:
    """A tenant. A limit that is None has the value of the settings."""

    id: UUID
    name: str
    created_at: datetime
    database: str  # where it lives; empty for the home database
    is_away: bool = True  # that database did not answer: the following fields are unknown
    records: int = 0
    size_bytes: int = 0
    records_max: int | None = None
    bytes_max: int | None = None
    blob_bytes_max: int | None = None
    content_bytes_max: int | None = None


class Tenants:
    """Lists all tenants and sets their limits."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, page: PageRequest, *, principal: Principal) -> tuple[list[StoredTenant], str]:
        """Return a page of tenants, by id, and the token of the next one.

        Raises:
            PermissionDenied: the principal is not a key of an operator.
            InvalidArgument: the page size is negative, or another field is malformed.
            InvalidPageToken: the page token is malformed, or belongs to another list.
        """
        query = ("ListTenants",)
        after_id = pages.decode_id(query, page.token)
        count = pages.page_size(page.size)
        await check_operator(self._database, principal)
        rows = await self._database.untenanted(LIST, {"behind_id": after_id, "count": count + 1})
        rows, token = pages.cut(query, rows, count, key=lambda tenant: (tenant.id,))
        return await self._with_usage(rows, principal), token

    async def set_limits(self, name: str, limits: Mapping[str, int | None], *, principal: Principal) -> StoredTenant:
        """Change limits of a tenant, and return the tenant.

        A limit that is None gets the value of the settings again; limits that are not named stay.

        Raises:
            PermissionDenied: the principal is not a key of an operator.
            InvalidArgument: no limit is named, or a value is out of range.
            TenantNotFound: no tenant has this name.
            Unavailable: the tenant's database does not answer, or the tenant is being moved.
        """
        check_text("tenant", name, chars_max=NAME_CHARS_MAX, required=True)
        if not limits:
            raise InvalidArgument("update_mask must name at least one limit", field="update_mask")
        for limit, value in limits.items():
            if value is not None and not _LEAST[limit] <= value < LIMIT_MAX:
                raise InvalidArgument(
                    f"limits.{limit} must be between {_LEAST[limit]} and {LIMIT_MAX - 1} (got {value})",
                    field=f"limits.{limit}",
                )
        await check_operator(self._database, principal)
        parameters = {**dict.fromkeys(_LIMITS), **limits, "changed": list(limits), "name": name}
        for _ in range(_LOOKED_FOR):
            rows = await self._database.untenanted(FIND, {"ids": [], "name": name})
            if not rows:
                raise TenantNotFound(f"no tenant has the name {name[:100]!r}; ListTenants shows all")
            tenant_rows = self._database.operating(principal, rows[0].database)
            (row,) = await tenant_rows.query(SET, {**parameters, "asking_id": key_of(principal)})
            if row.lives_there:
                (tenant,) = await self._with_usage(rows, principal)
                return tenant
        raise lives_elsewhere()

    async def _with_usage(self, listed: Sequence[Row], principal: Principal) -> list[StoredTenant]:
        """Return listed tenants with their usage, in order."""
        where = {row.id: row for row in listed}
        stored: dict[UUID, Row] = {}
        left: Sequence[Row] = listed
        for _ in range(_LOOKED_FOR):
            ids = [row.id for row in left]
            answers = await everywhere(
                self._database, principal, STORED, {"ids": ids}, names={row.database for row in left}
            )
            stored |= {row.id: row for rows in answers.values() for row in rows or ()}
            left = [row for row in left if row.id not in stored and answers[row.database] is not None]
            if not left:
                break
            left = await self._database.untenanted(FIND, {"ids": [row.id for row in left], "name": None})
            where |= {row.id: row for row in left}
        return [
            StoredTenant(**where[row.id]._asdict(), **_stored_values(stored[row.id]))
            if row.id in stored
            else StoredTenant(**where[row.id]._asdict())
            for row in listed
        ]


def _stored_values(row: Row) -> dict[str, Any]:
    values = row._asdict()
    del values["id"]
    return {**values, "is_away": False}
