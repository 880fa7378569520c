"""Two databases, and tenants spread over them.

`make test DATABASES=2` gives each database of a test another one beside it, in which the other tenant lives, and half
of those who are listed nowhere. So what a test says holds wherever a tenant lives. One that looks into the
database itself asks `Urls.of` or `Urls.all` which.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.databases.placement import Databases
from service_runtime.postgres import Database
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from tests.conftest import BESIDE, OTHER_PRINCIPAL, Urls, cloned, lives_beside

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
    with cloned(postgres, is_alone=True) as home, cloned(postgres, is_alone=True) as east:
        with psycopg.connect(east.admin, autocommit=True) as connection:
            connection.execute("DELETE FROM access.tenant WHERE id = %s", (OTHER_PRINCIPAL.tenant_id,))
        two = Two(home=home, east=east)
        two.databases.claim(EAST)
        two.databases.place(OTHER_PRINCIPAL.tenant_id, "other", EAST)
        yield two


def settle(home: Urls, east: Urls) -> None:
    """Let the other tenant live in the database beside a home, and whoever is sent there without being listed."""
    with psycopg.connect(home.admin, autocommit=True) as connection:
        connection.execute(
            "WITH listed AS (UPDATE access.tenant SET database = %(name)s WHERE id = %(id)s)"
            " INSERT INTO access.residence (tenant_id, state) VALUES (%(id)s, 'GONE')",
            {"id": OTHER_PRINCIPAL.tenant_id, "name": EAST},
        )
    with psycopg.connect(east.admin, autocommit=True) as connection:
        connection.execute(
            "WITH named AS (INSERT INTO access.this_database (name) VALUES (%(name)s))"
            " INSERT INTO access.residence (tenant_id, state) VALUES (%(id)s, 'HERE')",
            {"id": OTHER_PRINCIPAL.tenant_id, "name": EAST},
        )
        connection.execute("UPDATE access.residence SET state = 'GONE' WHERE tenant_id = %s", (DEFAULT_TENANT_ID,))
        connection.execute(
            "CREATE OR REPLACE FUNCTION access.lives_here(of_tenant uuid) RETURNS boolean LANGUAGE sql STABLE AS"
            " $$ SELECT NOT EXISTS (SELECT FROM access.residence r WHERE r.tenant_id = of_tenant"
            " AND r.state IN ('ARRIVING', 'GONE')) $$"
        )


def switch_on() -> None:
    """Let whoever opens one of the databases that have one beside them open both."""
    opened = Database.open.__func__  # type: ignore[attr-defined]

    @asynccontextmanager
    async def open_both(
        cls: type[Database], url: str, *, others: Mapping[str, str] | None = None, **how: Any
    ) -> AsyncIterator[Database]:
        is_spread = url in BESIDE and not others
        async with opened(cls, url, others={EAST: BESIDE[url].service} if is_spread else others, **how) as database:
            if is_spread:
                remember = database._directory.remember
                database._directory.remember = lambda tenant_id, name: remember(
                    tenant_id, EAST if lives_beside(tenant_id) else name
                )
            yield database

    Database.open = classmethod(open_both)  # type: ignore[assignment,method-assign]
