"""Values made of others by the names of their fields: of a row, of another value, or a message of protobuf of one.

A field with one name on both sides is written nowhere. A field that the source lacks must be given, also one that has a
default, so that a column that is missing in a statement is an error and not a default.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_T = TypeVar("_T")


def copied(target: type[_T], source: object, /, **given: Any) -> _T:
    """Return a value with the fields of another one that have the same names.

    Args:
        target: Its type: a dataclass, a named tuple, or a message of protobuf.
        source: Has them.
        given: The fields that have other names there, or other values; None leaves a field of a message unset.

    Raises:
        AttributeError: the source lacks a field, and it is not given.
    """
    made: Callable[..., _T] = _maker(target, tuple(given))  # type: ignore[arg-type]  # a class has a hash
    return made(source, **given)


def fields_of(value: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a dataclass by their names, such as for the parameters of a statement."""
    return {one.name: getattr(value, one.name) for one in fields(value)}


@cache
def _maker(target: Any, given: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function that makes one, compiled once as a dataclass is: as fast as if the fields were written out."""
    if descriptor := getattr(target, "DESCRIPTOR", None):
        names = [one.name for one in descriptor.fields]
    else:
        names = getattr(target, "_fields", None) or [one.name for one in fields(target) if one.init]
    if unknown := set(given).difference(names):
        raise TypeError(f"{target.__name__} has no {', '.join(sorted(unknown))}")
    parameters = ", ".join(["_source", "/", *(["*", *given] if given else [])])
    values = ", ".join(f"{name}={name}" if name in given else f"{name}=_source.{name}" for name in names)
    function: Callable[..., Any] = eval(f"lambda {parameters}: _target({values})", {"_target": target})  # noqa: S307
    return function
