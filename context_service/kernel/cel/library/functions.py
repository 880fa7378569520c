"""The table of functions: the signature, the cost and the result of each.

A function that is not in this table is refused at registration. A name with a
dot is one of an extension's namespace; a method is called on its first argument.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from context_service.kernel.cel.budget import CallBudget
from context_service.kernel.cel.library import conversions, mathematics, strings
from context_service.kernel.cel.library.formatting import format_text
from context_service.kernel.cel.times import SECOND_NS, Duration, Timestamp, truncated
from context_service.kernel.cel.values import no_overload

# The methods of timestamps and durations: `getFullYear()`, `getHours('Europe/Paris')` and the like. Months, days of the
# year and days of the week count from 0, as does `getDayOfMonth`; `getDate` counts from 1. Without a zone the answer is
# UTC's.

Accessor = Callable[..., int]

_ZONE_STEPS: Final = 40  # the zones there are get loaded once; converting takes microseconds
_MINUTE_NS: Final = 60 * SECOND_NS
_HOUR_NS: Final = 60 * _MINUTE_NS
_MILLISECOND_NS: Final = SECOND_NS // 1000


def _accessor(name: str, of_time: Callable[[datetime], int], of_span: Callable[[int], int] | None = None) -> Accessor:
    """Return the accessor `name` of timestamps, such as `getHours`; also of durations if `of_span` is given."""

    def access(budget: CallBudget, value: Any, zone: Any = None) -> int:
        kind = type(value)
        if kind is Duration and zone is None and of_span is not None:
            return of_span(value.ns)
        if kind is not Timestamp and kind is not datetime:
            raise no_overload(name, value)
        if zone is not None:
            if type(zone) is not str:
                raise no_overload(name, value, zone)
            budget.charge(_ZONE_STEPS)
        return of_time(Timestamp.of(value).at(zone))

    return access


ACCESSORS: Final[dict[str, Accessor]] = {
    name: _accessor(name, *parts)
    for name, *parts in (
        ("getFullYear", lambda time: time.year),
        ("getMonth", lambda time: time.month - 1),
        ("getDate", lambda time: time.day),
        ("getDayOfMonth", lambda time: time.day - 1),
        ("getDayOfWeek", lambda time: time.isoweekday() % 7),
        ("getDayOfYear", lambda time: time.timetuple().tm_yday - 1),
        ("getHours", lambda time: time.hour, lambda ns: truncated(ns, _HOUR_NS)),
        ("getMinutes", lambda time: time.minute, lambda ns: truncated(ns, _MINUTE_NS)),
        ("getSeconds", lambda time: time.second, lambda ns: truncated(ns, SECOND_NS)),
        (
            "getMilliseconds",
            lambda time: time.microsecond // 1000,
            # The part below the second, not the whole duration in milliseconds.
            lambda ns: truncated(ns - truncated(ns, SECOND_NS) * SECOND_NS, _MILLISECOND_NS),
        ),
    )
}


# The table.


@dataclass(frozen=True, slots=True)
class Function:
    """One function or method.

    `run` takes the call's budget and the arguments; it charges the cost that depends on them.
    """

    name: str
    run: Callable[..., Any]
    arity_min: int  # the smallest number of arguments, without the target of a method
    arity_max: int
    cost: int  # steps besides those that `run` charges
    result: str | None = None  # the type of every result; None if it depends


_MANY: Final = 1_000  # more arguments than an expression has room for


def _table(*functions: Function) -> dict[str, Function]:
    return {function.name: function for function in functions}


GLOBAL: Final[dict[str, Function]] = _table(
    Function("size", strings.size, 1, 1, 2, "int"),
    Function("matches", strings.matches, 2, 2, 4, "bool"),
    Function("int", conversions.to_int, 1, 1, 4, "int"),
    Function("uint", conversions.to_uint, 1, 1, 4, "uint"),
    Function("double", conversions.to_double, 1, 1, 4, "double"),
    Function("string", conversions.to_string, 1, 1, 12, "string"),
    Function("bytes", conversions.to_bytes, 1, 1, 3, "bytes"),
    Function("bool", conversions.to_bool, 1, 1, 3, "bool"),
    Function("timestamp", conversions.to_timestamp, 1, 1, 20, "google.protobuf.Timestamp"),
    Function("duration", conversions.to_duration, 1, 1, 20, "google.protobuf.Duration"),
    Function("dyn", conversions.to_dyn, 1, 1, 1),
    Function("type", conversions.to_type, 1, 1, 3, "type"),
    Function("strings.quote", strings.quote, 1, 1, 4, "string"),
    Function("base64.encode", conversions.base64_encode, 1, 1, 6, "string"),
    Function("base64.decode", conversions.base64_decode, 1, 1, 8, "bytes"),
    Function("math.greatest", mathematics.greatest, 1, _MANY, 5),
    Function("math.least", mathematics.least, 1, _MANY, 5),
    Function("math.ceil", mathematics.ceil, 1, 1, 4, "double"),
    Function("math.floor", mathematics.floor, 1, 1, 4, "double"),
    Function("math.round", mathematics.rounded, 1, 1, 5, "double"),
    Function("math.trunc", mathematics.trunc, 1, 1, 4, "double"),
    Function("math.abs", mathematics.absolute, 1, 1, 3),
    Function("math.sign", mathematics.sign, 1, 1, 4),
    Function("math.isNaN", mathematics.is_nan, 1, 1, 3, "bool"),
    Function("math.isInf", mathematics.is_inf, 1, 1, 3, "bool"),
    Function("math.isFinite", mathematics.is_finite, 1, 1, 3, "bool"),
    Function("math.sqrt", mathematics.square_root, 1, 1, 3, "double"),
    Function("math.bitAnd", mathematics.bit_and, 2, 2, 4),
    Function("math.bitOr", mathematics.bit_or, 2, 2, 4),
    Function("math.bitXor", mathematics.bit_xor, 2, 2, 4),
    Function("math.bitNot", mathematics.bit_not, 1, 1, 4),
    Function("math.bitShiftLeft", mathematics.bit_shift_left, 2, 2, 5),
    Function("math.bitShiftRight", mathematics.bit_shift_right, 2, 2, 5),
)

METHODS: Final[dict[str, Function]] = _table(
    Function("size", strings.size, 0, 0, 2, "int"),
    Function("matches", strings.matches, 1, 1, 4, "bool"),
    Function("contains", strings.contains, 1, 1, 3, "bool"),
    Function("startsWith", strings.starts_with, 1, 1, 3, "bool"),
    Function("endsWith", strings.ends_with, 1, 1, 3, "bool"),
    Function("charAt", strings.char_at, 1, 1, 4, "string"),
    Function("indexOf", strings.index_of, 1, 2, 4, "int"),
    Function("lastIndexOf", strings.last_index_of, 1, 2, 5, "int"),
    Function("lowerAscii", strings.lower_ascii, 0, 0, 4, "string"),
    Function("upperAscii", strings.upper_ascii, 0, 0, 4, "string"),
    Function("replace", strings.replace, 2, 3, 5, "string"),
    Function("split", strings.split, 1, 2, 5, "list"),
    Function("substring", strings.substring, 1, 2, 5, "string"),
    Function("trim", strings.trim, 0, 0, 4, "string"),
    Function("join", strings.join, 0, 1, 5, "string"),
    Function("reverse", strings.reverse, 0, 0, 4, "string"),
    Function("format", format_text, 1, 1, 5, "string"),
    *(Function(name, run, 0, 1, 10, "int") for name, run in ACCESSORS.items()),
)

NAMESPACES: Final = frozenset(name.partition(".")[0] for name in GLOBAL if "." in name) | {"cel"}
