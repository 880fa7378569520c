"""Two databases, and tenants spread over them.

`make test DATABASES=2` gives each database of a test another one beside it, in which the other tenant lives, and half
of those who are listed nowhere. So what a test says holds wherever a tenant lives, unless the test itself looks into
the database for one who lives in the other: those are left out of that run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from service_runtime.auth import DEFAULT_TENANT_ID
from service_runtime.databases import Databases
from service_runtime.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database
from service_runtime.postgres.pool import Pool
from tests.conftest import BESIDE, OTHER_PRINCIPAL, Urls, cloned

EAST = "east"


@dataclass(frozen=True, slots=True, kw_only=True)
class Two:
    """The home database and another one, in which the other tenant lives."""

    home: Urls
    east: Urls

    @property
    def others(self) -> dict[str, str]:
        """What DATABASE_URLS names."""
        return {EAST: self.east.service}

    @property
    def urls(self) -> str:
        """DATABASE_URLS."""
        return f"{EAST}={self.east.service}"

    @property
    def databases(self) -> Databases:
        """Both, as the owner."""
        return Databases(self.home.admin, {EAST: self.east.admin})


@contextmanager
def two_databases(postgres: EmbeddedPostgres) -> Iterator[Two]:
    """Make both for the block."""
    with cloned(postgres) as home, cloned(postgres) as east:
        with psycopg.connect(east.admin, autocommit=True) as connection:
            connection.execute("DELETE FROM access.tenant WHERE id = %s", (OTHER_PRINCIPAL.tenant_id,))
        two = Two(home=home, east=east)
        two.databases.claim(EAST)
        two.databases.place(OTHER_PRINCIPAL.tenant_id, "other", EAST)
        yield two


def switch_on() -> None:
    """Let whoever opens one of the databases that have one beside them open both."""
    made, opened = Database.__init__, Database.open.__func__  # type: ignore[attr-defined]

    def make(self: Database, home: Pool, others: Mapping[str, Pool]) -> None:
        made(self, home, others)
        if EAST in others:
            remembered = self._directory.remember
            self._directory.remember = (  # type: ignore[method-assign]
                lambda tenant_id, database: remembered(tenant_id, EAST if _lives_east(tenant_id) else database)
            )

    def open_both(
        cls: type[Database], url: str, *, others: Mapping[str, str] | None = None, **how: Any
    ) -> AbstractAsyncContextManager[Database]:
        beside = {EAST: BESIDE[url]} if url in BESIDE and not others else others
        found: AbstractAsyncContextManager[Database] = opened(cls, url, others=beside, **how)
        return found

    Database.__init__ = make  # type: ignore[method-assign]
    Database.open = classmethod(open_both)  # type: ignore[assignment,method-assign]


def _lives_east(tenant_id: UUID) -> bool:
    return tenant_id != DEFAULT_TENANT_ID and (tenant_id == OTHER_PRINCIPAL.tenant_id or tenant_id.int % 2 == 1)
