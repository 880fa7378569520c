"""Where each tenant lives: the name of a database, as `access.tenant` of the home database has it.

An answer is remembered for seconds. It may be old, so no database trusts it: a database refuses a tenant that it does
not have, and then the directory is read again. So it is safe to go on with old answers while the home database does not
answer.
"""

from __future__ import annotations

import time
from uuid import UUID

from contextkeep.errors import Unavailable
from service_runtime.postgres.pool import Pool

HOME = ""  # its name
REMEMBERED_S = 5.0
_REMEMBERED_MAX = 100_000

_FIND = "SELECT database FROM access.tenant WHERE id = %s"


class Directory:
    """Finds databases of tenants.

    Args:
        home: The home database, which has the table `access.tenant`.
    """

    def __init__(self, home: Pool) -> None:
        self._home = home
        self._entries: dict[UUID, tuple[float, str]] = {}  # the time until which it is fresh, and the database

    def known(self, tenant_id: UUID) -> str | None:
        """Return where a tenant lives, if that was looked up a moment ago."""
        until, name = self._entries.get(tenant_id, (0.0, HOME))
        return name if until > time.monotonic() else None

    async def database_of(self, tenant_id: UUID) -> str:
        """Return the name of the database where a tenant lives, or `HOME` for an unknown tenant.

        Raises:
            Unavailable: the home database does not answer, and the tenant is not known from before.
        """
        entry = self._entries.get(tenant_id)
        if entry is not None and entry[0] > time.monotonic():
            return entry[1]
        try:
            rows = await self._home.untenanted(_FIND, (tenant_id,))
        except Unavailable:
            if entry is None:
                raise
            return entry[1]
        return self.remember(tenant_id, rows[0].database if rows else None)

    def remember(self, tenant_id: UUID, database: str | None) -> str:
        """Remember the database of a tenant from `access.tenant`, and return its name."""
        name = database or HOME
        if len(self._entries) >= _REMEMBERED_MAX:
            self._entries.clear()
        self._entries[tenant_id] = (time.monotonic() + REMEMBERED_S, name)
        return name

    def forget(self, tenant_id: UUID) -> None:
        """Drop the remembered database of a tenant, because the tenant was not there; the next call looks it up."""
        self._entries.pop(tenant_id, None)
