"""Two databases, and tenants spread over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from service_runtime.databases import Databases
from service_runtime.embedded_postgres import EmbeddedPostgres
from tests.conftest import OTHER_PRINCIPAL, Urls, cloned

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
