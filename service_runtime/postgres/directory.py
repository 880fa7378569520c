"""Where each tenant lives: the name of a database, as `access.tenant` of the home database has it.

What was found is remembered for seconds. It may be old all the same, so no database takes it on trust: whom it does not
have it refuses, and he is looked for again. So it does no harm to go on with what is known while the home database
does not answer.
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
        home: The home database.
    """

    def __init__(self, home: Pool) -> None:
        self._home = home
        self._found: dict[UUID, tuple[float, str]] = {}  # until when it is fresh, and what it is

    def known(self, tenant_id: UUID) -> str | None:
        """Return where a tenant lives, if that was looked up a moment ago."""
        until, name = self._found.get(tenant_id, (0.0, HOME))
        return name if until > time.monotonic() else None

    async def database_of(self, tenant_id: UUID) -> str:
        """Return the name of the database where a tenant lives; of one that nobody knows, `HOME`.

        Raises:
            Unavailable: the home database does not answer, and the tenant is not known from before.
        """
        found = self._found.get(tenant_id)
        if found is not None and found[0] > time.monotonic():
            return found[1]
        try:
            rows = await self._home.untenanted(_FIND, (tenant_id,))
        except Unavailable:
            if found is None:
                raise
            return found[1]
        return self.remember(tenant_id, rows[0].database if rows else None)

    def remember(self, tenant_id: UUID, database: str | None) -> str:
        """Take what `access.tenant` says now of a tenant, and return the name."""
        name = database or HOME
        if len(self._found) >= _REMEMBERED_MAX:
            self._found.clear()
        self._found[tenant_id] = (time.monotonic() + REMEMBERED_S, name)
        return name

    def forget(self, tenant_id: UUID) -> None:
        """Look for a tenant again, the next time: it was not where it was thought to be."""
        self._found.pop(tenant_id, None)
