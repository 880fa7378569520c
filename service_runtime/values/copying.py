"""Copies fields by their names, from a row or another value to a dataclass or a message of protobuf.

A field that has the same name on both sides need not be named. A field that the source lacks must be given, also one
that has a default, so that a column that is missing in a statement is an error and not a default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.timestamp_pb2 import Timestamp

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_T = TypeVar("_T")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def copied(target: type[_T], source: object, /, **values: Any) -> _T:
    """Return a value with the fields of another one that have the same names.

    In a message ids become text, and times timestamps; in a dataclass a field annotated as a tuple becomes one.

    Args:
        target: Type of the new value: a dataclass, a named tuple, or a message of protobuf.
        source: The value whose fields are copied. A None in it leaves a field of a message unset.
        values: Fields that the source lacks or names differently, and fields that get another value.

    Raises:
        AttributeError: the source lacks a field, and it is not given.
    """
    maker: Callable[..., _T] = _maker(target, tuple(values))  # type: ignore[arg-type]  # a class has a hash
    return maker(source, **values)


def fields_of(value: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a dataclass by their names, such as for the parameters of a statement."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def timestamp(time: datetime) -> Timestamp:
    """Return an aware time as a message."""
    since = time - _EPOCH  # by parts: `Timestamp.FromDatetime` takes ten times as long
    return Timestamp(seconds=since.days * 86400 + since.seconds, nanos=since.microseconds * 1000)


@cache
def _maker(target: Any, names: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function that makes a `target`; compiled once, it is as fast as code that names the fields."""
    if descriptor := getattr(target, "DESCRIPTOR", None):
        converted = {field.name: _conversion(field) for field in descriptor.fields}
    else:
        converted = dict.fromkeys(getattr(target, "_fields", ()), "") or {
            field.name: "tuple" if re.fullmatch(r"tuple\[.*\]", str(field.type)) else ""
            for field in fields(target)
            if field.init
        }
    if unknown := set(names).difference(converted):
        raise TypeError(f"{target.__name__} has no {', '.join(sorted(unknown))}")
    parameters = ", ".join(["_source", "/", *(["*", *names] if names else [])])
    values = ", ".join(
        f"{name}={name}" if name in names else f"{name}={conversion}(_source.{name})"
        for name, conversion in converted.items()
    )
    named = {"_target": target, "_time": _time, "_text": _text, "_texts": _texts}
    function: Callable[..., Any] = eval(f"lambda {parameters}: _target({values})", named)  # noqa: S307
    return function


def _conversion(field: FieldDescriptor) -> str:
    """Return the name of the function that converts the values of a field; empty if they need no conversion."""
    if field.message_type is Timestamp.DESCRIPTOR and not field.is_repeated:
        return "_time"
    if field.type == FieldDescriptor.TYPE_STRING:
        return "_texts" if field.is_repeated else "_text"
    return ""


def _time(value: datetime | None) -> Timestamp | None:
    return None if value is None else timestamp(value)


def _text(value: object) -> object:
    return str(value) if isinstance(value, UUID) else value


def _texts(values: Iterable[object]) -> Iterable[object]:
    return map(_text, values)
