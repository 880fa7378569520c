"""The conversions: `int()`, `string()` and the others named after types; and base64."""

from __future__ import annotations

import base64
import binascii
import math
import re
from datetime import datetime
from decimal import Decimal
from typing import Any

from context_service.kernel.cel.budget import CallBudget
from context_service.kernel.cel.errors import EvaluationError
from context_service.kernel.cel.library.operators import as_int, as_uint
from context_service.kernel.cel.times import SECOND_NS, Duration, Timestamp
from context_service.kernel.cel.values import CelType, Uint, no_overload, type_of

_INT = re.compile(r"[+-]?[0-9]{1,40}")
_UINT = re.compile(r"[0-9]{1,40}")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL_DOUBLE = re.compile(r"(?i)[+-]?(?:inf|infinity|nan)")
_NUMBER_CHARS_MAX = 1024  # longer texts are no numbers that anyone wrote
_TIME_CHARS_MAX = 128
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def to_int(budget: CallBudget, value: Any) -> int:
    """Return an int: a double cut off towards zero, a text in decimal, a timestamp in seconds."""
    kind = type(value)
    if kind is int:
        return int(value)
    if kind is Uint:
        return as_int(int(value))
    if kind is float:
        # The bounds themselves are refused: a double near them may mean an int beyond.
        if not -(2.0**63) < value < 2.0**63:
            raise EvaluationError("the double does not fit an int")
        return int(value)
    if kind is str:
        if _INT.fullmatch(value) is None:
            raise EvaluationError("the string is not an int")
        return as_int(int(value))
    if kind is Timestamp or kind is datetime:
        return Timestamp.of(value).ns // SECOND_NS
    raise no_overload("int", value)


def to_uint(budget: CallBudget, value: Any) -> Uint:
    """Return a uint: a double cut off towards zero, a text in decimal."""
    kind = type(value)
    if kind is Uint:
        return Uint(value)
    if kind is int:
        return as_uint(value)
    if kind is float:
        if not 0 <= value < 2.0**64:
            raise EvaluationError("the double does not fit a uint")
        return Uint(int(value))
    if kind is str:
        if _UINT.fullmatch(value) is None:
            raise EvaluationError("the string is not a uint")
        return as_uint(int(value))
    raise no_overload("uint", value)


def to_double(budget: CallBudget, value: Any) -> float:
    """Return a double: the nearest one to an integer or to a text."""
    kind = type(value)
    if kind is float or kind is int or kind is Uint:
        return float(value)
    if kind is str:
        if len(value) > _NUMBER_CHARS_MAX or not (_DOUBLE.fullmatch(value) or _SPECIAL_DOUBLE.fullmatch(value)):
            raise EvaluationError("the string is not a double")
        result = float(value)
        if math.isinf(result) and not _SPECIAL_DOUBLE.fullmatch(value):
            raise EvaluationError("the string does not fit a double")
        return result
    raise no_overload("double", value)


def to_string(budget: CallBudget, value: Any) -> str:
    """Return a text: the shortest form of a double, bytes decoded as UTF-8."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is Uint:
        return str(int(value))
    if kind is float:
        return double_text(value)
    if kind is bytes:
        return decoded(budget, value)
    if kind is Timestamp or kind is datetime:
        return str(Timestamp.of(value))
    if kind is Duration:
        return str(value)
    raise no_overload("string", value)


def to_bytes(budget: CallBudget, value: Any) -> bytes:
    """Return bytes: of a text its UTF-8."""
    if type(value) is bytes:
        return value
    if type(value) is str:
        return encoded(budget, value)
    raise no_overload("bytes", value)


def to_bool(budget: CallBudget, value: Any) -> bool:
    """Return a bool, also from its text."""
    if type(value) is bool:
        return value
    if type(value) is str:
        result = _BOOLS.get(value) if len(value) < 6 else None
        if result is None:
            raise EvaluationError("the string is not a bool")
        return result
    raise no_overload("bool", value)


def to_timestamp(budget: CallBudget, value: Any) -> Timestamp:
    """Return a timestamp: of a text in RFC 3339, of seconds since 1970."""
    kind = type(value)
    if kind is str:
        if len(value) > _TIME_CHARS_MAX:
            raise EvaluationError("the string is not an RFC 3339 timestamp such as 2026-01-31T12:00:00Z")
        return Timestamp.parse(value)
    if kind is int:
        return Timestamp(value * SECOND_NS)
    if kind is Timestamp or kind is datetime:
        return Timestamp.of(value)
    raise no_overload("timestamp", value)


def to_duration(budget: CallBudget, value: Any) -> Duration:
    """Return a duration: of a text like `1h30m` or `2.5s`."""
    if type(value) is Duration:
        return value
    if type(value) is str:
        if not 0 < len(value) <= _TIME_CHARS_MAX:
            raise EvaluationError("the string is not a duration such as 1h30m or 2.5s")
        return Duration.parse(value)
    raise no_overload("duration", value)


def to_dyn(budget: CallBudget, value: Any) -> Any:
    """Return the value itself: `dyn` speaks to type checkers."""
    return value


def to_type(budget: CallBudget, value: Any) -> CelType:
    """Return the type of the value."""
    return type_of(value)


def encoded(budget: CallBudget, text: str) -> bytes:
    """Return the UTF-8 bytes of a text, and charge for them.

    Raises:
        EvaluationError: the text holds half a surrogate pair.
    """
    budget.charge_bytes(len(text))
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise EvaluationError("the string has half of a surrogate pair") from None
    budget.charge_bytes(len(data) - len(text))
    return data


def decoded(budget: CallBudget, data: bytes) -> str:
    """Return the text of UTF-8 bytes, and charge for it.

    Raises:
        EvaluationError: the bytes are not valid UTF-8.
    """
    budget.charge_bytes(len(data))
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise EvaluationError("the bytes are not UTF-8") from None


def double_text(value: float) -> str:
    """Return the shortest text that reads back as `value`; far from 1, with an exponent."""
    special = special_double(value)
    if special is not None:
        return special
    text = repr(value)  # the shortest digits
    if "e" not in text:
        return text.removesuffix(".0")
    exponent = int(text.partition("e")[2])
    return text if not -7 < exponent < 21 else plain_double_text(value)


def plain_double_text(value: float) -> str:
    """Return the shortest text that reads back as `value`, never with an exponent."""
    special = special_double(value)
    if special is not None:
        return special
    text = repr(value)
    if "e" in text:
        text = format(Decimal(text), "f")
    return text.removesuffix(".0")


def special_double(value: float) -> str | None:
    """Return the name of an infinity or NaN; None of a number."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return None


def base64_encode(budget: CallBudget, data: Any) -> str:
    """Return bytes in base64, with padding."""
    if type(data) is not bytes:
        raise no_overload("base64.encode", data)
    budget.charge_scan(len(data))
    budget.charge_bytes(len(data) * 4 // 3 + 4)
    return base64.b64encode(data).decode()


def base64_decode(budget: CallBudget, text: Any) -> bytes:
    """Return the bytes of base64; padding may be left out.

    Raises:
        EvaluationError: the text is not valid base64.
    """
    if type(text) is not str:
        raise no_overload("base64.decode", text)
    budget.charge_scan(4 * len(text))
    budget.charge_bytes(2 * len(text))
    padding = "" if text.endswith("=") else "=" * (-len(text) % 4)
    try:
        return base64.b64decode(text + padding, validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError("the string is not base64") from None
