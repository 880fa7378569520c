"""`format` of the strings extension: a text with clauses like `%s` and `%.2f`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from context_service.cel.budget import CallBudget
from context_service.cel.conversions import (
    decoded,
    encoded,
    plain_double_text,
    special_double,
    to_string,
)
from context_service.cel.errors import EvaluationError
from context_service.cel.values import (
    NUMBERS,
    BoolKey,
    CelType,
    Uint,
    no_overload,
    number,
)

_CLAUSE: Final = re.compile(r"%(?:%|(?:\.([0-9]{1,4}))?([sdfebxXo]))")
_PRECISION_DEFAULT: Final = 6
_PRECISION_MAX: Final = 1000
_CLAUSE_STEPS: Final = 8
_DEPTH_MAX: Final = 100  # as deep as JSON may be


def format_text(budget: CallBudget, template: Any, args: Any) -> str:
    """Return `template` with its clauses replaced by `args`, in order.

    Raises:
        EvaluationError: an unknown clause, too few arguments, or one of a type that its
            clause does not take. Arguments left over are ignored.
    """
    if type(template) is not str or type(args) is not list:
        raise no_overload("format", template, args)
    budget.charge_scan(len(template))
    parts: list[str] = []
    done = used = 0
    while (found := template.find("%", done)) >= 0:
        budget.charge(_CLAUSE_STEPS)
        parts.append(template[done:found])
        match = _CLAUSE.match(template, found)
        if match is None:
            raise EvaluationError(f"unknown clause {template[found : found + 8]!r} in the format")
        done = match.end()
        precision, clause = match.groups()
        if clause is None:
            parts.append("%")
            continue
        if used >= len(args):
            raise EvaluationError("the format has more clauses than there are arguments")
        digits = _PRECISION_DEFAULT if precision is None else int(precision)
        if digits > _PRECISION_MAX:
            raise EvaluationError(f"the format's precision is more than {_PRECISION_MAX}")
        parts.append(_CLAUSES[clause](budget, number(args[used]), digits))
        used += 1
    parts.append(template[done:])
    budget.charge_bytes(sum(map(len, parts)))
    return "".join(parts)


def _string(budget: CallBudget, value: Any, digits: int) -> str:
    parts: list[str] = []
    _describe(budget, value, parts, 0)
    return "".join(parts)


def _describe(budget: CallBudget, value: Any, parts: list[str], depth: int) -> None:
    """Append the text of a value to `parts`; lists and maps hold the texts of what they hold."""
    kind = type(value)
    budget.charge(2)
    if depth > _DEPTH_MAX:
        raise EvaluationError(f"the value is nested deeper than {_DEPTH_MAX}")
    if kind is list:
        _describe_list(budget, value, parts, depth)
        return
    if kind is dict:
        _describe_map(budget, value, parts, depth)
        return
    text = _scalar(budget, value)
    budget.charge_bytes(len(text))
    parts.append(text)


def _scalar(budget: CallBudget, value: Any) -> str:
    kind = type(value)
    if value is None:
        return "null"
    if kind is CelType:
        return str(value.name)
    if kind is float:
        return plain_double_text(value)
    if kind is bytes:
        return decoded(budget, value)
    return to_string(budget, value)


def _describe_list(budget: CallBudget, items: list[Any], parts: list[str], depth: int) -> None:
    budget.charge_bytes(2 * len(items) + 2)
    parts.append("[")
    for index, item in enumerate(items):
        if index:
            parts.append(", ")
        _describe(budget, number(item), parts, depth + 1)
    parts.append("]")


def _describe_map(budget: CallBudget, mapping: dict[Any, Any], parts: list[str], depth: int) -> None:
    budget.charge(8 * len(mapping))
    budget.charge_bytes(4 * len(mapping) + 2)
    named = [(_scalar(budget, key.value if type(key) is BoolKey else key), value) for key, value in mapping.items()]
    named.sort(key=lambda entry: entry[0])
    parts.append("{")
    for index, (name, value) in enumerate(named):
        parts.append(f", {name}: " if index else f"{name}: ")
        budget.charge_bytes(len(name))
        _describe(budget, number(value), parts, depth + 1)
    parts.append("}")


def _decimal(budget: CallBudget, value: Any, digits: int) -> str:
    if type(value) not in NUMBERS:
        raise _refused("%d", value)
    return plain_double_text(value) if type(value) is float else str(int(value))


def _fixed(budget: CallBudget, value: Any, digits: int) -> str:
    return _double("%f", value, f".{digits}f")


def _scientific(budget: CallBudget, value: Any, digits: int) -> str:
    return _double("%e", value, f".{digits}e")


def _double(clause: str, value: Any, spec: str) -> str:
    if type(value) not in NUMBERS:
        raise _refused(clause, value)
    return special_double(float(value)) or format(float(value), spec)


def _binary(budget: CallBudget, value: Any, digits: int) -> str:
    if type(value) not in (bool, int, Uint):
        raise _refused("%b", value)
    return format(int(value), "b")


def _octal(budget: CallBudget, value: Any, digits: int) -> str:
    if type(value) not in (int, Uint):
        raise _refused("%o", value)
    return format(int(value), "o")


def _hex(budget: CallBudget, value: Any, digits: int) -> str:
    kind = type(value)
    if kind is int or kind is Uint:
        return format(int(value), "x")
    if kind is str or kind is bytes:
        budget.charge_bytes(2 * len(value))
        return (encoded(budget, value) if kind is str else value).hex()
    raise _refused("%x", value)


def _upper_hex(budget: CallBudget, value: Any, digits: int) -> str:
    return _hex(budget, value, digits).upper()


def _refused(clause: str, value: Any) -> EvaluationError:
    return no_overload(f"the clause {clause}", value)


_CLAUSES: Final[dict[str, Callable[[CallBudget, Any, int], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hex,
    "X": _upper_hex,
}
