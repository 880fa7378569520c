"""Results as JSON: for metadata, parts, and text that is not a string."""

from __future__ import annotations

import base64
import math
from datetime import datetime
from typing import Any, Final

from context_service.history.cel.conversions import special_double
from context_service.history.cel.errors import EvaluationBudgetExceeded
from context_service.history.cel.times import Duration, Timestamp
from context_service.history.cel.values import BoolKey, CelType, Uint, number

_BYTES_MAX: Final = 1024 * 1024
_DEPTH_MAX: Final = 200


def to_json(value: Any, *, bytes_max: int = _BYTES_MAX) -> Any:
    """Return `value` as JSON has it.

    Bytes become base64, a timestamp RFC 3339, a duration seconds with an `s`, a uint an
    int, an infinity or NaN its name, a type its name, and keys of maps text.

    Args:
        value: A result of an expression.
        bytes_max: The JSON text's size, estimated from below; a result may hold one
            document many times, so its size is not bounded by what the evaluation built.

    Raises:
        EvaluationBudgetExceeded: `value` is larger, or nested deeper than 200.
    """
    return _Converter(bytes_max).convert(value, 0)


class _Converter:
    """Converts one value, and counts what it makes."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._bytes_left = bytes_max

    def convert(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            self._pay(len(value) + 2)
            return value
        if kind is list or kind is dict:
            if depth >= _DEPTH_MAX:
                raise EvaluationBudgetExceeded(
                    f"the result is nested deeper than {_DEPTH_MAX}",
                    limit="evaluation_depth",
                    maximum=_DEPTH_MAX,
                )
            self._pay(1 + len(value))
            if kind is list:
                return [self.convert(item, depth + 1) for item in value]
            return {self._key(key): self.convert(item, depth + 1) for key, item in value.items()}
        self._pay(1)
        if kind is int:
            return number(value)
        if kind is float:
            return value if math.isfinite(value) else special_double(value)
        return self._other(value)

    def _key(self, key: Any) -> str:
        if type(key) is BoolKey:
            return "true" if key.value else "false"
        text = key if type(key) is str else str(int(key))
        self._pay(len(text) + 3)
        return text

    def _other(self, value: Any) -> Any:
        kind = type(value)
        if kind is Uint:
            return int(value)
        if kind is bytes:
            self._pay(len(value) * 4 // 3)
            return base64.b64encode(value).decode()
        if kind is Timestamp or kind is datetime:
            return str(Timestamp.of(value))
        if kind is Duration:
            return str(value)
        return value.name if kind is CelType else value

    def _pay(self, size_bytes: int) -> None:
        self._bytes_left -= size_bytes
        if self._bytes_left < 0:
            raise EvaluationBudgetExceeded(
                f"the result is larger than {self._bytes_max} bytes",
                limit="evaluation_bytes",
                maximum=self._bytes_max,
            )
