"""Many databases, as an operator has them made: their names, and the database of each tenant.

The home database has the directory (`access.tenant.database`), and each database says which tenants live in it
(`access.residence`). Two databases cannot commit at once. So rows that are in both are written in such an order that a
process that is killed in between leaves no tenant in two databases, and a repeat of the command completes the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import namedtuple_row

from contextkeep.errors import FailedPrecondition
from service_runtime.auth.keys import KeyAdministration
from service_runtime.postgres import HOME
from service_runtime.postgres.administration import CannotAdminister, administering
from service_runtime.settings import ServiceSettings
from service_runtime.statements.sql_files import SqlFile

_SAME_LOCK = 0x64617461  # "data": advisory lock that shows whether two URLs lead to the same database

SQL = SqlFile.of(__file__)
_IS_EMPTY = SQL["is_empty"]
_TENANT = SQL["tenant"]
_SETTLES_HERE = SQL["settles_here"]
_SIZE = SQL["size"]
_LIVES_ELSEWHERE = SQL["lives_elsewhere"]
_LIVES_HERE = SQL["lives_here"]


class WrongDatabase(FailedPrecondition):
    """A database is another one than the settings say."""

    reason = "WRONG_DATABASE"


class Databases:
    """The home database and the others, as the owner of their tables.

    Args:
        home_url: URL of the home database, as the role that owns the tables.
        other_urls: URLs of the other databases, as the same role, by their names.
    """

    def __init__(self, home_url: str, other_urls: Mapping[str, str]) -> None:
        self.urls = {HOME: home_url, **other_urls}

    def url_of(self, name: str) -> str:
        """Return the URL of a database.

        Raises:
            WrongDatabase: there is no database of this name.
        """
        if name not in self.urls:
            raise WrongDatabase(f"DATABASE_ADMIN_URLS has no database {name!r}")
        return self.urls[name]

    def claim(self, name: str) -> None:
        """Write a database's name into it, so that it is not taken for another one; a repeat does nothing.

        Raises:
            WrongDatabase: the database has another name, is the home database, or has keys and tenants of its own.
            CannotAdminister: the database does not answer, or is not migrated.
        """
        with _connected(self.urls[HOME]) as home, _connected(self.url_of(name)) as other:
            # Advisory locks belong to a database: if the second connection cannot take the lock that the first one
            # holds, both lead to the same database.
            home.execute("SELECT pg_advisory_lock(%s)", (_SAME_LOCK,))
            if not _row_of(other, "SELECT pg_try_advisory_lock(%s) AS free", (_SAME_LOCK,)).free:
                raise WrongDatabase(f"{name} is the home database; DATABASE_ADMIN_URLS must name other databases")
            with other.transaction():
                known = other.execute("SELECT name FROM access.this_database").fetchall()
                if [row.name for row in known] == [name]:
                    return
                if known:
                    raise WrongDatabase(f"the database of {name} is already known as {known[0].name}")
                if not _row_of(other, _IS_EMPTY).is_empty:
                    raise WrongDatabase(
                        f"{name} has keys or tenants of its own, as that of another installation; give an empty one"
                    )
                other.execute("INSERT INTO access.this_database (name) VALUES (%s)", (name,))
                other.execute("DELETE FROM access.residence")
                other.execute("DELETE FROM access.tenant")

    def add_tenant(self, name: str, *, database: str | None = None) -> bool:
        """Make a tenant, and return whether it is new. If it exists, complete a creation that broke off.

        Args:
            name: Name of the tenant to make.
            database: Name of the tenant's database. None takes the smallest database that answers.

        Raises:
            WrongDatabase: there is no database of this name.
            CannotAdminister: the tenant's database or the home database does not answer, or is not migrated.
        """
        if database is None:
            database = HOME
            if len(self.urls) > 1:
                sizes = self.sizes()
                database = min(sizes, key=sizes.__getitem__)
        if database == "home":
            database = HOME
        self.url_of(database)
        is_new = KeyAdministration(self.urls[HOME]).add_tenant(name, database=database)
        with _connected(self.urls[HOME]) as home:
            tenant = _row_of(home, _TENANT, (name,))
        if tenant.database != HOME:
            with _connected(self.url_of(tenant.database)) as other:
                other.execute(_SETTLES_HERE, {"id": tenant.id, "name": name})
        return is_new

    def place(self, tenant_id: UUID, name: str, database: str) -> None:
        """Place a tenant that has no rows yet in a database; a repeat does nothing."""
        if database == HOME:
            return
        # Change the directory first: if the process is killed before the second step, the tenant lives in no database.
        with _connected(self.urls[HOME]) as home:
            home.execute(_LIVES_ELSEWHERE, {"id": tenant_id, "database": database})
        with _connected(self.url_of(database)) as other:
            other.execute(_LIVES_HERE, {"id": tenant_id, "name": name})

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of each database that answers.

        Raises:
            CannotAdminister: the home database does not answer.
        """
        bytes_by_database = {}
        for name, url in self.urls.items():
            try:
                with _connected(url) as connection:
                    bytes_by_database[name] = int(_row_of(connection, _SIZE).bytes)
            except CannotAdminister:
                if name == HOME:
                    raise
        return bytes_by_database


def databases_of(settings: ServiceSettings) -> Databases:
    """Return the databases that settings name.

    Raises:
        SystemExit: DATABASE_ADMIN_URL is not set, or DATABASE_ADMIN_URLS names others than DATABASE_URLS.
    """
    return Databases(settings.database_admin, settings.other_databases_admin)


def _connected(url: str) -> Any:
    return administering(url, autocommit=True, row_factory=namedtuple_row)


def _row_of(connection: psycopg.Connection[Any], sql: str, parameters: Any = None) -> Any:
    return connection.execute(sql.encode(), parameters).fetchone()
