"""Texts that cannot be sent: a lone surrogate is not a character, so UTF-8 cannot encode it.

The generated messages raise `UnicodeEncodeError` for it, which does not name the field. Each public method of a client
raises an error that does.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import fields, is_dataclass
from typing import Any

from contextkeep.errors import InvalidArgument

_DEPTH_MAX = 6  # of the values of a call


def refusing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that raises `InvalidArgument`, with the field, for a text that cannot be sent."""
    items: Any
    if inspect.isasyncgenfunction(method):

        async def items(*items: Any, **named: Any) -> AsyncGenerator[Any, None]:
            try:
                async with aclosing(method(*items, **named)) as answers:
                    async for answer in answers:
                        yield answer
            except UnicodeEncodeError as error:
                raise _refused(method, error, items, named) from None

    elif inspect.iscoroutinefunction(method):

        async def items(*items: Any, **named: Any) -> Any:
            try:
                return await method(*items, **named)
            except UnicodeEncodeError as error:
                raise _refused(method, error, items, named) from None

    elif inspect.isgeneratorfunction(method):

        def items(*items: Any, **named: Any) -> Generator[Any, Any, Any]:
            try:
                return (yield from method(*items, **named))
            except UnicodeEncodeError as error:
                raise _refused(method, error, items, named) from None

    else:

        def items(*items: Any, **named: Any) -> Any:
            try:
                return method(*items, **named)
            except UnicodeEncodeError as error:
                raise _refused(method, error, items, named) from None

    return functools.wraps(method)(items)


def check_text(field: str, value: object) -> None:
    """Refuse a text that cannot be sent.

    Raises:
        InvalidArgument: the text has a lone surrogate.
    """
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise _invalid(field, error) from None


def _refused(
    method: Callable[..., Any], error: UnicodeEncodeError, item: tuple[Any, ...], parameters: Mapping[str, Any]
) -> InvalidArgument:
    """Return the error for the argument that holds a text that UTF-8 cannot encode."""
    arguments = inspect.signature(method).bind_partial(*item, **parameters).arguments
    values = {name: value for name, value in arguments.items() if name != "self"}
    return _invalid(next(_paths(values, error.object, "", _DEPTH_MAX), ""), error)


def _invalid(field: str, error: UnicodeEncodeError) -> InvalidArgument:
    """Return the error for a text with half of a character; `field` is its argument, if that was found."""
    character = f"U+{ord(error.object[error.start]):04X}"
    return InvalidArgument(
        f"{field or 'a text'} holds {character} at {error.start}: half of a character, which UTF-8 does not have",
        field=field,
    )


def _paths(value: Any, text: str, path: str, depth: int) -> Iterator[str]:
    """Yield where a text is among the values of a call."""
    if isinstance(value, str):
        if value == text:
            yield path
        return
    if depth == 0:
        return
    parts: list[tuple[str, Any]] = []
    if isinstance(value, Mapping):
        parts = [(f"{path}.{name}" if path else str(name), item) for name, item in value.items()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = [(f"{path}[{place}]", item) for place, item in enumerate(value)]
    elif is_dataclass(value) and not isinstance(value, type):
        parts = [(f"{path}.{field.name}", getattr(value, field.name)) for field in fields(value)]
    for name, entry in parts:
        yield from _paths(entry, text, name, depth - 1)
