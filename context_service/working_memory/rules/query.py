"""Answers queries for rows of records without SQL: columns, a condition, groups, an order, a limit.

A query becomes one read-only statement. Its inner part selects the rows and gives each named field an alias, so that
Postgres sees the same expression for a group and a column of the same path. Its outer part aggregates, orders and
cuts. Each value of the caller is a parameter of the statement, and each name is looked up in the tables below.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from context_service.working_memory.store.query import SQL
from context_service.working_memory.store.record_filters import ACTIVE, RECORD_FIELDS
from contextkeep.errors import AnswerTooLarge, InvalidArgument
from service_runtime.inputs.conditions import Bindings, Field, FieldType, condition_sql
from service_runtime.postgres import Database
from service_runtime.rpc.principal import Principal
from service_runtime.values.checks import check_at_most, check_count, check_text

LIMIT_DEFAULT = 100
LIMIT_MAX = 1000
OFFSET_MAX = 1_000_000
ANSWER_BYTES_MAX = 3 * 1024 * 1024
COLUMNS_MAX = 50  # columns in each of the lists `select`, `group_by` and `order_by`

_COLUMN_CHARS_MAX = 1000
_AGGREGATES = ("avg", "count", "max", "min", "sum")
_AGGREGATE = re.compile(r"(\w+)\((.*)\)", re.DOTALL)  # a path may have parentheses, but only after its first step
_ORDERED = frozenset(
    {FieldType.TEXT, FieldType.NUMBER, FieldType.TIME, FieldType.ID, FieldType.BOOLEAN, FieldType.JSON}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One key of the order."""

    column: str
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordQuery:
    """A query for rows of records: columns, condition, groups and order, as the request names them."""

    select: Sequence[str]
    where_json: str
    group_by: Sequence[str]
    order_by: Sequence[Order]
    limit: int  # the most rows; 0 means `LIMIT_DEFAULT`
    offset: int  # rows to skip
    include_archived: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRows:
    """Rows as JSON objects, their columns in the order of `select`."""

    rows_json: list[str]
    has_more: bool  # whether there are more rows than the limit


class RecordQueries:
    """Answers queries for rows of records; each call acts for its principal."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def answer(self, question: RecordQuery, *, principal: Principal) -> RecordRows:
        """Return the rows of an answer.

        Raises:
            InvalidArgument: the question names an unknown field or aggregate, or one that does not fit its type.
            LimitExceeded: the question is too long.
            AnswerTooLarge: the rows do not fit one answer.
        """
        limit = _limit(question.limit)
        check_offset(question.offset, OFFSET_MAX)
        statement = _Statement(question)
        parameters = {
            **statement.bindings.values,
            "include_archived": question.include_archived,
            "limit": limit,
            "offset": question.offset,
            "bytes_max": ANSWER_BYTES_MAX,
        }
        tenant = self._database.of(principal)
        rows = await tenant.query(statement.sql, parameters, named=False, ad_hoc=True)
        row_count, values = rows[0][0], [row[2:] for row in rows if row[1] is not None]
        if len(values) < min(row_count, limit):
            raise AnswerTooLarge(
                f"the rows have more than {ANSWER_BYTES_MAX} bytes; select fewer columns or set a lower limit",
                use="QueryWMRecords",
                size_bytes_max=ANSWER_BYTES_MAX,
            )
        return RecordRows(rows_json=[statement.row_json(row) for row in values], has_more=row_count > limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column of the answer: a field, or an aggregate of a field."""

    name: str  # as the caller wrote it
    function: str  # the name of the aggregate; empty for the field itself
    sql: str
    type: FieldType


class _Statement:
    """The SQL statement that answers a query, with its parameters.

    The inner part of the statement computes the fields, the outer part the columns of the answer.

    Raises:
        InvalidArgument, LimitExceeded: as `RecordQueries.answer`.
    """

    def __init__(self, question: RecordQuery) -> None:
        """Check the question, and write its statement to `sql` and the statement's parameters to `bindings`.

        If the question groups or aggregates, the groups complete the order; otherwise the newest records come first.

        Raises:
            InvalidArgument: a column or an order is malformed, unknown or not grouped.
            LimitExceeded: there are too many columns.
        """
        self.bindings = Bindings()
        self._fields: dict[str, tuple[str, FieldType]] = {}  # by name: expression and type in the inner part
        for field, names in (
            ("select", question.select),
            ("group_by", question.group_by),
            ("order_by", question.order_by),
        ):
            check_count(field, len(names), COLUMNS_MAX)
        if not question.select:
            raise InvalidArgument("select must name at least one column", field="select")

        self._select = [self._column(name, f"select[{place}]") for place, name in enumerate(question.select)]
        if len(set(question.select)) < len(question.select):
            raise InvalidArgument("select must name each column once", field="select")
        groups = [self._group(name, f"group_by[{place}]") for place, name in enumerate(question.group_by)]
        orders = [self._column(key.column, f"order_by[{place}].column") for place, key in enumerate(question.order_by)]
        grouped = bool(groups) or any(column.function for column in (*self._select, *orders))
        if grouped:
            for field, columns in (("select", self._select), ("order_by", orders)):
                _check_grouped(field, columns, groups)

        keys = [
            _order_key(column, key.descending, at=f"order_by[{place}].column")
            for place, (column, key) in enumerate(zip(orders, question.order_by, strict=True))
        ]
        if grouped:
            keys += [group.sql for group in groups]
        else:
            keys += ["s.created_at DESC", "s.seq DESC"]
        where = condition_sql("where_json", question.where_json, RECORD_FIELDS, self.bindings)
        fields = [f"{sql} AS f{place}" for place, (sql, _) in enumerate(self._fields.values())]
        names = [f"c{place}" for place in range(len(self._select))]
        self.sql = SQL.filled(
            "answer",
            values=", ".join(f"{_json(column)} AS {name}" for column, name in zip(self._select, names, strict=True)),
            fields=", ".join([*fields, "r.created_at", "r.seq"]),
            active=ACTIVE,
            where=where,
            group_by=f"GROUP BY {', '.join(group.sql for group in groups)}" if groups else "",
            order_by=", ".join(keys) or "(SELECT 1)",
            sizes=" + ".join(f"coalesce(octet_length(a.{name}), 4)" for name in names),
            names=", ".join(f"z.{name}" for name in names),
        )

    def row_json(self, row: Sequence[str | None]) -> str:
        """Return a row of the statement as a JSON object."""
        values = zip(self._select, row, strict=True)
        entries = [f"{_key(column.name)}:{value or 'null'}" for column, value in values]
        return f"{{{','.join(entries)}}}"

    def _column(self, name: str, at: str) -> _Column:
        """Return the SQL of a column: a field such as `name`, `count(*)`, or an aggregate such as `sum(size_bytes)`.

        Args:
            name: The column as the caller writes it.
            at: Path of the column in the request, for the error.

        Raises:
            InvalidArgument: the aggregate or the field is unknown, or the aggregate does not fit the field's type.
        """
        check_text(at, name, chars_max=_COLUMN_CHARS_MAX)
        if name == "count(*)":
            return _Column(name=name, function="count", sql="count(*)", type=FieldType.NUMBER)
        match = _AGGREGATE.fullmatch(name)
        function, field_name = (match[1], match[2]) if match else ("", name)
        if function and function not in _AGGREGATES:
            known = ", ".join(_AGGREGATES)
            raise InvalidArgument(f"{at}: aggregate {function!r} is unknown; use one of {known}", field=at)
        sql, field_type = self._field(field_name, at)
        if not function:
            return _Column(name=name, function="", sql=sql, type=field_type)
        aggregate = _aggregate(function, sql, field_type)
        if aggregate is None:
            raise InvalidArgument(
                f"{at}: {function} does not apply to a field of type {field_type.name.lower()}", field=at
            )
        return _Column(
            name=name,
            function=function,
            sql=aggregate,
            type=FieldType.NUMBER if function in ("avg", "count", "sum") else field_type,
        )

    def _group(self, name: str, at: str) -> _Column:
        """Return the SQL of a field to group by.

        Raises:
            InvalidArgument: the column is an aggregate, or is unknown.
        """
        column = self._column(name, at)
        if column.function:
            raise InvalidArgument(f"{at} is an aggregate; group by a field instead", field=at)
        return column

    def _field(self, name: str, at: str) -> tuple[str, FieldType]:
        """Return the alias of a field in the inner part, and its type."""
        if name not in self._fields:
            field = RECORD_FIELDS.find(name, at=at)
            if isinstance(field, Field):
                self._fields[name] = field.sql, field.type
            else:
                self._fields[name] = field.sql(self.bindings), FieldType.JSON
        place = list(self._fields).index(name)
        return f"s.f{place}", self._fields[name][1]


def _aggregate(function: str, sql: str, field_type: FieldType) -> str | None:
    """Return the SQL of an aggregate over a field.

    The aggregate ignores rows without the field. In a JSON field, sums and averages ignore values that are not numbers.

    Args:
        function: One of `_AGGREGATES`.
        sql: The SQL of the field.
        field_type: The type of the field.

    Returns:
        The SQL; None if the aggregate cannot be computed for a field of this type.
    """
    numbers = f"CASE jsonb_typeof({sql}) WHEN 'number' THEN {sql}::numeric END"
    match function, field_type:
        case "count", FieldType.TEXT:
            return f"count(nullif({sql}, ''))"
        case "count", FieldType.TEXTS:
            return f"count(nullif({sql}, '{{}}'))"
        case "count", _:
            return f"count({sql})"
        case "sum", FieldType.NUMBER:
            return f"sum({sql})"
        case "sum", FieldType.JSON:
            return f"sum({numbers})"
        case "avg", FieldType.NUMBER:
            return f"trim_scale(avg({sql}))"
        case "avg", FieldType.JSON:
            return f"trim_scale(avg({numbers}))"
        case "min" | "max", FieldType.NUMBER | FieldType.TIME:
            return f"{function}({sql})"
        case "min" | "max", FieldType.TEXT:
            return f"{function}(nullif({sql}, '') COLLATE \"C\")"
        case "min" | "max", FieldType.JSON:
            texts = f"CASE jsonb_typeof({sql}) WHEN 'string' THEN {sql} #>> '{{}}' END COLLATE \"C\""
            # Numbers sort before texts, so the least value is a number if there is any, and the greatest is a text.
            both = [f"to_jsonb({function}({numbers}))", f"to_jsonb({function}({texts}))"]
            return f"coalesce({', '.join(both if function == 'min' else reversed(both))})"
    return None


def _json(column: _Column) -> str:
    """Return the expression of a column's value as JSON text."""
    if column.type is FieldType.JSON:
        return f"({column.sql})::text"
    if column.type is FieldType.TIME:
        shown = f"to_char({column.sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
        return f"to_json({shown})::text"
    return f"to_json({column.sql})::text"


def _order_key(column: _Column, descending: bool, *, at: str) -> str:
    """Return the SQL of a sort key: numbers come first, then texts, then other values; missing values come last."""
    if column.type not in _ORDERED:
        raise InvalidArgument(f"{at}: a field of type {column.type.name.lower()} cannot be sorted by", field=at)
    direction = "DESC NULLS LAST" if descending else "ASC NULLS LAST"
    if column.type is FieldType.TEXT:
        return f'{column.sql} COLLATE "C" {direction}'
    if column.type is not FieldType.JSON:
        return f"{column.sql} {direction}"
    kind = f"jsonb_typeof({column.sql})"
    return ", ".join(
        [
            f"CASE coalesce({kind}, 'null') WHEN 'number' THEN 0 WHEN 'string' THEN 1 WHEN 'null' THEN 3 ELSE 2 END",
            f"CASE {kind} WHEN 'number' THEN ({column.sql})::numeric END {direction}",
            f"(({column.sql}) #>> '{{}}') COLLATE \"C\" {direction}",
        ]
    )


def _check_grouped(field: str, columns: Sequence[_Column], groups: Sequence[_Column]) -> None:
    """Refuse a column of a grouped query that is neither an aggregate nor one of the groups.

    Raises:
        InvalidArgument: a column with this name exists.
    """
    names = {group.name for group in groups}
    for place, column in enumerate(columns):
        if not column.function and column.name not in names:
            at = f"{field}[{place}]"
            raise InvalidArgument(f"{at} must be an aggregate or one of group_by", field=at)


def check_offset(offset: int, offset_max: int) -> None:
    """Refuse an offset that is negative or too large.

    Raises:
        InvalidArgument: it is negative.
        LimitExceeded: it is more than `offset_max`.
    """
    if offset < 0:
        raise InvalidArgument(f"offset must be 0 or more (got {offset})", field="offset")
    check_at_most("offset", offset, offset_max)


def _limit(limit: int) -> int:
    if limit < 0:
        raise InvalidArgument(f"limit must be 0 or more (got {limit})", field="limit")
    return min(limit or LIMIT_DEFAULT, LIMIT_MAX)


def _key(name: str) -> str:
    """Return the name of a column as a JSON string."""
    return orjson.dumps(name).decode()
