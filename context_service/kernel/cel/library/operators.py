"""Arithmetic and comparison of CEL values.

int, uint and double are not mixed, and an overflow is an error. Each operator takes the call's budget and two values,
and raises `EvaluationError` if it is not defined for their types.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from context_service.kernel.cel.budget import ITEM_BYTES, CallBudget
from context_service.kernel.cel.errors import EvaluationError
from context_service.kernel.cel.times import Duration, Timestamp
from context_service.kernel.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint, contains, equals, no_overload, ordered

Operator = Callable[[CallBudget, Any, Any], Any]


def as_int(value: int) -> int:
    """Return `value` if it is in the range of int; raise EvaluationError if not."""
    if not INT_MIN <= value <= INT_MAX:
        raise EvaluationError("the int does not fit 64 bits")
    return value


def as_uint(value: int) -> Uint:
    """Return `value` as a uint; raise EvaluationError if it is out of range."""
    if not 0 <= value <= UINT_MAX:
        raise EvaluationError("the uint must be 0 or more and fit 64 bits")
    return Uint(value)


def add(budget: CallBudget, left: Any, right: Any) -> Any:
    """Return the sum of numbers or times, or two texts, bytes or lists joined."""
    kind = type(left)
    if kind is type(right):
        if kind is str or kind is bytes:
            budget.charge_bytes(len(left) + len(right))
            return left + right
        if kind is int:
            return as_int(left + right)
        if kind is float:
            return left + right
        if kind is list:
            budget.charge_bytes((len(left) + len(right)) * ITEM_BYTES)
            return left + right
        if kind is Uint:
            return as_uint(int(left) + int(right))
        if kind is Duration:
            return Duration(left.ns + right.ns)
    elif kind is Duration and type(right) in _INSTANTS:
        return Timestamp(left.ns + Timestamp.of(right).ns)
    elif kind in _INSTANTS and type(right) is Duration:
        return Timestamp(Timestamp.of(left).ns + right.ns)
    raise no_overload("+", left, right)


def subtract(budget: CallBudget, left: Any, right: Any) -> Any:
    """Return the difference of numbers or times."""
    kind, other = type(left), type(right)
    if kind is int and other is int:
        return as_int(left - right)
    if kind is float and other is float:
        return left - right
    if kind is Uint and other is Uint:
        return as_uint(int(left) - int(right))
    if kind in _INSTANTS and other in _INSTANTS:
        return Duration(Timestamp.of(left).ns - Timestamp.of(right).ns)
    if kind in _INSTANTS and other is Duration:
        return Timestamp(Timestamp.of(left).ns - right.ns)
    if kind is Duration and other is Duration:
        return Duration(left.ns - right.ns)
    raise no_overload("-", left, right)


def multiply(budget: CallBudget, left: Any, right: Any) -> Any:
    """Return the product of numbers of one type."""
    kind, other = type(left), type(right)
    if kind is int and other is int:
        return as_int(left * right)
    if kind is float and other is float:
        return left * right
    if kind is Uint and other is Uint:
        return as_uint(int(left) * int(right))
    raise no_overload("*", left, right)


def divide(budget: CallBudget, left: Any, right: Any) -> Any:
    """Return the quotient; of integers, cut off towards zero."""
    kind, other = type(left), type(right)
    if kind is float and other is float:
        return _divide_doubles(left, right)
    if kind is other and (kind is int or kind is Uint):
        if right == 0:
            raise EvaluationError("division by zero")
        quotient = abs(int(left)) // abs(int(right))
        if kind is Uint:
            return Uint(quotient)
        return as_int(quotient if (left < 0) == (right < 0) else -quotient)
    raise no_overload("/", left, right)


def _divide_doubles(left: float, right: float) -> float:
    """Divide as IEEE 754 does, where Python raises."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def remainder(budget: CallBudget, left: Any, right: Any) -> Any:
    """Return the remainder of an integer division; it has the sign of the left side."""
    kind = type(left)
    if kind is type(right) and (kind is int or kind is Uint):
        if right == 0:
            raise EvaluationError("remainder by zero")
        rest = abs(int(left)) % abs(int(right))
        if kind is Uint:
            return Uint(rest)
        return -rest if left < 0 else rest
    raise no_overload("%", left, right)


def less(budget: CallBudget, left: Any, right: Any) -> bool:
    """Return whether `left` comes before `right`."""
    if type(left) is not int or type(right) is not int:
        left, right = ordered(budget, "<", left, right)
    return bool(left < right)


def at_most(budget: CallBudget, left: Any, right: Any) -> bool:
    """Return whether `left` comes before `right` or is equal."""
    if type(left) is not int or type(right) is not int:
        left, right = ordered(budget, "<=", left, right)
    return bool(left <= right)


def greater(budget: CallBudget, left: Any, right: Any) -> bool:
    """Return whether `left` comes after `right`."""
    if type(left) is not int or type(right) is not int:
        left, right = ordered(budget, ">", left, right)
    return bool(left > right)


def at_least(budget: CallBudget, left: Any, right: Any) -> bool:
    """Return whether `left` comes after `right` or is equal."""
    if type(left) is not int or type(right) is not int:
        left, right = ordered(budget, ">=", left, right)
    return bool(left >= right)


def differs(budget: CallBudget, left: Any, right: Any) -> bool:
    """Return whether two values are not equal."""
    return not equals(budget, left, right)


def negate(value: Any) -> Any:
    """Return the negative of an int or a double."""
    kind = type(value)
    if kind is int:
        return as_int(-value)
    if kind is float:
        return -value
    raise no_overload("-", value)


_INSTANTS: Final = frozenset({Timestamp, datetime})

ARITHMETIC: Final[dict[str, Operator]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
}
RELATIONS: Final[dict[str, Operator]] = {
    "==": equals,
    "!=": differs,
    "<": less,
    "<=": at_most,
    ">": greater,
    ">=": at_least,
    "in": contains,
}
