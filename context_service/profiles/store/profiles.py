"""The SQL of profiles that tenants register. Each new content is a version; the name alone means the current version.

A learned version has no content, only factors for numbers of its base. The name of a profile never means it.
"""

from __future__ import annotations

import hashlib
from uuid import UUID

import orjson
from psycopg.types.json import Jsonb

from context_service.profiles.model import PutVersion, StoredProfile
from context_service.profiles.pure.lookups import Counts, Learned, counts_json, counts_of, learned_of
from service_runtime.postgres import Database, Row, Tenant, Transaction
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.copying import copied

LEARNED_MAX = 100  # the most learned versions of a profile, over all apps


SQL = SqlFile.of(__file__)
_NAME = SQL["name"]
_LOCK = SQL["lock"]
_COUNT = SQL["count"]
_COUNT_VERSIONS = SQL["count_versions"]
_SAME = SQL["same"]
_INSERT = SQL["insert"]
_PUT = SQL["put"]
_INSERT_LEARNED = SQL["insert_learned"]
_COUNT_LEARNED = SQL["count_learned"]
_READ = SQL["read"]
_CURRENT = SQL["current"]
_LIST = SQL["list"]
_VERSIONS = SQL["versions"]


class ProfileRows:
    """The profiles of tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def current(self, tenant_id: UUID, name: str) -> int | None:
        """Return the version that a name means, or None if the tenant has no profile of that name."""
        rows = await self._tenant(tenant_id).query(_CURRENT, (tenant_id, name))
        return rows[0].version if rows else None

    async def read(self, tenant_id: UUID, name: str, version: int) -> StoredProfile | None:
        """Return a version with its text, or None if the tenant has no such version."""
        rows = await self._tenant(tenant_id).query(_READ, (tenant_id, name, version))
        return _profile_of(rows[0]) if rows else None

    async def get(self, transaction: Transaction, name: str, version: int) -> StoredProfile:
        """Return a version with its text; the version must exist."""
        (row,) = await transaction.query(_READ, (transaction.tenant_id, name, version))
        return _profile_of(row)

    async def names(self, principal: Principal, *, after: str, count: int, with_text: bool) -> list[StoredProfile]:
        """Return the newest version of each profile of a tenant, by name, after `after`."""
        tenant = self._database.of(principal)
        parameters = {"after": after, "count": count, "with_text": with_text}
        return [_profile_of(row) for row in await tenant.query(_LIST, parameters)]

    async def versions(
        self, principal: Principal, name: str, *, before: int, count: int, with_text: bool
    ) -> list[StoredProfile]:
        """Return the versions of a profile that are older than `before`, newest first; 0 begins with the newest."""
        tenant = self._database.of(principal)
        parameters = {"name": name, "before": before, "count": count, "with_text": with_text}
        return [_profile_of(row) for row in await tenant.query(_VERSIONS, parameters)]

    def _tenant(self, tenant_id: UUID) -> Tenant:
        """Return the connection for the whole tenant: even a caller bound to a context needs its window's profile."""
        return self._database.of(Principal(tenant_id=tenant_id, subject="profiles"))

    async def put(self, transaction: Transaction, name: str, text: str, *, created_by: str) -> PutVersion:
        """Write a new version with this content, unless a version has it already, and make it the current version."""
        key = (transaction.tenant_id, name)
        is_new = bool(await transaction.query(_NAME, key))
        profiles = (await transaction.query(_COUNT, key))[0].profiles if is_new else 0
        (current,) = await transaction.query(_LOCK, key)
        sha256 = hashlib.sha256(text.encode()).digest()
        same = await transaction.query(_SAME, (*key, sha256))
        version: int = same[0].version if same else current.version_count + 1
        versions = 0
        if not same:
            await transaction.query(_INSERT, (*key, version, sha256, created_by, text))
            versions = (await transaction.query(_COUNT_VERSIONS, (*key, False)))[0].versions
        if version != current.version:
            await transaction.query(_PUT, (version, version, *key))
        return PutVersion(version=version, profiles=profiles, versions=versions)

    async def learn(
        self, transaction: Transaction, base: str, app_id: str, what: Learned, evidence: Counts, context_count: int
    ) -> int | None:
        """Write a learned version, unless it exists, and return its number; None if the profile has too many."""
        name = base.partition("@")[0]
        key = (transaction.tenant_id, name)
        await transaction.query(_NAME, key)
        (current,) = await transaction.query(_LOCK, key)
        fingerprint = orjson.dumps([base, app_id, context_count, what._asdict(), counts_json(evidence)])
        sha256 = hashlib.sha256(fingerprint).digest()
        if same := await transaction.query(_SAME, (*key, sha256)):
            return int(same[0].version)
        (count,) = await transaction.query(_COUNT_VERSIONS, (*key, True))
        if count.versions >= LEARNED_MAX:
            return None
        version: int = current.version_count + 1
        numbers = Jsonb(what._asdict()), Jsonb(counts_json(evidence))
        await transaction.query(_INSERT_LEARNED, (*key, version, sha256, base, app_id, context_count, *numbers))
        await transaction.query(_COUNT_LEARNED, (version, *key))
        return version


def _profile_of(row: Row) -> StoredProfile:
    """Return the profile of a row."""
    return copied(
        StoredProfile,
        row,
        learned=learned_of(row.learned) if row.learned else None,
        evidence=counts_of(row.evidence) if row.evidence else None,
    )
