"""The math extension. int, uint and double keep their types."""

from __future__ import annotations

import math
from typing import Any, Final

from context_service.kernel.cel.budget import CallBudget
from context_service.kernel.cel.errors import EvaluationError
from context_service.kernel.cel.library.operators import as_int
from context_service.kernel.cel.values import NUMBERS, UINT_MAX, Uint, no_overload, number


def greatest(budget: CallBudget, *values: Any) -> Any:
    """Return the greatest of numbers, or of one list of them; of equal ones, the first."""
    best, *rest = _numbers(budget, "math.greatest", values)
    for value in rest:
        best = max(best, value)  # if values are equal, max keeps the first
    return best


def least(budget: CallBudget, *values: Any) -> Any:
    """Return the least of numbers, or of one list of them; of equal ones, the first."""
    best, *rest = _numbers(budget, "math.least", values)
    for value in rest:
        best = min(best, value)
    return best


def _numbers(budget: CallBudget, name: str, values: tuple[Any, ...]) -> list[Any]:
    """Return the numbers that `math.least` or `math.greatest` compares: its arguments, or the elements of one list.

    Raises:
        EvaluationError: there is no number, or a value is not a number.
    """
    items = values[0] if len(values) == 1 and type(values[0]) is list else values
    if not items:
        raise EvaluationError(f"{name} needs at least one number")
    budget.charge(len(items))
    numbers = [number(item) for item in items]
    for item in numbers:
        if type(item) not in NUMBERS:
            raise no_overload(name, item)
    return numbers


def ceil(budget: CallBudget, value: Any) -> float:
    """Return the least whole double that is not below `value`."""
    return _whole("math.ceil", value, math.ceil)


def floor(budget: CallBudget, value: Any) -> float:
    """Return the greatest whole double that is not above `value`."""
    return _whole("math.floor", value, math.floor)


def trunc(budget: CallBudget, value: Any) -> float:
    """Return the double without its fraction."""
    return _whole("math.trunc", value, math.trunc)


def rounded(budget: CallBudget, value: Any) -> float:
    """Return the nearest whole double; of two, the one farther from zero."""
    return _whole("math.round", value, _away_from_zero)


def _away_from_zero(value: float) -> int:
    whole = math.trunc(value)
    # The fraction of a double is exact, so no sum is rounded on the way.
    return whole + (1 if value > 0 else -1) if abs(value - whole) >= 0.5 else whole


def _whole(name: str, value: Any, change: Any) -> float:
    """Round a double by `change`, such as `math.floor`; NaN and infinity stay as they are."""
    if type(value) is not float:
        raise no_overload(name, value)
    if not math.isfinite(value):
        return value
    return math.copysign(float(change(value)), value)


def absolute(budget: CallBudget, value: Any) -> Any:
    """Return the number without its sign."""
    kind = type(value)
    if kind is int:
        return as_int(abs(value))
    if kind is float:
        return abs(value)
    if kind is Uint:
        return value
    raise no_overload("math.abs", value)


def sign(budget: CallBudget, value: Any) -> Any:
    """Return -1, 0 or 1 in the number's own type; NaN of NaN."""
    if type(value) not in NUMBERS:
        raise no_overload("math.sign", value)
    if type(value) is float and math.isnan(value):
        return value
    return type(value)((value > 0) - (value < 0))


def is_nan(budget: CallBudget, value: Any) -> bool:
    """Return whether a double is NaN."""
    return math.isnan(_double("math.isNaN", value))


def is_inf(budget: CallBudget, value: Any) -> bool:
    """Return whether a double is an infinity."""
    return math.isinf(_double("math.isInf", value))


def is_finite(budget: CallBudget, value: Any) -> bool:
    """Return whether a double is neither an infinity nor NaN."""
    return math.isfinite(_double("math.isFinite", value))


def _double(name: str, value: Any) -> float:
    if type(value) is not float:
        raise no_overload(name, value)
    return value


def square_root(budget: CallBudget, value: Any) -> float:
    """Return the square root as a double; NaN of a negative number."""
    if type(value) not in NUMBERS:
        raise no_overload("math.sqrt", value)
    return math.nan if value < 0 else math.sqrt(value)


def bit_and(budget: CallBudget, left: Any, right: Any) -> Any:
    """Return the bits that both have."""
    kind = _bits("math.bitAnd", left, right)
    return kind(int(left) & int(right))


def bit_or(budget: CallBudget, left: Any, right: Any) -> Any:
    """Return the bits that one of both has."""
    kind = _bits("math.bitOr", left, right)
    return kind(int(left) | int(right))


def bit_xor(budget: CallBudget, left: Any, right: Any) -> Any:
    """Return the bits that one of both has and the other has not."""
    kind = _bits("math.bitXor", left, right)
    return kind(int(left) ^ int(right))


def bit_not(budget: CallBudget, value: Any) -> Any:
    """Return the 64 bits, each inverted."""
    kind = _bits("math.bitNot", value, value)
    return kind(~int(value) & UINT_MAX) if kind is Uint else ~value


def bit_shift_left(budget: CallBudget, value: Any, bits: Any) -> Any:
    """Return the 64 bits moved up; bits beyond the end are lost."""
    pattern = _bits_of("math.bitShiftLeft", value, bits)
    moved = pattern << bits & UINT_MAX if bits < 64 else 0
    return _like(value, moved)


def bit_shift_right(budget: CallBudget, value: Any, bits: Any) -> Any:
    """Return the 64 bits moved down; zeros fill up, the sign is not kept."""
    pattern = _bits_of("math.bitShiftRight", value, bits)
    return _like(value, pattern >> bits if bits < 64 else 0)


def _bits(name: str, left: Any, right: Any) -> type[int]:
    """Return the type of two integers of the same type, for an operation on their bits.

    Raises:
        EvaluationError: they are not integers, or differ in type.
    """
    kind = type(left)
    if kind is not type(right) or kind not in _INTEGERS:
        raise no_overload(name, left, right)
    return Uint if kind is Uint else int


def _bits_of(name: str, value: Any, bits: Any) -> int:
    """Return the value's 64 bits, once the arguments are checked."""
    if type(value) not in _INTEGERS or type(bits) is not int:
        raise no_overload(name, value, bits)
    if bits < 0:
        raise EvaluationError(f"{name} must shift by 0 bits or more (got {bits})")
    return int(value) & UINT_MAX


def _like(value: int, pattern: int) -> int:
    """Return 64 bits as the type that `value` has."""
    if type(value) is Uint:
        return Uint(pattern)
    return pattern - 2**64 if pattern >= 2**63 else pattern


_INTEGERS: Final = frozenset({int, Uint})
