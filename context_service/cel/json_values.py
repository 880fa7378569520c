"""Results as JSON: for metadata, parts, and text that is not a string.

A value is small while it shares: a map of forty levels, each of which holds the one below it twice, takes a few
kilobytes, and as JSON more than there is. So a value is walked before it is written, and each place where something
stands is visited and paid for, however often the same thing stands there.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import orjson

from context_service.cel.budget import CallBudget
from context_service.cel.conversions import special_double
from context_service.cel.errors import EvaluationBudgetExceeded, EvaluationError
from context_service.cel.times import Duration, Timestamp
from context_service.cel.values import INT_MAX, INT_MIN, BoolKey, CelType, Uint, number

_BYTES_MAX: Final = 1024 * 1024
_DEPTH_MAX: Final = 200
_TEXT_STEPS: Final = 3  # of a JSON text, whatever is in it
_CONTAINER_STEPS: Final = 2  # of a list or a map, besides what is in it
_VISITS_PER_STEP: Final = 2  # of what is in it
_CONVERTED_STEPS: Final = 10  # of what JSON has not, besides its visit: a timestamp takes 3 us


class JsonWriter:
    """Writes values as JSON texts, paid by the steps of the evaluation that runs."""

    def __init__(self, budget: CallBudget, *, bytes_max: int = _BYTES_MAX) -> None:
        """Take what pays, and how many bytes all texts together may have, estimated from below."""
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
            EvaluationError: no JSON stands for it.
        """
        self._budget.charge(_TEXT_STEPS)
        written = value if self._is_json(value) else _converted(value)
        try:
            return orjson.dumps(written).decode()
        except orjson.JSONEncodeError as error:
            raise EvaluationError(f"the value cannot be written as JSON: {error}") from None

    def charge_bytes(self, size_bytes: int) -> None:
        """Count what stands beside the texts.

        Raises:
            EvaluationBudgetExceeded: there is no room for it.
        """
        self._bytes_left -= size_bytes
        if self._bytes_left < 0:
            raise EvaluationBudgetExceeded(
                f"the result is larger than {self._bytes_max} bytes",
                limit="evaluation_bytes",
                maximum=self._bytes_max,
            )

    def _is_json(self, value: Any) -> bool:
        """Visit all of a value, level by level, and pay for writing it; say whether it is JSON as it is."""
        visits = chars = odd = depth = 0
        level: list[Any] = [[value]]
        while level:
            if depth > _DEPTH_MAX:
                raise EvaluationBudgetExceeded(
                    f"the result is nested deeper than {_DEPTH_MAX}",
                    limit="evaluation_depth",
                    maximum=_DEPTH_MAX,
                )
            below: list[Any] = []
            for container in level:
                self._budget.charge(_CONTAINER_STEPS + len(container) // _VISITS_PER_STEP)
                visits += len(container)
                found = _visited(container, below)
                self.charge_bytes(2 * len(container) + found[0])  # a comma or a bracket beside each
                chars += found[0]
                odd += found[1]
            level, depth = below, depth + 1
        self._budget.charge_scan(chars)
        if odd:  # all of it is made anew
            self._budget.charge(visits + _CONVERTED_STEPS * odd)
        return not odd


def _visited(container: Any, below: list[Any]) -> tuple[int, int]:
    """Return how many characters stand in a list or a map, and how many of its values JSON has not.

    Args:
        container: Visited; not what is in the lists and maps in it.
        below: Those are added here.
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


def _converted(value: Any) -> Any:
    """Return a value with JSON for all that JSON has not."""
    kind = type(value)
    if kind is list:
        return [_converted(item) for item in value]
    if kind is dict:
        return {_key(key): _converted(item) for key, item in value.items()}
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
