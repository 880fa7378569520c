"""The SQL of archives: reads and writes pages of rows of any table of the catalogue.

The statements of all tables are built in the same way, from their columns in the catalogue and in Postgres. Documents
(`json`) and vectors are texts in an archive, so that every character is preserved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import psycopg
from psycopg.types.json import Json

from context_service.transfer.store.tables import CARRIED, Table
from service_runtime.postgres import Across, Tenant, Transaction

ALL = Across(
    sql="",
    contexts=True,
    subjects=True,
    why="an administrator takes a tenant, a user or a context out, or puts it in, with a key that is bound to nothing",
)

PAGE_BYTES = 1024 * 1024
_ROWS_MAX = 2_000  # the most rows of a page
_ROWS_FIRST = 50  # rows of the first page of a table, before the size of its rows is known
# Columns that name the author of a row. The author in an archive is only a claim: it is kept in `imported`, and these
# columns name the caller of the import. A row that is exported, or compared with an archive, has the claimed author.
AUTHORS = frozenset({"approved_by", "created_by", "principal", "search_safe_recorded_by", "updated_by"})
_IMPORTED = "imported"
_AS_TEXT = frozenset({"json", "jsonb", "halfvec", "public.halfvec"})

_COLUMNS = """
SELECT c.relname AS table_name, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'context' AND c.relname = ANY (%s) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    AND a.attname <> 'tenant_id'
ORDER BY c.relname, a.attnum
"""
_NUMBER_AFTER = "SELECT context.number_behind(%s, %s)"
NUMBER_MAX = 2**52  # the highest `seq` that an archive may have; every client can represent it as a whole number
# If a row has a higher `seq` than this and its key does not contain it, the row gets another `seq`. So the tenant's own
# numbers stay far below `NUMBER_MAX`. The SQL function `context.number_behind` has the same limit.
NUMBER_KEPT_MAX = 2**48


class Column(NamedTuple):
    """A column in Postgres."""

    name: str
    type: str

    @property
    def is_text(self) -> bool:
        """Whether an archive has the column's values as text."""
        return self.type in _AS_TEXT

    @property
    def is_document(self) -> bool:
        """Whether the column's values are JSON documents."""
        return self.type in ("json", "jsonb")


Columns = Mapping[str, tuple[Column, ...]]


class Page(NamedTuple):
    """Rows of a table as lines of JSON, with their keys."""

    lines: list[str]
    keys: list[list[str]]
    is_last: bool


class ImportOrigin(NamedTuple):
    """The import that wrote a row, and the caller that started it."""

    import_id: str
    imported_by: str  # the subject of the caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """The result of a write of rows."""

    written: int  # rows that did not exist, and were written
    present: int  # rows that exist already and are equal
    conflicts: list[tuple[int, str]]  # the number of the row, from 1, and the reason: "different" or "taken"


async def columns(tenant: Tenant) -> Columns:
    """Return the columns of all exported tables in the current schema."""
    rows_found: dict[str, list[Column]] = {name: [] for name in CARRIED}
    for row in await tenant.query(_COLUMNS, (list(CARRIED),)):
        rows_found[row.table_name].append(Column(row.name, row.type))
    return {name: tuple(those) for name, those in rows_found.items()}


def carried(table: Table, columns: Columns) -> tuple[Column, ...]:
    """Return the columns of a table that its rows have in an archive."""
    return tuple(
        column
        for column in columns[table.name]
        if column.name not in table.left_out and column.name not in table.fixed_values and column.name != _IMPORTED
    )


async def page(
    transaction: Transaction,
    table: Table,
    columns: Columns,
    *,
    where: str,
    parameters: Mapping[str, Any],
    after: Sequence[str],
    rows_max: int = _ROWS_FIRST,
) -> Page:
    """Read the next rows of a table, in the order of their keys: about a mebibyte, or one larger row.

    Args:
        transaction: The transaction whose snapshot is read.
        table: The table to read.
        columns: The columns of all tables.
        where: A SQL condition over `t` that selects the rows.
        parameters: The parameters of `where`, by name.
        after: The key of the last row that was read; empty at the beginning.
        rows_max: The most rows that the statement reads.
    """
    statement = _page_sql(table, carried(table, columns), where, bool(after))
    keys = {f"key{place}": part for place, part in enumerate(after)}
    named = {**parameters, **keys, "rows_max": rows_max, "bytes_max": PAGE_BYTES}
    rows_found = await transaction.query(statement, named, named=False)
    lines = [row[1] for row in rows_found]
    is_last = len(rows_found) < rows_max and (not rows_found or rows_found[0][0] == len(rows_found))
    return Page(lines, [list(row[2:]) for row in rows_found], is_last)


def next_rows_max(page: Page) -> int:
    """Estimate how many of the next rows make a mebibyte."""
    size = sum(map(len, page.lines)) or 1
    return max(1, min(_ROWS_MAX, PAGE_BYTES * len(page.lines) // size + 1))


@lru_cache(maxsize=512)
def _page_sql(table: Table, columns: tuple[Column, ...], where: str, goes_on: bool) -> str:
    """Return the statement that reads the next rows of a table; with `goes_on`, those after a key.

    The inner query limits the rows, the outer ones limit the sum of their bytes.
    """
    types = {column.name: column.type for column in columns}
    key = table.rest_of_key
    row_columns = ", ".join(f"{_stored_column(column)} AS {column.name}" for column in columns)
    order = ", ".join(f"t.{column}" for column in key)
    after = ""
    if goes_on:
        fixed_values = ", ".join(f"%(key{place})s::{types[column]}" for place, column in enumerate(key))
        after = f" AND ({order}) > ({fixed_values})"
    places = ", ".join(f"k{place}" for place in range(len(key)))
    keys = ", ".join(f"t.{column} AS k{place}" for place, column in enumerate(key))
    # The texts of the keys must not have the names k0, k1, ... of the keys: ORDER BY would sort by the texts.
    texts = ", ".join(f"k{place}::text AS key{place}" for place in range(len(key)))
    return f"""
        SELECT looked_at, line, {texts}
        FROM (
            SELECT line, {places}, count(*) OVER () AS looked_at,
                sum(octet_length(line)) OVER (ORDER BY {places} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                    AS bytes_before
            FROM (
                SELECT (SELECT row_to_json(s)::text FROM (SELECT {row_columns}) s) AS line, {keys}
                FROM context.{table.name} t
                WHERE t.tenant_id = %(tenant_id)s AND {where}{after}
                ORDER BY {order}
                LIMIT %(rows_max)s
            ) one
        ) sized
        WHERE coalesce(bytes_before, 0) < %(bytes_max)s
        ORDER BY {places}
    """  # noqa: S608 - names of the catalogue and of the schema


async def put(
    transaction: Transaction,
    table: Table,
    columns: Columns,
    names: Sequence[str],
    rows: bytes,
    *,
    count: int,
    fixed_values: Mapping[str, Any],
    source: ImportOrigin,
    compare_only: bool = False,
) -> Put:
    """Insert missing rows, and compare the existing ones.

    Args:
        transaction: A transaction with the rights of an administrator.
        table: The table to write to.
        columns: The columns of all tables.
        names: The columns that each row has, some of those of `carried`.
        rows: A JSON array of objects, in UTF-8.
        count: The number of rows in `rows`.
        fixed_values: The values of columns that are not in the rows.
        source: The import that the rows come from.
        compare_only: Write nothing, and count missing rows as written; see `Put`.

    Raises:
        psycopg.IntegrityError, InvalidArgument: a value cannot be stored.
    """
    row_columns = tuple(column for column in columns[table.name] if column.name in set(names))
    parameters = {**fixed_values, **source._asdict(), "tenant_id": transaction.tenant_id}
    # The bytes are passed unchanged, because a `str` of them would take up to four times as much memory.
    parameters["rows"] = Json(rows, dumps=bytes)
    written = 0
    if not compare_only:
        (row,) = await transaction.query(_put_sql(table, row_columns), parameters)
        written = row.written
        if written == count:
            return Put(written=written, present=0, conflicts=[])
    if table.is_view:
        return Put(written=written, present=count - written, conflicts=[])
    others = await transaction.query(_compare_sql(table, row_columns), parameters)
    missing = [row.row_place for row in others if row.is_missing]
    different = [(row.row_place, "different") for row in others if not row.is_missing]
    if compare_only:
        return Put(written=len(missing), present=count - len(others), conflicts=different)
    conflicts = different + [(place, "taken") for place in missing]
    return Put(written=written, present=count - written - len(conflicts), conflicts=conflicts)


def _recordset(columns: tuple[Column, ...]) -> str:
    """Return the SQL that reads the archived rows from the parameter `rows`, as `g` with the number of each row."""
    types = ", ".join(f"{column.name} {'text' if column.is_text else column.type}" for column in columns)
    names = ", ".join(column.name for column in columns)
    return f"ROWS FROM (json_to_recordset(%(rows)s::json) AS ({types})) WITH ORDINALITY g ({names}, row_place)"


def _cast(column: Column) -> str:
    return f"g.{column.name}::{column.type}" if column.is_text else f"g.{column.name}"


def _stored_column(column: Column) -> str:
    """Return the SQL of a stored column's value, in the form that an archive has."""
    if column.name in AUTHORS:  # show the claimed author, unless another one has changed the row since the import
        claimed = f"t.{_IMPORTED} ->> '{column.name}'"
        return f"CASE WHEN t.{column.name} = t.{_IMPORTED} ->> 'imported_by' THEN {claimed} ELSE t.{column.name} END"
    return f"t.{column.name}::text" if column.is_text else f"t.{column.name}"


def _column_value(column: Column, table: Table) -> str:
    """Return the SQL of a column's value; a column that names an author gets the caller of the import instead."""
    if column.name in table.claims:
        return table.claims[column.name]
    return (
        f"CASE WHEN g.{column.name} <> '' THEN %(imported_by)s ELSE g.{column.name} END"
        if column.name in AUTHORS
        else _cast(column)
    )


@lru_cache(maxsize=512)
def _put_sql(table: Table, row_columns: tuple[Column, ...]) -> str:
    """Return the statement that inserts rows, unless they exist, and counts the inserted ones."""
    authors = [column.name for column in row_columns if column.name in AUTHORS]
    claims = ", ".join(f"'{name}', g.{name}" for name in authors)
    source = f"""jsonb_build_object(
        'import_id', %(import_id)s::text, 'imported_by', %(imported_by)s::text, 'imported_at', now(), {claims}
    )"""
    imported = {_IMPORTED: source} if authors else {}
    into = ", ".join(["tenant_id", *(column.name for column in row_columns), *table.fixed_values, *imported])
    values = ", ".join(
        [
            "%(tenant_id)s",
            *(_column_value(column, table) for column in row_columns),
            *table.fixed_values.values(),
            *imported.values(),
        ]
    )
    has_number = table.is_renumbered and any(column.name == "seq" for column in row_columns)
    unless = f" WHERE NOT (g.seq > {NUMBER_KEPT_MAX} OR {table.unless or 'false'})" if has_number else ""
    return f"""
        WITH put AS (
            INSERT INTO context.{table.name} ({into})
            SELECT {values} FROM {_recordset(row_columns)} {table.joined}{unless}
            ORDER BY row_place
            ON CONFLICT DO NOTHING
            RETURNING true
        )
        SELECT count(*) AS written FROM put
    """  # noqa: S608 - as above


@lru_cache(maxsize=512)
def _compare_sql(table: Table, row_columns: tuple[Column, ...]) -> str:
    """Return the statement that finds the rows which are missing here or have other values.

    Columns that background work changes are not compared.
    """
    by_name = {column.name: column for column in row_columns}
    same_key = " AND ".join(
        f"t.{column} = {_cast(by_name[column]) if column in by_name else table.fixed_values[column]}"
        for column in table.key
    )
    # `seq` is not compared, since an import may have given the row another number.
    aside = table.changing | table.claims.keys() | set(table.key) | ({"seq"} if table.numbered else set())
    compared = [column for column in row_columns if column.name not in aside]
    ours = ", ".join(f"t.{column.name}" if column.type == "jsonb" else _stored_column(column) for column in compared)
    theirs = ", ".join(
        f"g.{column.name}::jsonb" if column.type == "jsonb" else f"g.{column.name}" for column in compared
    )
    differs = f"ROW({ours}) IS DISTINCT FROM ROW({theirs})" if compared else "false"
    missing = f"t.{table.key[0]} IS NULL"
    return f"""
        SELECT row_place, {missing} AS is_missing
        FROM {_recordset(row_columns)} LEFT JOIN context.{table.name} t ON t.tenant_id = %(tenant_id)s AND {same_key}
            {table.joined.replace("JOIN", "LEFT JOIN", 1)}
        WHERE {missing} OR {differs}
        ORDER BY row_place
    """  # noqa: S608 - as above


@contextmanager
def refusing_values(refused: Callable[[str], Exception]) -> Iterator[None]:
    """Within the block, replace an error by which Postgres refuses a value with the error that `refused` returns."""
    try:
        yield
    except psycopg.IntegrityError as error:
        constraint = error.diag.constraint_name or error.diag.column_name or "a constraint"
        raise refused(f"a value violates {constraint}") from error
    except (psycopg.DataError, psycopg.errors.ProgramLimitExceeded, psycopg.errors.StatementTooComplex) as error:
        raise refused("a value cannot be stored") from error


async def number_after(transaction: Transaction, table: Table, numbers: Iterable[int]) -> None:
    """Raise the tenant's next number above those of imported rows."""
    if kept_numbers := [number for number in numbers if number <= NUMBER_KEPT_MAX]:
        await transaction.query(_NUMBER_AFTER, (table.name, max(kept_numbers)))


def key_of(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the key of an archived row."""
    return {name: row[name] for name in table.rest_of_key if name in row}
