"""What the values have in common: how they show themselves, JSON that is parsed late, times."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from google.protobuf.timestamp_pb2 import Timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN_CHARS_MAX = 80


class Value:
    """Show the fields that are set, shortened: a node has eighteen fields, and most are empty."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __repr__(self) -> str:
        texts = []
        for each in dataclasses.fields(self):
            value = getattr(self, each.name) if each.repr else None
            if value is None or value in ("", 0, (), {}):  # False is 0
                continue
            texts.append(f"{each.name}={shown(value)}")
        return f"{type(self).__name__}({', '.join(texts)})"

    def _kept(self, name: str, text: str) -> Any:
        """Return what a JSON text holds, None for an empty one; parsed once, and kept in the field `name`."""
        if text and getattr(self, name) is None:
            object.__setattr__(self, name, json.loads(text))  # the value is frozen
        return getattr(self, name)

    def _kept_object(self, name: str, text: str) -> dict[str, Any]:
        kept: dict[str, Any] = self._kept(name, text or "{}")
        return kept


def kept() -> Any:
    """Return a field for JSON that was parsed; it is no part of the value."""
    return field(default=None, init=False, repr=False, compare=False)


def parsed(text: str) -> Any:
    """Return what a JSON text holds; None for an empty one."""
    return json.loads(text) if text else None


def parsed_object(text: str) -> dict[str, Any]:
    """Return the object that a JSON text holds; an empty one for an empty text."""
    values: dict[str, Any] = parsed(text) or {}
    return values


class LateValue(Value):
    """Has fields that are made when they are first read. A field that is not made yet has no value in its slot."""

    __slots__ = ()

    def _make_late(self, name: str, make: Callable[[], object]) -> None:
        """Let a field be made when it is first read."""
        object.__setattr__(self, f"_late_{name}", make)
        object.__delattr__(self, name)

    if not TYPE_CHECKING:  # or else a checker of types would take every name for that of an attribute

        def __getattr__(self, name: str) -> object:
            """Make a field, which Python found empty."""
            if name not in self.__dataclass_fields__ or name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            make = getattr(self, f"_late_{name}", None)
            if make is not None:  # otherwise another thread has made it
                object.__setattr__(self, name, make())
                object.__setattr__(self, f"_late_{name}", None)
            return object.__getattribute__(self, name)


def time_of(timestamp: Timestamp) -> datetime:
    """Return a time, aware, in UTC."""
    # ToDatetime() does the same at five times the cost; a history has thousands of them.
    return _EPOCH + timedelta(0, timestamp.seconds, timestamp.nanos // 1000)


def time_of_us(time_us: int) -> datetime:
    """Return the time of a number of microseconds since 1970, aware, in UTC."""
    return _EPOCH + timedelta(0, 0, time_us)


def shown(value: object) -> str:
    """Return a value as people read it, shortened."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, str) and len(value) > _SHOWN_CHARS_MAX:
        return f"{value[:_SHOWN_CHARS_MAX]!r}..."
    return repr(value)


def shown_size(size_bytes: int) -> str:
    """Return a size with its unit, such as "1.5 MB"."""
    if size_bytes < 1000:
        return f"{size_bytes} bytes"
    for unit_bytes, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size_bytes >= unit_bytes * 0.99995:  # what would be shown as 1000.0 of the smaller unit
            return f"{size_bytes / unit_bytes:.1f} {unit}"
    return f"{size_bytes / 1e3:.1f} kB"
