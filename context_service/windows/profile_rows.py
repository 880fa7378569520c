"""The SQL of profiles that tenants register: each content is a version, and a name stands for the one put last."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from service_runtime.auth import Principal
from service_runtime.postgres import Database, Row, Tenant, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProfile:
    """A version of a profile.

    Attributes:
        version: From 1; 0: it comes with the service.
        text: As it was put; empty where nobody asked for it.
    """

    name: str
    version: int
    text: str
    created_by: str = ""
    created_at: datetime | None = None


# The row of the name is the lock: a twin of this call waits here.
_NAME = """
INSERT INTO context.window_profile (tenant_id, name) VALUES (%s, %s) ON CONFLICT (tenant_id, name) DO NOTHING
RETURNING name
"""
_LOCK = """
SELECT version, version_count FROM context.window_profile WHERE tenant_id = %s AND name = %s FOR UPDATE
"""
_COUNT = "SELECT count(*) AS profiles FROM context.window_profile WHERE tenant_id = %s"
_SAME = """
SELECT version FROM context.window_profile_version WHERE tenant_id = %s AND name = %s AND sha256 = %s
"""
_INSERT = """
INSERT INTO context.window_profile_version (tenant_id, name, version, sha256, created_by, text)
VALUES (%s, %s, %s, %s, %s, %s)
"""
_PUT = """
UPDATE context.window_profile SET version = %s, version_count = greatest(version_count, %s)
WHERE tenant_id = %s AND name = %s
"""
_COLUMNS = "v.name, v.version, v.created_by, v.created_at"
_READ = f"""
SELECT {_COLUMNS}, v.text
FROM context.window_profile_version v
WHERE v.tenant_id = %s AND v.name = %s AND v.version = %s
"""  # noqa: S608 - constants
_CURRENT = "SELECT version FROM context.window_profile WHERE tenant_id = %s AND name = %s AND version > 0"
_LIST = f"""
SELECT {_COLUMNS}, CASE WHEN %(with_text)s THEN v.text ELSE '' END AS text
FROM context.window_profile p
JOIN context.window_profile_version v ON v.tenant_id = p.tenant_id AND v.name = p.name AND v.version = p.version
WHERE p.tenant_id = %(tenant_id)s AND p.name COLLATE "C" > %(after)s AND v.tenant_id = %(tenant_id)s
ORDER BY p.name COLLATE "C"
LIMIT %(count)s
"""  # noqa: S608
_VERSIONS = f"""
SELECT {_COLUMNS}, CASE WHEN %(with_text)s THEN v.text ELSE '' END AS text
FROM context.window_profile_version v
WHERE v.tenant_id = %(tenant_id)s AND v.name = %(name)s AND (%(before)s = 0 OR v.version < %(before)s)
ORDER BY v.version DESC
LIMIT %(count)s
"""  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """What became of a put.

    Attributes:
        version: Of this content.
        profiles: Of the tenant, if the name is new.
        versions: Of the name, if the content is new.
    """

    version: int
    profiles: int = 0
    versions: int = 0


class ProfileRows:
    """The profiles of tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def current(self, tenant_id: UUID, name: str) -> int | None:
        """Return the version that a name stands for; None: the tenant has none of that name."""
        rows = await self._door(tenant_id).query(_CURRENT, (tenant_id, name))
        return rows[0].version if rows else None

    async def read(self, tenant_id: UUID, name: str, version: int) -> StoredProfile | None:
        """Return a version, with its text; None: the tenant has none."""
        rows = await self._door(tenant_id).query(_READ, (tenant_id, name, version))
        return _stored(rows[0]) if rows else None

    async def names(self, principal: Principal, *, after: str, count: int, with_text: bool) -> list[StoredProfile]:
        """Return the profiles of a tenant by name, from behind `after` on, each as it was put last."""
        door = self._database.of(principal)
        said = {"tenant_id": door.tenant_id, "after": after, "count": count, "with_text": with_text}
        return [_stored(row) for row in await door.query(_LIST, said)]

    async def versions(
        self, principal: Principal, name: str, *, before: int, count: int, with_text: bool
    ) -> list[StoredProfile]:
        """Return the versions of a profile, the newest first, from the one before `before` on; 0: from the newest."""
        door = self._database.of(principal)
        said = {"tenant_id": door.tenant_id, "name": name, "before": before, "count": count, "with_text": with_text}
        return [_stored(row) for row in await door.query(_VERSIONS, said)]

    def _door(self, tenant_id: UUID) -> Tenant:
        """Return the tenant's own door: a window shows what its profile makes of it to a key of its context, too."""
        return self._database.of(Principal(tenant_id=tenant_id, subject="profiles"))

    async def put(self, transaction: Transaction, name: str, text: str, *, created_by: str) -> Put:
        """Write a content under a name, unless it is there, and let the name stand for it."""
        key = (transaction.tenant_id, name)
        is_new = bool(await transaction.query(_NAME, key))
        profiles = (await transaction.query(_COUNT, (transaction.tenant_id,)))[0].profiles if is_new else 0
        (current,) = await transaction.query(_LOCK, key)
        sha256 = hashlib.sha256(text.encode()).digest()
        same = await transaction.query(_SAME, (*key, sha256))
        version: int = same[0].version if same else current.version_count + 1
        if not same:
            await transaction.query(_INSERT, (*key, version, sha256, created_by, text))
        if version != current.version:
            await transaction.query(_PUT, (version, version, *key))
        return Put(version=version, profiles=profiles, versions=0 if same else version)


def _stored(row: Row) -> StoredProfile:
    return StoredProfile(
        name=row.name, version=row.version, text=row.text, created_by=row.created_by, created_at=row.created_at
    )
