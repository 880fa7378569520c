"""Values as texts: `format` of the strings extension, and results as JSON."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final

import orjson

from context_service.kernel.cel.budget import CallBudget
from context_service.kernel.cel.errors import EvaluationBudgetExceeded, EvaluationError
from context_service.kernel.cel.library.conversions import (
    decoded,
    encoded,
    plain_double_text,
    special_double,
    to_string,
)
from context_service.kernel.cel.times import Duration, Timestamp
from context_service.kernel.cel.values import INT_MAX, INT_MIN, NUMBERS, BoolKey, CelType, Uint, no_overload, number

# `format`: a text with clauses like `%s` and `%.2f`.

_CLAUSE: Final = re.compile(r"%(?:%|(?:\.([0-9]{1,4}))?([sdfebxXo]))")
_PRECISION_DEFAULT: Final = 6
_PRECISION_MAX: Final = 1000
_CLAUSE_STEPS: Final = 8
_DEPTH_MAX: Final = 100  # the same limit as for JSON


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
    while (percent := template.find("%", done)) >= 0:
        budget.charge(_CLAUSE_STEPS)
        parts.append(template[done:percent])
        match = _CLAUSE.match(template, percent)
        if match is None:
            raise EvaluationError(f"unknown clause {template[percent : percent + 8]!r} in the format")
        done = match.end()
        precision, clause = match.groups()
        if clause is None:
            parts.append("%")
            continue
        if used >= len(args):
            raise EvaluationError(f"the format has more clauses than arguments ({len(args)})")
        digits = _PRECISION_DEFAULT if precision is None else int(precision)
        if digits > _PRECISION_MAX:
            raise EvaluationError(f"the format's precision must be at most {_PRECISION_MAX} (got {precision})")
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
    """Append the text of a value to `parts`; the texts of lists and maps contain those of their elements."""
    kind = type(value)
    budget.charge(2)
    if depth > _DEPTH_MAX:
        raise EvaluationError(f"the value is nested more than {_DEPTH_MAX} levels deep")
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
    """Return the text that `%s` shows for a value that is neither a list nor a map."""
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
    """Append the text that `%s` shows for a list, such as `[1, 2]`, to `parts`."""
    budget.charge_bytes(2 * len(items) + 2)
    parts.append("[")
    for index, item in enumerate(items):
        if index:
            parts.append(", ")
        _describe(budget, number(item), parts, depth + 1)
    parts.append("]")


def _describe_map(budget: CallBudget, mapping: dict[Any, Any], parts: list[str], depth: int) -> None:
    """Append the text that `%s` shows for a map to `parts`, with the keys in the order of their texts."""
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
    """Return an integer in base 16, or the bytes of a text as two digits each, for `%x` and `%X`."""
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


# JSON: for metadata, parts, and text that is not a string. A value may be small because it shares parts: a map of forty
# levels, each with the level below it twice, takes a few kilobytes, but its JSON would fill any memory. So a value is
# walked before it is written, and each position is charged for, however often the same element appears.

_BYTES_MAX: Final = 1024 * 1024
_JSON_DEPTH_MAX: Final = 200
_TEXT_STEPS: Final = 3  # cost of a JSON text, whatever it contains
_CONTAINER_STEPS: Final = 2  # cost of a list or a map, without its elements
_VISITS_PER_STEP: Final = 2  # elements that are visited for one step
_CONVERTED_STEPS: Final = 10  # cost of converting a value that JSON lacks, after its visit: a timestamp takes 3 us


class JsonWriter:
    """Writes values as JSON texts, and charges the steps to the current evaluation."""

    def __init__(self, budget: CallBudget, *, bytes_max: int = _BYTES_MAX) -> None:
        """Take the budget, and the limit for the bytes of all texts together, of which a lower bound is counted."""
        self._budget = budget
        self._bytes_max = bytes_max
        self._bytes_left = bytes_max

    def text(self, value: Any) -> str:
        """Return `value` as JSON.

        Bytes become base64, a timestamp RFC 3339, a duration seconds with an `s`, a uint an
        int, an infinity or NaN its name, a type its name, and keys of maps text.

        Raises:
            EvaluationBudgetExceeded: it takes more steps or bytes than there are, or is nested deeper than 200.
            CallBudgetExceeded: it takes more steps than the call has.
            EvaluationError: the value has no JSON form.
        """
        self._budget.charge(_TEXT_STEPS)
        written = value if self._is_json(value) else _json_value(value)
        try:
            return orjson.dumps(written).decode()
        except orjson.JSONEncodeError as error:
            raise EvaluationError(f"the value cannot be written as JSON: {error}") from None

    def charge_bytes(self, size_bytes: int) -> None:
        """Count the bytes that the caller writes between the texts.

        Raises:
            EvaluationBudgetExceeded: the limit of bytes is exceeded.
        """
        self._bytes_left -= size_bytes
        if self._bytes_left < 0:
            raise EvaluationBudgetExceeded(
                f"the result has more than {self._bytes_max} bytes",
                limit="evaluation_bytes",
                maximum=self._bytes_max,
            )

    def _is_json(self, value: Any) -> bool:
        """Visit all of a value, level by level, and charge for writing it; return whether it is plain JSON."""
        visits = chars = odd = depth = 0
        level: list[Any] = [[value]]
        while level:
            if depth > _JSON_DEPTH_MAX:
                raise EvaluationBudgetExceeded(
                    f"the result is nested more than {_JSON_DEPTH_MAX} levels deep; return a flatter value",
                    limit="evaluation_depth",
                    maximum=_JSON_DEPTH_MAX,
                )
            below: list[Any] = []
            for container in level:
                self._budget.charge(_CONTAINER_STEPS + len(container) // _VISITS_PER_STEP)
                visits += len(container)
                visited = _size_and_count(container, below)
                self.charge_bytes(2 * len(container) + visited[0])  # a comma or a bracket next to each
                chars += visited[0]
                odd += visited[1]
            level, depth = below, depth + 1
        self._budget.charge_scan(chars)
        if odd:  # the whole value is built again
            self._budget.charge(visits + _CONVERTED_STEPS * odd)
        return not odd


def _size_and_count(container: Any, below: list[Any]) -> tuple[int, int]:
    """Return the number of characters in a list or a map, and the number of its values that JSON cannot have.

    Args:
        container: The list or map to visit, without those inside it.
        below: The lists and maps inside it are appended here.
    """
    chars = odd = 0
    items: Iterable[Any] = container
    if type(container) is dict:
        items = container.values()
        for key in container:
            if type(key) is str:
                chars += len(key) + 3
            else:
                odd += 1
    for item in items:
        kind = type(item)
        if kind is str:
            chars += len(item) + 2
        elif kind is dict or kind is list:
            below.append(item)
        elif kind is int:
            odd += not INT_MIN <= item <= INT_MAX
        elif kind is float:
            odd += not math.isfinite(item)
        elif item is not None and kind is not bool:
            odd += 1
            if kind is bytes:
                chars += len(item) * 4 // 3
    return chars, odd


def _json_value(value: Any) -> Any:
    """Return a value of CEL as a JSON value: types that JSON lacks become texts or numbers, as CEL formats them."""
    kind = type(value)
    if kind is list:
        return [_json_value(item) for item in value]
    if kind is dict:
        return {_key(key): _json_value(item) for key, item in value.items()}
    if kind is int:
        return number(value)
    if kind is float:
        return value if math.isfinite(value) else special_double(value)
    if kind is Uint:
        return int(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Timestamp or kind is datetime:
        return str(Timestamp.of(value))
    if kind is Duration:
        return str(value)
    return value.name if kind is CelType else value


def _key(key: Any) -> str:
    if type(key) is BoolKey:
        return "true" if key.value else "false"
    return key if type(key) is str else str(int(key))
