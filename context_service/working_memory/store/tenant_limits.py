"""How much a tenant may store: the settings are the default, and a tenant may have limits of its own.

Triggers count what a tenant has, in the transaction that changes it, over several rows per tenant. So reading the count
costs the same for any amount, and blocks no writer. But a transaction does not see what others are about to commit:
when little room is left, a tenant's writes are serialized, each from its check to its commit.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import namedtuple_row

from context_service.blobs.storage import check_blob_size
from contextkeep.errors import LimitExceeded
from service_runtime.postgres import Database, Tenant, Transaction
from service_runtime.postgres.administration import administering
from service_runtime.rpc.principal import Principal
from service_runtime.statements.sql_files import SqlFile
from service_runtime.values.checks import check_size

# Room is scarce if less is left than a tenth of the limit, or than these values if they are larger. With more room,
# writes are not serialized: to exceed the limit, concurrent writes would have to add this much within milliseconds.
SCARCE_RECORDS = 1000
SCARCE_BYTES = 1024**3

CACHED_S = 5.0  # how long a process uses the limits of a tenant before it reads them again
_CACHED_MAX = 10_000

SQL = SqlFile.of(__file__)
_OWN_LIMITS = SQL["own_limits"]
_USAGE = SQL["usage"]
_TAKE_TURN = SQL["take_turn"]
_PUT_LIMITS = SQL["put_limits"]
_LIST_LIMITS = SQL["list_limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantLimits:
    """The limits of one tenant."""

    blob_bytes_max: int  # the most bytes of one blob
    content_bytes_max: int  # the most bytes of one inline content
    bytes_max: int | None  # the most bytes of all contents and unfinished uploads; None means no limit
    records_max: int | None  # the most records, with archived ones; None means no limit

    def check_content(self, field: str, content: str) -> None:
        """Refuse an inline content that is too large.

        Raises:
            LimitExceeded: the content is larger than the tenant may store inline.
        """
        check_size(field, content, size_bytes_max=self.content_bytes_max)

    def check_blob(self, size_bytes: int) -> None:
        """Refuse a blob whose size so far, or whose declared size, is too large.

        Raises:
            BlobTooLarge: the blob is larger than the tenant's limit.
        """
        check_blob_size(size_bytes, size_bytes_max=self.blob_bytes_max)

    async def check_room(self, connection: Tenant | Transaction, *, records: int, size_bytes: int) -> bool:
        """Refuse a write for which the tenant has no room; return whether room is scarce after it.

        Args:
            connection: The tenant, or its transaction; with a transaction, that transaction's own changes count too.
            records: The number of records that will be added.
            size_bytes: The number of bytes that will be added.

        Raises:
            LimitExceeded: the tenant has less room.
        """
        if self.records_max is None and self.bytes_max is None:
            return False
        (used,) = await connection.query(_USAGE, (connection.tenant_id,))
        is_scarce = False
        for limit, limit_max, has, more, scarce in (
            ("tenant_records", self.records_max, used.records, records, SCARCE_RECORDS),
            ("tenant_bytes", self.bytes_max, used.size_bytes, size_bytes, SCARCE_BYTES),
        ):
            if limit_max is None or more <= 0:
                continue
            left = limit_max - has - more
            if left < 0:
                what = limit.removeprefix("tenant_")
                raise LimitExceeded(
                    f"the tenant has {has} {what} and may have up to {limit_max}; purge some or ask for a higher limit",
                    limit=limit,
                    limit_max=limit_max,
                    value=has + more,
                )
            is_scarce = is_scarce or left < max(limit_max // 10, scarce)
        return is_scarce

    async def take_room(self, transaction: Transaction, *, records: int, size_bytes: int) -> None:
        """Refuse a write for which the tenant has no room, just before it.

        Args:
            transaction: The transaction that writes. If room is scarce, other writes of the tenant wait until it ends.
            records: The number of records that will be added.
            size_bytes: The number of bytes that will be added.

        Raises:
            LimitExceeded: the tenant has less room.
        """
        if await self.check_room(transaction, records=records, size_bytes=size_bytes):
            await transaction.query(_TAKE_TURN, (transaction.tenant_id,))
            await self.check_room(transaction, records=records, size_bytes=size_bytes)


class Limits:
    """The limits of all tenants.

    Args:
        database: The database that holds the tenants' limits and usage.
        defaults: The limits of a tenant that has none of its own.
    """

    def __init__(self, database: Database, defaults: TenantLimits) -> None:
        self._database = database
        self._defaults = defaults
        self._cached: dict[UUID, tuple[float, TenantLimits]] = {}

    async def of(self, principal: Principal) -> TenantLimits:
        """Return the limits of the principal's tenant, as they were up to `CACHED_S` ago."""
        until, limits = self._cached.get(principal.tenant_id, (0.0, self._defaults))
        now = time.monotonic()
        if now < until:
            return limits
        own = {}
        for row in await self._database.of(principal).query(_OWN_LIMITS, (principal.tenant_id,)):
            own = {name: value for name, value in row._asdict().items() if value is not None}
        limits = dataclasses.replace(self._defaults, **own)
        # A tenant cannot have larger inline contents than the setting, because other limits are derived from it.
        content_bytes_max = min(limits.content_bytes_max, self._defaults.content_bytes_max)
        limits = dataclasses.replace(limits, content_bytes_max=content_bytes_max)
        if len(self._cached) >= _CACHED_MAX:
            self._cached.clear()
        self._cached[principal.tenant_id] = (now + CACHED_S, limits)
        return limits

    async def usage(self, principal: Principal) -> Usage:
        """Return the usage of the principal's tenant, and its limits."""
        limits = await self.of(principal)
        (used,) = await self._database.of(principal).query(_USAGE, (principal.tenant_id,))
        return Usage(records=used.records, size_bytes=used.size_bytes, limits=limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The usage of a tenant, and its limits."""

    records: int
    size_bytes: int
    limits: TenantLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedLimits:
    """Limits and usage of a tenant, as an operator sees them. None means the value of the settings."""

    tenant: str
    records_max: int | None
    records: int
    bytes_max: int | None
    size_bytes: int
    blob_bytes_max: int | None
    content_bytes_max: int | None


class LimitAdministration:
    """Reads and changes limits for an operator, as the owner of the tables.

    Args:
        admin_urls: The URL for each database with which the owner of the tables connects.
    """

    def __init__(self, *admin_urls: str) -> None:
        self._admin_urls = admin_urls

    def change(self, tenant: str, values: Mapping[str, int | None]) -> None:
        """Set limits of a tenant by name; None restores the value of the settings; limits not named stay."""
        names = ("blob_bytes_max", "content_bytes_max", "bytes_max", "records_max")
        parameters = {**dict.fromkeys(names), **values, "name": tenant, "changed": list(values)}
        for admin_url in self._admin_urls:
            with administering(admin_url) as connection:
                connection.execute(_PUT_LIMITS.encode(), parameters)

    def show(self, tenant: str | None) -> list[ListedLimits]:
        """Return limits and usage of a tenant, or of all."""
        listed = []
        for admin_url in self._admin_urls:
            with administering(admin_url, row_factory=namedtuple_row) as connection:
                rows = connection.execute(_LIST_LIMITS.encode(), {"name": tenant})
                listed += [ListedLimits(**row._asdict()) for row in rows]
        return listed
