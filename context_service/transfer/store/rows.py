"""The SQL of archives: rows read out in pages, and written in, of any table of the catalogue.

The statements of all tables are made in one way, from what the catalogue and Postgres say of their columns. Documents
(`json`) and vectors travel as texts, so that every character is as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

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
_ROWS_MAX = 2_000  # of a page
_ROWS_FIRST = 50
# Columns that say who wrote a row. What an archive says of that is a claim: it is kept in `imported`, and these columns
# name whoever imports. A row that is exported, or compared with an archive, says what was claimed of it.
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
NUMBER_MAX = 2**52  # of a row in an archive: a whole number of any client
# A higher number that a row does not need for its key is replaced: the tenant's own numbers stay far below what the
# next import accepts.
NUMBER_KEPT_MAX = 2**48  # as of `context.number_behind`


class Column(NamedTuple):
    """A column, as Postgres knows it."""

    name: str
    type: str

    @property
    def is_text(self) -> bool:
        """Whether it travels as a text."""
        return self.type in _AS_TEXT

    @property
    def is_document(self) -> bool:
        """Whether it is JSON."""
        return self.type in ("json", "jsonb")


Columns = Mapping[str, tuple[Column, ...]]


class Page(NamedTuple):
    """Rows of a table, as lines of JSON, and their keys."""

    lines: list[str]
    keys: list[list[str]]
    is_last: bool


class ImportOrigin(NamedTuple):
    """Where imported rows come from, as they say it."""

    import_id: str
    imported_by: str  # the subject of whoever imports


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """What became of rows."""

    written: int
    present: int
    conflicts: list[tuple[int, str]]  # by the place of the row, and why


async def columns(tenant: Tenant) -> Columns:
    """Return the columns of all tables that are carried, as the schema is now."""
    found: dict[str, list[Column]] = {name: [] for name in CARRIED}
    for row in await tenant.query(_COLUMNS, (list(CARRIED),)):
        found[row.table_name].append(Column(row.name, row.type))
    return {name: tuple(those) for name, those in found.items()}


def carried(table: Table, known: Columns) -> tuple[Column, ...]:
    """Return the columns that rows of a table say."""
    return tuple(
        one
        for one in known[table.name]
        if one.name not in table.left_out and one.name not in table.given and one.name != _IMPORTED
    )


async def page(
    transaction: Transaction,
    table: Table,
    known: Columns,
    *,
    where: str,
    parameters: Mapping[str, Any],
    behind: Sequence[str],
    rows_max: int = _ROWS_FIRST,
) -> Page:
    """Return some rows of a table, in the order of their keys: about a mebibyte of them, or one.

    Args:
        transaction: In which.
        table: Which.
        known: Its columns.
        where: SQL over `t`: which rows.
        parameters: Of that.
        behind: The key of the last row that was read; empty: none was.
        rows_max: Rows that are looked at.
    """
    statement = _page_sql(table, carried(table, known), where, bool(behind))
    keys = {f"key{place}": part for place, part in enumerate(behind)}
    named = {**parameters, **keys, "rows_max": rows_max, "bytes_max": PAGE_BYTES}
    found = await transaction.query(statement, named, named=False)
    lines = [row[1] for row in found]
    is_last = len(found) < rows_max and (not found or found[0][0] == len(found))
    return Page(lines, [list(row[2:]) for row in found], is_last)


def next_rows_max(page: Page) -> int:
    """Return how many rows of a table shall be looked at next: a mebibyte of them, as it seems."""
    size = sum(map(len, page.lines)) or 1
    return max(1, min(_ROWS_MAX, PAGE_BYTES * len(page.lines) // size + 1))


@lru_cache(maxsize=512)
def _page_sql(table: Table, columns: tuple[Column, ...], where: str, goes_on: bool) -> str:
    types = {one.name: one.type for one in columns}
    key = table.rest_of_key
    said = ", ".join(f"{_stored(one)} AS {one.name}" for one in columns)
    order = ", ".join(f"t.{one}" for one in key)
    behind = ""
    if goes_on:
        given = ", ".join(f"%(key{place})s::{types[one]}" for place, one in enumerate(key))
        behind = f" AND ({order}) > ({given})"
    places = ", ".join(f"k{place}" for place in range(len(key)))
    keys = ", ".join(f"t.{one} AS k{place}" for place, one in enumerate(key))
    # Not as they are called below: the rows would be in the order of the texts.
    texts = ", ".join(f"k{place}::text AS key{place}" for place in range(len(key)))
    return f"""
        SELECT looked_at, line, {texts}
        FROM (
            SELECT line, {places}, count(*) OVER () AS looked_at,
                sum(octet_length(line)) OVER (ORDER BY {places} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                    AS bytes_before
            FROM (
                SELECT (SELECT row_to_json(s)::text FROM (SELECT {said}) s) AS line, {keys}
                FROM context.{table.name} t
                WHERE t.tenant_id = %(tenant_id)s AND {where}{behind}
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
    known: Columns,
    names: Sequence[str],
    rows: bytes,
    *,
    count: int,
    given: Mapping[str, Any],
    source: ImportOrigin,
    compare_only: bool = False,
) -> Put:
    """Write rows that are not there, and compare the others.

    Args:
        transaction: Of an administrator.
        table: Which.
        known: Its columns.
        names: What each row says; of `carried`.
        rows: A JSON array of objects, in UTF-8.
        count: How many.
        given: The values of the columns that rows do not say.
        source: What they are of.
        compare_only: Write nothing: what is not there counts as written, or would be a conflict; see `Put`.

    Raises:
        psycopg.IntegrityError, InvalidArgument: a value that cannot be stored.
    """
    said = tuple(one for one in known[table.name] if one.name in set(names))
    named = {**given, **source._asdict(), "tenant_id": transaction.tenant_id}
    named["rows"] = Json(rows, dumps=bytes)  # as it is: a text takes up to four times as much memory
    written = 0
    if not compare_only:
        (row,) = await transaction.query(_put_sql(table, said), named)
        written = row.written
        if written == count:
            return Put(written=written, present=0, conflicts=[])
    if table.is_view:
        return Put(written=written, present=count - written, conflicts=[])
    others = await transaction.query(_compare_sql(table, said), named)
    missing = [row.row_place for row in others if row.is_missing]
    different = [(row.row_place, "different") for row in others if not row.is_missing]
    if compare_only:
        return Put(written=len(missing), present=count - len(others), conflicts=different)
    conflicts = different + [(place, "taken") for place in missing]
    return Put(written=written, present=count - written - len(conflicts), conflicts=conflicts)


def _recordset(columns: tuple[Column, ...]) -> str:
    types = ", ".join(f"{one.name} {'text' if one.is_text else one.type}" for one in columns)
    names = ", ".join(one.name for one in columns)
    return f"ROWS FROM (json_to_recordset(%(rows)s::json) AS ({types})) WITH ORDINALITY g ({names}, row_place)"


def _cast(one: Column) -> str:
    return f"g.{one.name}::{one.type}" if one.is_text else f"g.{one.name}"


def _stored(one: Column) -> str:
    if one.name in AUTHORS:  # somebody else may have written since
        claimed = f"t.{_IMPORTED} ->> '{one.name}'"
        return f"CASE WHEN t.{one.name} = t.{_IMPORTED} ->> 'imported_by' THEN {claimed} ELSE t.{one.name} END"
    return f"t.{one.name}::text" if one.is_text else f"t.{one.name}"


def _written(one: Column) -> str:
    return (
        f"CASE WHEN g.{one.name} <> '' THEN %(imported_by)s ELSE g.{one.name} END"
        if one.name in AUTHORS
        else _cast(one)
    )


@lru_cache(maxsize=512)
def _put_sql(table: Table, said: tuple[Column, ...]) -> str:
    authors = [one.name for one in said if one.name in AUTHORS]
    claims = ", ".join(f"'{name}', g.{name}" for name in authors)
    source = f"""jsonb_build_object(
        'import_id', %(import_id)s::text, 'imported_by', %(imported_by)s::text, 'imported_at', now(), {claims}
    )"""
    imported = {_IMPORTED: source} if authors else {}
    into = ", ".join(["tenant_id", *(one.name for one in said), *table.given, *imported])
    values = ", ".join(["%(tenant_id)s", *map(_written, said), *table.given.values(), *imported.values()])
    has_number = table.is_renumbered and any(one.name == "seq" for one in said)
    unless = f" WHERE NOT (g.seq > {NUMBER_KEPT_MAX} OR {table.unless or 'false'})" if has_number else ""
    return f"""
        WITH put AS (
            INSERT INTO context.{table.name} ({into})
            SELECT {values} FROM {_recordset(said)} {table.joined}{unless}
            ORDER BY row_place
            ON CONFLICT DO NOTHING
            RETURNING true
        )
        SELECT count(*) AS written FROM put
    """  # noqa: S608 - as above


@lru_cache(maxsize=512)
def _compare_sql(table: Table, said: tuple[Column, ...]) -> str:
    by_name = {one.name: one for one in said}
    same_key = " AND ".join(
        f"t.{one} = {_cast(by_name[one]) if one in by_name else table.given[one]}" for one in table.key
    )
    aside = table.changing | set(table.key) | ({"seq"} if table.numbered else set())  # a number may be another here
    compared = [one for one in said if one.name not in aside]
    ours = ", ".join(f"t.{one.name}" if one.type == "jsonb" else _stored(one) for one in compared)
    theirs = ", ".join(f"g.{one.name}::jsonb" if one.type == "jsonb" else f"g.{one.name}" for one in compared)
    differs = f"ROW({ours}) IS DISTINCT FROM ROW({theirs})" if compared else "false"
    missing = f"t.{table.key[0]} IS NULL"
    return f"""
        SELECT row_place, {missing} AS is_missing
        FROM {_recordset(said)} LEFT JOIN context.{table.name} t ON t.tenant_id = %(tenant_id)s AND {same_key}
            {table.joined.replace("JOIN", "LEFT JOIN", 1)}
        WHERE {missing} OR {differs}
        ORDER BY row_place
    """  # noqa: S608 - as above


async def number_after(transaction: Transaction, table: Table, numbers: Iterable[int]) -> None:
    """Give the tenant's next rows higher numbers than those of rows that keep theirs."""
    if kept := [number for number in numbers if number <= NUMBER_KEPT_MAX]:
        await transaction.query(_NUMBER_AFTER, (table.name, max(kept)))


def key_of(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the key of a row, as it says it."""
    return {name: row[name] for name in table.rest_of_key if name in row}
