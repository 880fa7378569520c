"""Filters of LangGraph's store: as conditions that the service decides, and as checks of a value.

Both follow the Postgres store of LangGraph: a missing field matches nothing, and values are equal if Postgres calls
their JSON equal, so `1` is `1.0` but not `true`. `$gt` and its kin compare numbers by value, texts by their code
points, and a text of an item with a number of a filter as texts.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from contextkeep.adapters._originals import is_storable

FIELDS_BYTES_MAX = 24 * 1024  # of the fields of a large value that filters read
_FIELD_BYTES_MAX = 2 * 1024
_CONDITIONS_MAX = 40  # of a filter that the service decides: a condition tree may have 200 comparisons
_WHERE_BYTES_MAX = 48 * 1024
_INTEGER_MAX = 2**63

_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS = ("$eq", "$ne", *_ORDERS)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What of a filter the service decides."""

    where: Mapping[str, Any]  # a condition tree; also true of values that may match
    may_match: Mapping[str, Any] | None  # true of the values that must be read to decide; None if there are none
    is_exact: bool  # the service decides all others


def conditions_of(wanted: Mapping[str, Any], document: str) -> Conditions:
    """Return the conditions of a filter.

    Args:
        wanted: The filter: values by the names of fields.
        document: Path of the JSON object that has `value`, and for a large value `omitted` and `more`.

    Raises:
        ValueError: the filter has an unknown operator.
    """
    tests: list[Mapping[str, Any]] = []
    unread: list[Mapping[str, Any]] = []
    is_exact = True
    for name, value in wanted.items():
        check_operators(value)
        test = _condition(f"{document}.value.{name}", value) if _is_step(name) else None
        if test is None or len(tests) >= _CONDITIONS_MAX or _size([*tests, test]) > _WHERE_BYTES_MAX:
            is_exact = False
            continue
        omitted = {f"{document}.omitted.{name}": {"$exists": True}}
        tests.append({"$or": [test, omitted, {f"{document}.more": True}]})
        unread.append(omitted)
    if not tests:
        return Conditions({}, None, is_exact)
    return Conditions({"$and": tests}, {"$or": [*unread, {f"{document}.more": True}]}, is_exact)


def filtered_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a large value that filters compare: its small fields, and the names of the others.

    `more` is true if names are left out, too.
    """
    fields: dict[str, Any] = {}
    omitted: dict[str, bool] = {}
    more = False
    left = FIELDS_BYTES_MAX
    for name, item in value.items():
        takes = _size([name, item]) if is_storable([name, item]) else FIELDS_BYTES_MAX
        if takes <= min(_FIELD_BYTES_MAX, left):
            fields[name] = item
        elif (takes := _size(name)) <= min(_FIELD_BYTES_MAX, left) and is_storable(name):
            omitted[name] = True
        else:
            more, takes = True, 0
        left -= takes
    return {"value": fields, "omitted": omitted, **({"more": True} if more else {})}


def may_match(stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether the stored fields of a large value do not decide a filter, so that the value must be read."""
    return bool(stored.get("more")) or any(name in stored.get("omitted", ()) for name in wanted)


def fits(value: Any, wanted: Mapping[str, Any]) -> bool:
    """Return whether a value matches a filter.

    Raises:
        ValueError: the filter has an unknown operator.
    """
    return all(_matches(_field(value, name), item) for name, item in wanted.items())


def check_operators(wanted: Any) -> None:
    """Check the operators of one field of a filter.

    Raises:
        ValueError: an operator is unknown.
    """
    if _has_operators(wanted) and (unknown := wanted.keys() - set(_OPERATORS)):
        raise ValueError(f"{', '.join(sorted(unknown))}: unknown operator; use one of {', '.join(_OPERATORS)}")


class _Missing:
    """The value of a field that is not there."""


_MISSING = _Missing()


def _field(value: Any, name: str) -> Any:
    return value.get(name, _MISSING) if isinstance(value, dict) else _MISSING


def _has_operators(wanted: Any) -> bool:
    return isinstance(wanted, dict) and any(name.startswith("$") for name in wanted)


def _matches(value: Any, wanted: Any) -> bool:
    """Return whether the value of a field matches what a filter wants of it."""
    if value is _MISSING:
        check_operators(wanted)
        return False
    if _has_operators(wanted):
        check_operators(wanted)
        return all(_compares(name, value, other) for name, other in wanted.items())
    if isinstance(wanted, dict):
        return isinstance(value, dict) and fits(value, wanted)
    return _equal(value, wanted)


def _compares(name: str, value: Any, other: Any) -> bool:
    if name in ("$eq", "$ne"):
        return _equal(value, other) is (name == "$eq")
    if isinstance(value, str):
        return _ORDERS[name](_code_points(value), _code_points(str(other)))
    return _is_number(value) and _is_number(other) and _ORDERS[name](value, other)


def _equal(value: Any, other: Any) -> bool:
    """Return whether two JSON values are equal for Postgres."""
    if _is_number(value) and _is_number(other):
        return bool(value == other)
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(_equal, value, other))
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_equal(item, other[name]) for name, item in value.items())
    return type(value) is type(other) and bool(value == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _code_points(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # Postgres orders the bytes of UTF-8


def _is_step(name: Any) -> bool:
    """Return whether the name of a field can be a step of a path."""
    return isinstance(name, str) and bool(name) and "." not in name and len(name) <= 500 and is_storable(name)


def _condition(path: str, wanted: Any) -> Mapping[str, Any] | None:
    """Return the condition on the value at a path, or None if the service cannot decide it."""
    if _has_operators(wanted):
        tests = [_comparison(path, name, other) for name, other in wanted.items()]
        return None if None in tests else {"$and": tests}
    if isinstance(wanted, dict):
        if not wanted or not all(map(_is_step, wanted)):
            return None
        tests = [_condition(f"{path}.{name}", item) for name, item in wanted.items()]
        return None if None in tests else {"$and": tests}
    return _comparison(path, "$eq", wanted)


def _comparison(path: str, name: str, other: Any) -> Mapping[str, Any] | None:
    """Return the condition of one operator, or None if the service cannot decide it."""
    if not is_storable(other) or (_is_number(other) and (not math.isfinite(other) or abs(other) >= _INTEGER_MAX)):
        return None
    if name == "$eq":
        return {path: {"$eq": other}}
    if name == "$ne":
        return {"$and": [{path: {"$exists": True}}, {path: {"$ne": other}}]}
    as_text = {path: {name: str(other)}}
    return {"$or": [{path: {name: other}}, as_text]} if _is_number(other) else as_text


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=True))
