"""CEL's values in Python: JSON as it is parsed, and the types that JSON lacks.

null is None, bool is bool, int is int, double is float, string is str, bytes is
bytes, list is list, map is dict. uint is `Uint`; a timestamp is `Timestamp`, or
an aware `datetime` as it came in; a duration is `Duration`; a type is `CelType`.
Values are shared, never copied, and never changed.

A JSON number outside int64 is a double. Documents are not searched for such
numbers: `number` converts one where it is read out of a document.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from context_service.kernel.cel.budget import COPY_CHARS, CallBudget
from context_service.kernel.cel.errors import EvaluationError
from context_service.kernel.cel.times import Duration, Timestamp

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1


class Uint(int):
    """A uint. It equals the int of the same value, as the language has it, but is another type."""

    __slots__ = ()


class BoolKey:
    """A bool as the key of a map: Python takes True and 1 for one key, CEL for two."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value


TRUE_KEY: Final = BoolKey(True)
FALSE_KEY: Final = BoolKey(False)


class CelType:
    """A type as a value. There is one object a type, so identity is equality."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"CelType({self.name!r})"


TYPES: Final[dict[str, CelType]] = {
    name: CelType(name)
    for name in (
        "bool",
        "bytes",
        "double",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "type",
        "uint",
    )
}
_NAMES: Final[dict[type, str]] = {
    bool: "bool",
    bytes: "bytes",
    float: "double",
    Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp",
    datetime: "google.protobuf.Timestamp",
    int: "int",
    list: "list",
    dict: "map",
    type(None): "null_type",
    str: "string",
    CelType: "type",
    Uint: "uint",
}
NUMBERS: Final = frozenset({int, float, Uint})


def type_name(value: object) -> str:
    """Return the name of the value's type, as used in messages and by `type()`."""
    name = _NAMES.get(type(value))
    if name is None:
        raise EvaluationError(f"a value of the Python type {type(value).__name__} is not a CEL value")
    return name


def type_of(value: object) -> CelType:
    """Return the value's type as a value."""
    return TYPES[type_name(value)]


def number(value: Any) -> Any:
    """Return a value that was read from a document; an int outside int64 becomes a double."""
    if type(value) is int and not INT_MIN <= value <= INT_MAX:
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    return value


def aligned(left: Any, right: Any) -> tuple[Any, Any]:
    """Return two numbers in comparable types: with a double, an integer becomes a double too."""
    if type(left) is float:
        return left, float(right)
    if type(right) is float:
        return float(left), right
    return left, right


def key_of(value: Any) -> Any:
    """Return the Python dict key for `value`, or None if it cannot be a key.

    A double is a key for lookups only: 2.0 finds 2, and 2.5 finds nothing.
    """
    kind = type(value)
    if kind is str or kind in NUMBERS:
        return value
    if kind is bool:
        return TRUE_KEY if value else FALSE_KEY
    return None


def keys_of(mapping: dict[Any, Any]) -> list[Any]:
    """Return the keys of a map as CEL values."""
    return [key.value if type(key) is BoolKey else key for key in mapping]


def no_overload(name: str, *values: object) -> EvaluationError:
    """Return the error for a function or operator that is not defined for these types."""
    types = ", ".join(type_name(value) for value in values)
    return EvaluationError(f"{name} does not accept ({types})")


def equals(budget: CallBudget, left: Any, right: Any) -> bool:
    """Return whether two values are equal. Values of different types are not, except numbers of equal value."""
    kind, other = type(left), type(right)
    if kind is str or kind is bytes:
        if kind is not other or len(left) != len(right):
            return False
        if len(left) > COPY_CHARS:
            budget.charge(len(left) // COPY_CHARS)
        return bool(left == right)
    if kind in NUMBERS:
        if other not in NUMBERS:
            return False
        left, right = aligned(number(left), number(right))
        return bool(left == right)
    if kind is list:
        return other is list and _equal_lists(budget, left, right)
    if kind is dict:
        return other is dict and _equal_maps(budget, left, right)
    if kind is datetime or kind is Timestamp:
        return (other is datetime or other is Timestamp) and bool(left == right)
    if kind is Duration:
        return other is Duration and left.ns == right.ns
    return left is right  # null, bools and types


def _equal_lists(budget: CallBudget, left: list[Any], right: list[Any]) -> bool:
    """Return whether two lists have equal elements in the same order."""
    if len(left) != len(right):
        return False
    budget.charge(2 * len(left))
    return all(equals(budget, a, b) for a, b in zip(left, right, strict=True))


def _equal_maps(budget: CallBudget, left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    """Return whether two maps have the same keys with equal values."""
    if len(left) != len(right):
        return False
    budget.charge(3 * len(left))
    return all(key in right and equals(budget, value, right[key]) for key, value in left.items())


def contains(budget: CallBudget, item: Any, container: Any) -> bool:
    """Return whether a list has an equal element, or a map has the key.

    Raises:
        EvaluationError: `container` is neither.
    """
    if type(container) is dict:
        key = key_of(item)
        return key is not None and key in container
    if type(container) is not list:
        raise no_overload("in", item, container)
    if type(item) is str and len(item) < COPY_CHARS:
        budget.charge(len(container) // 8)
        return item in container  # a string equals strings only, in Python too
    for element in container:
        budget.charge(2)
        if equals(budget, item, element):
            return True
    return False


def ordered(budget: CallBudget, name: str, left: Any, right: Any) -> tuple[Any, Any]:
    """Return two values in a form that Python can order, and charge for comparing them.

    Raises:
        EvaluationError: their types have no order.
    """
    kind, other = type(left), type(right)
    if kind is other and kind in _ORDERED:
        if (kind is str or kind is bytes) and len(left) > COPY_CHARS:
            budget.charge(len(left) // COPY_CHARS)
        return left, right
    if kind in NUMBERS and other in NUMBERS:
        return aligned(left, right)
    if kind in _INSTANTS and other in _INSTANTS:
        return left, right
    raise no_overload(name, left, right)


_ORDERED: Final = frozenset({bool, bytes, Duration, str, Timestamp, datetime})
_INSTANTS: Final = frozenset({Timestamp, datetime})


def total_chars(items: Iterable[str]) -> int:
    """Return the length of all strings together."""
    return sum(map(len, items))
