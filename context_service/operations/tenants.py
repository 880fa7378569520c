"""Tenants as operators see them: what each stores, and what it may.

The functions of the owner (migrations/0064_operations.sql) see for themselves whether the key that asks may.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from context_service.operations.operators import key_of
from contextkeep.errors import InvalidArgument, TenantNotFound
from service_runtime import pages
from service_runtime.auth import Principal
from service_runtime.documents import check_text
from service_runtime.pages import PageRequest
from service_runtime.postgres import Database
from service_runtime.tenants import require_at_home

NAME_CHARS_MAX = 500
LIMIT_MAX = 2**62
_LIMITS = ("records_max", "bytes_max", "blob_bytes_max", "content_bytes_max")
_LEAST = {"records_max": 0, "bytes_max": 0, "blob_bytes_max": 1, "content_bytes_max": 1}

_LIST = """
SELECT id, name, created_at, records, size_bytes, records_max, bytes_max, blob_bytes_max, content_bytes_max
FROM context.list_tenants(%(asking_id)s, %(behind_id)s, %(name)s, %(count)s)
"""

_SET = """
SELECT context.set_tenant_limits(
    %(asking_id)s, %(name)s, %(changed)s, %(records_max)s, %(bytes_max)s, %(blob_bytes_max)s, %(content_bytes_max)s
) AS found
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTenant:
    """A tenant. A limit that is None is what the settings say."""

    id: UUID
    name: str
    created_at: datetime
    records: int
    size_bytes: int
    records_max: int | None
    bytes_max: int | None
    blob_bytes_max: int | None
    content_bytes_max: int | None


class Tenants:
    """All tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, page: PageRequest, *, principal: Principal) -> tuple[list[StoredTenant], str]:
        """Return a page of them, by id, and the token of the next one.

        Raises:
            PermissionDenied: the principal is no operator's key.
            InvalidArgument, InvalidPageToken: see the contract.
        """
        query = ("ListTenants",)
        behind_id = pages.decode_id(query, page.token)
        count = pages.page_size(page.size)
        found = await self._read(principal, behind_id=behind_id, name=None, count=count + 1)
        token = pages.encode_token(query, (found[count - 1].id,)) if len(found) > count else ""
        return found[:count], token

    async def set_limits(self, name: str, limits: Mapping[str, int | None], *, principal: Principal) -> StoredTenant:
        """Say what a tenant may store, and return it; None gives it the settings' again, and what is not named stays.

        Raises:
            PermissionDenied: the principal is no operator's key.
            InvalidArgument: no limit is named, or one can be none.
            TenantNotFound: there is none of this name.
            FailedPrecondition: it lives in another database than the home, where only the command sets limits.
        """
        check_text("tenant", name, chars_max=NAME_CHARS_MAX, required=True)
        if not limits:
            raise InvalidArgument("update_mask names no limit", field="update_mask")
        for limit, value in limits.items():
            if value is not None and not _LEAST[limit] <= value < LIMIT_MAX:
                raise InvalidArgument(f"limits.{limit} can be no limit", field=f"limits.{limit}")
        parameters = {**dict.fromkeys(_LIMITS), **limits, "changed": list(limits), "name": name}
        asking = {"asking_id": key_of(principal)}
        await require_at_home(self._database, name)
        (row,) = await self._database.of(principal).at_home().query(_SET, {**parameters, **asking})
        found = await self._read(principal, behind_id=None, name=name, count=1) if row.found else []
        if not found:
            raise TenantNotFound("there is no tenant of this name")
        return found[0]

    async def _read(
        self, principal: Principal, *, behind_id: UUID | None, name: str | None, count: int
    ) -> list[StoredTenant]:
        parameters = {"asking_id": key_of(principal), "behind_id": behind_id, "name": name, "count": count}
        rows = await self._database.of(principal).at_home().query(_LIST, parameters)
        return [StoredTenant(**row._asdict()) for row in rows]
