"""One statement on a connection: its placeholders, its parameters, its rows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.rows import namedtuple_row, tuple_row

from service_runtime.postgres.connection import Connection, Row

Parameters = Mapping[str, Any] | Sequence[Any]
Cursor = psycopg.AsyncCursor[Row]

_ROWS_AT_ONCE = 5000  # are made of an answer before other calls have their turn: some ten milliseconds
_PLACEHOLDER = re.compile(r"%\((\w+)\)s|%%")


async def execute(
    connection: Connection, sql: str, parameters: Parameters, *, named: bool, prepare: bool = True
) -> Cursor:
    """Send a statement.

    Args:
        connection: The connection to send it on.
        sql: The statement, with placeholders of psycopg.
        parameters: Values of the placeholders, in their order or by name.
        named: True returns rows as named tuples, False as plain ones.
        prepare: Keep it prepared, once it has come often enough.
    """
    row_factory = namedtuple_row if named else tuple_row
    cursor: Cursor
    if prepare and isinstance(parameters, Mapping):
        statement, names = _number_placeholders(sql)
        parameters = [parameters[name] for name in names]
        cursor = psycopg.AsyncRawCursor(connection, row_factory=row_factory)
    else:
        statement = sql.encode()
        cursor = connection.cursor(row_factory=row_factory)
    # None: once it has come often enough.
    await cursor.execute(statement, parameters, binary=True, prepare=None if prepare else False)
    return cursor


@lru_cache(maxsize=512)
def _number_placeholders(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a statement with Postgres's own placeholders, and the names of its parameters in their order.

    psycopg keeps the parsed form only of statements of up to 4,096 characters; the largest of ours take 0.1 ms.
    """
    names: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        return f"${names.setdefault(match[1], len(names) + 1)}"

    return _PLACEHOLDER.sub(number, sql).encode(), tuple(names)


async def fetched(cursor: Cursor) -> list[Row]:
    """Return the rows of a statement, none if it is of a kind that has none."""
    try:
        rows: list[Row] = await cursor.fetchmany(_ROWS_AT_ONCE)
        if len(rows) == _ROWS_AT_ONCE:
            while more := await cursor.fetchmany(_ROWS_AT_ONCE):
                rows += more
                await asyncio.sleep(0)
        return rows
    except psycopg.ProgrammingError as error:
        if error.sqlstate is None and cursor.description is None:
            return []  # not Postgres's error but psycopg's: the statement has no rows to fetch
        raise
