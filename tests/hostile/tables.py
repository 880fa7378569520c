"""The tables and views of the database, found in its catalogue."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from tests.conftest import Urls

SCHEMAS = ["access", "context", "entity"]
BESIDE = {"access.administrative_call"}  # of each call of an administrator there is a row, refused or not


def relations(url: str) -> dict[str, bool]:
    """Return all tables and views by name, and whether their rows have a tenant."""
    with psycopg.connect(url) as connection:
        return _relations(connection)


def _relations(connection: psycopg.Connection) -> dict[str, bool]:
    return dict(
        connection.execute(
            "SELECT c.relnamespace::regnamespace || '.' || c.relname, EXISTS ("
            "  SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')"
            " FROM pg_class c WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')"
            "  AND c.relnamespace::regnamespace::text = ANY (%s)"
            " ORDER BY 1",
            (SCHEMAS,),
        ).fetchall()
    )


def tables_of_tenants(connection: psycopg.Connection) -> list[str]:
    """Return the tables, and no views, whose rows have a tenant."""
    views = {
        name
        for (name,) in connection.execute(
            "SELECT relnamespace::regnamespace || '.' || relname FROM pg_class WHERE relkind IN ('v', 'm')"
        )
    }
    return [name for name, has_tenant in _relations(connection).items() if has_tenant and name not in views]


class Tables:
    """What tenants have in all tables, of all databases, read between any two calls: planned once."""

    def __init__(self, connections: Sequence[psycopg.Connection]) -> None:
        self._connections = connections
        self._names = [
            name for name, has_tenant in _relations(connections[0]).items() if has_tenant and name not in BESIDE
        ]
        self._prepare("sums_of", "count(*), md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), ''))")
        self._prepare("rows_of", "t::text")

    def sums_of(self, tenant_id: uuid.UUID) -> dict[str, tuple[int, str]]:
        """Return how many rows a tenant has in each table, and a checksum over them."""
        found: dict[str, tuple[int, str]] = {}
        for name, count, checksum in self._all("sums_of", tenant_id):
            before = found.get(name, (0, ""))
            found[name] = (before[0] + count, before[1] + checksum)
        return found

    def rows_of(self, tenant_id: uuid.UUID) -> dict[str, set[str]]:
        """Return the rows that a tenant has in each table, as texts."""
        found: dict[str, set[str]] = {name: set() for name in self._names}
        for name, text in self._all("rows_of", tenant_id):
            found[name].add(text)
        return found

    def _prepare(self, name: str, columns: LiteralString) -> None:
        each = [
            sql.SQL("SELECT {}, {} FROM {} t WHERE tenant_id = $1").format(
                sql.Literal(table), sql.SQL(columns), sql.Identifier(*table.split("."))
            )
            for table in self._names
        ]
        statement = sql.SQL("PREPARE {} (uuid) AS {}").format(sql.Identifier(name), sql.SQL(" UNION ALL ").join(each))
        for connection in self._connections:
            connection.execute(statement)

    def _all(self, name: str, tenant_id: uuid.UUID) -> list[Any]:
        statement = sql.SQL("EXECUTE {} ({})").format(sql.Identifier(name), sql.Literal(tenant_id))
        return [row for connection in self._connections for row in connection.execute(statement).fetchall()]


@contextmanager
def reading(urls: Urls) -> Iterator[Tables]:
    """Read the tables of a database, and of the one beside it, in the block."""
    planned_once = "-c plan_cache_mode=force_generic_plan"
    with ExitStack() as stack:
        yield Tables(
            [
                stack.enter_context(psycopg.connect(one.superuser, autocommit=True, options=planned_once))
                for one in urls.all
            ]
        )


def column_names(connection: psycopg.Connection, table: str) -> list[str]:
    """Return the columns of a table that a statement may write."""
    rows = connection.execute(
        "SELECT attname FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
        (table,),
    )
    return [name for (name,) in rows]


def columns_of(connection: psycopg.Connection, table: str) -> sql.Composed:
    """Return the columns of a table that a statement may write, with commas between them."""
    return sql.SQL(", ").join(map(sql.Identifier, column_names(connection, table)))


@contextmanager
def switched_off(urls: Urls, table: str) -> Iterator[None]:
    """Take row-level security off a table for the block, in the database beside, too."""
    _switch(urls, table, "DISABLE")
    try:
        yield
    finally:
        _switch(urls, table, "ENABLE")


def _switch(urls: Urls, table: str, how: LiteralString) -> None:
    for one in urls.all:
        with psycopg.connect(one.admin, autocommit=True) as connection:
            connection.execute(
                sql.SQL("ALTER TABLE {} {} ROW LEVEL SECURITY").format(sql.Identifier(*table.split(".")), sql.SQL(how))
            )
