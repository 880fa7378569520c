"""Condition trees: a caller's filter of rows, as one SQL expression with parameters.

    {"memory_type": "file", "metadata.score": {"$gte": 0.5}, "$or": [{"name": {"$like": "a%"}}, {"tags": "new"}]}

A tree names fields from a table (`Fields`) and paths into JSON documents. The SQL is made of the expressions of that
table and of constants here; every text of the caller, steps of paths too, is a parameter.

The rules, which hold for every field:

- A condition is true or false, never unknown: a comparison with a missing value is false. So `$ne`, `$nin` and
  `$not`, which are negations of the others, are true of a missing value.
- A value is compared with its own type. The type of a column is known, so a value of another type is an error. The
  type of the value at a path into a document is known row by row only: another type there is different, and neither
  less nor greater.
- Texts compare by their code points, numbers by value (1 is 1.0), times as moments. In a document, `null` is JSON's
  null. For a column, `null`, an empty text and an empty list all mean "missing".
- A list of texts, such as tags, matches if one of its texts does.

The SQL neither selects nor runs on a row that the caller may not see: see `service_runtime.inputs.policies`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from uuid import UUID

import orjson

from contextkeep.errors import InvalidArgument, LimitExceeded
from service_runtime.inputs.documents import parse_object
from service_runtime.inputs.policies import guarded
from service_runtime.values.checks import check_count
from service_runtime.values.ids import parse_id

CONDITION_BYTES_MAX = 64 * 1024
DEPTH_MAX = 16  # deepest nesting of $and, $or and $not
COMPARISONS_MAX = 200
VALUES_MAX = 1000  # most values in one list
STEPS_MAX = 32  # most steps of a path into a document
PATTERN_CHARS_MAX = 1000

_NESTING_MAX = 100  # deepest nesting of any JSON in a condition

_NEGATED = {"$ne": "$eq", "$nin": "$in"}
_ORDERS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
_LIKES = {"$like": "LIKE", "$ilike": "ILIKE"}
_OPERATORS = frozenset({"$eq", "$in", "$exists", *_ORDERS, *_LIKES})

_SHOWN_CHARS_MAX = 100
# Steps that Postgres reads as the index of an element if a path reaches a list.
_PLACE = re.compile(r"[ \t\n\v\f\r]*[+-]?[0-9]+")


class FieldType(Enum):
    """The type of a field; the value is the type in SQL."""

    TEXT = "text"
    NUMBER = "numeric"
    TIME = "timestamptz"
    BOOLEAN = "boolean"
    ID = "uuid"
    TEXTS = "text[]"
    JSON = "jsonb"


@dataclass(frozen=True, slots=True)
class Field:
    """A column, or an expression over columns, that callers may name."""

    type: FieldType
    sql: str
    or_sql: str = ""  # a second expression: a comparison holds if it holds for either


@dataclass(frozen=True, slots=True)
class Path:
    """A path into a JSON document; without steps it is the document itself."""

    document_sql: str
    steps: tuple[str, ...]

    def sql(self, bindings: Bindings) -> str:
        """Return the SQL expression of the value at the path, which is null if there is no value."""
        return f"({self.document_sql} #> {bindings.add(list(self.steps), 'text[]')})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The names for callers: fields, and documents with the paths into them ("metadata.a.b")."""

    columns: Mapping[str, Field]
    documents: Mapping[str, str]  # column of each document, by the document's name
    policy: str  # SQL that is true of the rows that the caller may see

    def find(self, name: str, *, at: str) -> Field | Path:
        """Return the field or path of a name.

        Args:
            name: Name of the field or path, as the caller wrote it.
            at: Path of the name in its request, for the error.

        Raises:
            InvalidArgument: there is no such field.
            LimitExceeded: the path is too long.
        """
        if name in self.columns:
            return self.columns[name]
        document, *steps = name.split(".")
        if document not in self.documents:
            known = ", ".join([*self.columns, *(f"{name}.*" for name in self.documents)])
            raise InvalidArgument(f"{at} is not a field; use one of {known}", field=at)
        if not all(steps):
            raise InvalidArgument(f"{at} must have no empty part between its dots", field=at)
        check_count(at, len(steps), STEPS_MAX)
        return Path(self.documents[document], tuple(steps))


class Bindings:
    """The parameters of one statement, named in the order of `add`."""

    def __init__(self, prefix: str = "value_") -> None:
        self.values: dict[str, object] = {}
        self._prefix = prefix

    def add(self, value: object, sql_type: str) -> str:
        """Return the placeholder of a value."""
        name = f"{self._prefix}{len(self.values)}"
        self.values[name] = value
        return f"%({name})s::{sql_type}"


def condition_sql(field: str, text: str, fields: Fields, bindings: Bindings) -> str:
    """Return the SQL of a condition tree: an expression that is true of the rows that match, and of no others.

    Args:
        field: Name of the request's field; errors name the place in it: `where_json.$and[1].status.$in`.
        text: The tree, a JSON object. Empty matches all rows.
        fields: The fields and documents that the tree may name.
        bindings: Collects the values of the tree as parameters of the statement.

    Raises:
        InvalidArgument: the text is not a valid condition tree.
        LimitExceeded: the tree is too large or nests too deeply.
    """
    tree = parse_object(field, text, size_bytes_max=CONDITION_BYTES_MAX, nesting_max=_NESTING_MAX)
    compiled = _Compiler(fields, bindings).condition(tree, field, 1)
    return guarded(fields.policy, compiled.exact, index=compiled.index)


@dataclass(frozen=True, slots=True)
class _Condition:
    """The SQL of a condition, and of a weaker one that may run on any row, so that an index can use it."""

    exact: str  # must not run on rows that the caller may not see: an error or its time could reveal them
    index: str  # is true where `exact` is; has only operators of `policies.EXEMPT`; empty if there is none


class _Compiler:
    """Compiles one tree.

    A condition may be null in SQL, which counts as false: `_not` is true for both.
    """

    def __init__(self, fields: Fields, bindings: Bindings) -> None:
        self._fields = fields
        self._bindings = bindings
        self._comparisons = 0

    def condition(self, tree: object, at: str, depth: int) -> _Condition:
        """Compile a JSON object of conditions that must all hold; `at` names the object in errors."""
        if not isinstance(tree, dict):
            raise InvalidArgument(f"{at} must be a JSON object", field=at)
        _check_depth(at, depth)
        return _all([self._entry(name, value, f"{at}.{_cut(name)}", depth) for name, value in tree.items()])

    def _entry(self, name: str, value: object, at: str, depth: int) -> _Condition:
        """Return the condition of one member of a tree: a field with its value, or `$and`, `$or` and `$not`."""
        if name == "$not":
            return _not(self.condition(value, at, depth + 1))
        if name in ("$and", "$or"):
            if not isinstance(value, list) or not value:
                raise InvalidArgument(f"{at} must be a list of one or more conditions", field=at)
            check_count(at, len(value), COMPARISONS_MAX)
            several = [self.condition(entry, f"{at}[{place}]", depth + 1) for place, entry in enumerate(value)]
            return _all(several) if name == "$and" else _any(several)
        if name.startswith("$"):
            raise InvalidArgument(f"{at} is not an operator here; use $and, $or or $not", field=at)
        return self._of_field(self._fields.find(name, at=at), value, at, depth)

    def _of_field(self, field: Field | Path, value: object, at: str, depth: int) -> _Condition:
        """Compile the conditions on a field. A value without an operator means equality."""
        _check_depth(at, depth)
        if not isinstance(value, dict) or not any(name.startswith("$") for name in value):
            return self._comparison(field, "$eq", value, at)
        return _all(
            [self._operator(field, name, operand, f"{at}.{_cut(name)}", depth) for name, operand in value.items()]
        )

    def _operator(self, field: Field | Path, operator: str, value: object, at: str, depth: int) -> _Condition:
        """Return the condition of one operator on a field, such as `{"$gte": 1}`."""
        if operator == "$not":
            return _not(self._of_field(field, value, at, depth + 1))
        if operator in _NEGATED:
            return _not(self._comparison(field, _NEGATED[operator], value, at))
        if operator not in _OPERATORS:
            known = ", ".join(sorted([*_OPERATORS, *_NEGATED, "$not"]))
            raise InvalidArgument(f"{at} is not an operator; use one of {known}", field=at)
        if operator == "$exists" and value is False:
            return _not(self._comparison(field, "$exists", True, at))
        return self._comparison(field, operator, value, at)

    def _comparison(self, field: Field | Path, operator: str, value: object, at: str) -> _Condition:
        """Return the condition that compares a field or path with a value by an operator, after checks of the value."""
        self._comparisons += 1
        check_count("comparisons", self._comparisons, COMPARISONS_MAX)
        if operator == "$in":
            if not isinstance(value, list):
                raise InvalidArgument(f"{at} must be a list", field=at)
            check_count(at, len(value), VALUES_MAX)
        elif operator == "$exists" and value is not True:
            raise InvalidArgument(f"{at} must be true or false", field=at)
        elif operator in _LIKES:
            _check_pattern(value, at)
        if isinstance(field, Path):
            return _of_path(field, operator, value, at, self._bindings)
        expressions = [field.sql, field.or_sql] if field.or_sql else [field.sql]
        return _any([_of_column(field.type, sql, operator, value, at, self._bindings) for sql in expressions])


def _of_column(
    field_type: FieldType, sql: str, operator: str, value: object, at: str, bindings: Bindings
) -> _Condition:
    """Return the condition on a column, or on an expression over columns, whose type is known."""
    is_list = field_type is FieldType.TEXTS
    exists = _exempt(
        f"{sql} <> ''" if field_type is FieldType.TEXT else f"{sql} <> '{{}}'" if is_list else f"{sql} IS NOT NULL"
    )
    if operator == "$exists":
        return exists
    if operator in ("$eq", "$in"):
        operands = value if isinstance(value, list) and operator == "$in" else [value]
        if field_type is FieldType.TEXT:
            operands = [None if text == "" else text for text in operands]
        if operands == [None]:
            return _not(exists)
        values = [_CONVERSIONS[field_type](value, at) for value in operands if value is not None]
        if is_list:
            equality = f"{sql} && {bindings.add(values, 'text[]')}"
        elif operator == "$eq":
            equality = f"{sql} = {bindings.add(values[0], field_type.value)}"
        else:
            equality = f"{sql} = ANY ({bindings.add(values, f'{field_type.value}[]')})"
        return _any([_exempt(equality), _not(exists)]) if None in operands else _exempt(equality)
    if operator in _LIKES and field_type is FieldType.TEXT:
        return _all([exists, _only_visible(f"{sql} {_LIKES[operator]} {bindings.add(value, 'text')}")])
    if operator in _ORDERS and field_type in (FieldType.TEXT, FieldType.NUMBER, FieldType.TIME):
        collation = ' COLLATE "C"' if field_type is FieldType.TEXT else ""
        converted = bindings.add(_CONVERSIONS[field_type](value, at), field_type.value)
        compared = f"{sql}{collation} {_ORDERS[operator]} {converted}"
        return _all([exists, _exempt(compared) if field_type is FieldType.TIME else _only_visible(compared)])
    raise InvalidArgument(f"{at}: {operator} does not apply to a field of type {field_type.name.lower()}", field=at)


def _of_path(path: Path, operator: str, value: object, at: str, bindings: Bindings) -> _Condition:
    """Return the condition on a path into a document, where the type of the value differs by row."""
    sql = path.sql(bindings)
    if operator == "$exists":
        return _only_visible(f"{sql} IS NOT NULL")
    if operator == "$in":
        assert isinstance(value, list)
        return _only_visible(f"{sql} = ANY ({bindings.add([_json(item) for item in value], 'text[]')}::jsonb[])")
    if operator == "$eq":
        equal = f"{sql} = {bindings.add(_json(value), 'jsonb')}"
        if any(_PLACE.fullmatch(step) for step in path.steps):
            return _only_visible(equal)
        for step in reversed(path.steps):
            value = {step: value}
        # A document that has the equal value contains it, and an index knows which documents contain a value.
        return _Condition(equal, f"{path.document_sql} @> {bindings.add(_json(value), 'jsonb')}")
    if isinstance(value, str):
        operator_sql = _LIKES.get(operator) or f'COLLATE "C" {_ORDERS[operator]}'
        compared = f"({sql} #>> '{{}}') {operator_sql} {bindings.add(value, 'text')}"
        return _only_visible(f"(jsonb_typeof({sql}) = 'string' AND {compared})")
    if isinstance(value, int | float) and not isinstance(value, bool):
        compared = f"{sql} {_ORDERS[operator]} {bindings.add(_json(value), 'jsonb')}"
        return _only_visible(f"(jsonb_typeof({sql}) = 'number' AND {compared})")
    raise InvalidArgument(f"{at} must be a number or a text", field=at)


def _text(value: object, at: str) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(f"{at} must be a text", field=at)
    return value


def _number(value: object, at: str) -> Decimal:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidArgument(f"{at} must be a number", field=at)
    return Decimal(str(value))


def _time(value: object, at: str) -> datetime:
    """Parse a time of a condition; `at` names it in errors.

    Raises:
        InvalidArgument: it is malformed, or has no time zone.
    """
    try:
        time = datetime.fromisoformat(_text(value, at))
        if time.tzinfo is None:
            raise ValueError("the time must have a time zone")
        return time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidArgument(f"{at} must be a time with a zone, such as 2026-01-31T12:00:00Z", field=at) from None


def _boolean(value: object, at: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidArgument(f"{at} must be true or false", field=at)
    return value


def _id(value: object, at: str) -> UUID:
    return parse_id(at, _text(value, at))


_CONVERSIONS: dict[FieldType, Callable[[object, str], object]] = {
    FieldType.TEXT: _text,
    FieldType.NUMBER: _number,
    FieldType.TIME: _time,
    FieldType.BOOLEAN: _boolean,
    FieldType.ID: _id,
    FieldType.TEXTS: _text,
}


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _exempt(sql: str) -> _Condition:
    """Return a condition that may run on any row."""
    return _Condition(sql, sql)


def _only_visible(sql: str) -> _Condition:
    """Return a condition that must run only on rows that the caller may see."""
    return _Condition(sql, "")


def _not(condition: _Condition) -> _Condition:
    """Return the condition that is true where the given one is false or null."""
    negated = f"(({condition.exact}) IS NOT TRUE)"
    # The negation of a condition does not imply the negation of its index condition.
    return _Condition(negated, negated if condition.index == condition.exact else "")


def _all(conditions: Sequence[_Condition]) -> _Condition:
    """Return the conjunction of conditions. Each index condition of a part is implied by the whole."""
    if not conditions:
        return _exempt("TRUE")
    indexes = [condition.index for condition in conditions if condition.index]
    return _Condition(
        f"({' AND '.join(condition.exact for condition in conditions)})",
        f"({' AND '.join(indexes)})" if indexes else "",
    )


def _any(conditions: Sequence[_Condition]) -> _Condition:
    """Return the disjunction of conditions. It has an index condition only if each part has one."""
    if len(conditions) == 1:
        return conditions[0]
    indexes = [condition.index for condition in conditions]
    return _Condition(
        f"({' OR '.join(condition.exact for condition in conditions)})",
        f"({' OR '.join(indexes)})" if all(indexes) else "",
    )


def _check_pattern(value: object, at: str) -> None:
    """Check a pattern of `$like`; `at` names it in errors.

    Raises:
        InvalidArgument: it ends in a backslash that escapes nothing.
        LimitExceeded: the text is too long.
    """
    pattern = _text(value, at)
    check_count(at, len(pattern), PATTERN_CHARS_MAX)
    if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
        raise InvalidArgument(f"{at} must not end in a backslash that escapes nothing", field=at)


def _check_depth(at: str, depth: int) -> None:
    """Refuse conditions that nest too deeply; `at` names the condition in the error."""
    if depth > DEPTH_MAX:
        raise LimitExceeded(
            f"conditions must not nest deeper than {DEPTH_MAX}", limit="depth", limit_max=DEPTH_MAX, value=depth
        )


def _cut(name: str) -> str:
    return name if len(name) <= _SHOWN_CHARS_MAX else f"{name[:_SHOWN_CHARS_MAX]}…"
