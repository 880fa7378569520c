"""Requests in which one field has a value of a given size: for each `(contextkeep.rule)`, at its limit and above."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from tests.hostile.calling import Case
from tests.rpcs import Rpc, fields

FieldPath = tuple[FieldDescriptor, ...]
Change = Callable[[Message, FieldDescriptor], None]  # gives the field of a message its value


def paths(rpc: Rpc) -> Iterator[FieldPath]:
    """Yield the paths of the fields of a request that are no entries of maps."""
    for path in fields(rpc.request.DESCRIPTOR):
        if not any(field.containing_type.GetOptions().map_entry for field in path):
            yield path


def changed(rpc: Rpc, case: Case, path: FieldPath, change: Change) -> Case:
    """Return a case in which a field has another value; messages on the way to it are made if they lack."""
    messages: list[Any] = [copy.deepcopy(one) for one in ([case] if isinstance(case, Message) else case)]
    messages = messages or [rpc.request()]
    on_the_way: Any = next((one for one in messages if _has(one, path)), messages[0])
    for field in path[:-1]:
        value = getattr(on_the_way, field.name)
        if field.is_repeated:
            on_the_way = value[0] if value else value.add()
        else:
            value.SetInParent()
            on_the_way = value
    change(on_the_way, path[-1])
    return messages if rpc.client_streaming else messages[0]


def _has(message: Message, path: FieldPath) -> bool:
    first, *rest = path
    value = getattr(message, first.name)
    if first.is_repeated:
        return bool(value) and (not rest or _has(value[0], tuple(rest)))
    if first.message_type is None:
        return False
    return message.HasField(first.name) and (not rest or _has(value, tuple(rest)))


def text_of_chars(chars: int) -> Change:
    """Return a change to a text of so many characters, of two bytes each; of a list, to its first item."""
    return value_of("é" * chars)


def text_of_bytes(size_bytes: int, *, is_json: bool = False) -> Change:
    """Return a change to a text of so many bytes; of a list, to its first item."""
    if is_json:
        return value_of('{"a":"' + "x" * (size_bytes - 8) + '"}')
    return value_of("é" * (size_bytes // 2) + "x" * (size_bytes % 2))


def value_of(value: Any) -> Change:
    """Return a change to a value; of a list, to its first item."""
    return lambda message, field: _set(message, field, value)


def items_of(count: int) -> Change:
    """Return a change to so many items: copies of the first one; texts differ."""

    def change(message: Any, field: FieldDescriptor) -> None:
        values = getattr(message, field.name)
        if field.message_type is not None:
            first = copy.deepcopy(values[0]) if values else values.add()
            del values[:]
            values.extend([first] * count)
        elif field.type == FieldDescriptor.TYPE_STRING:
            values[:] = [f"00000000-0000-4000-8000-{number:012}" for number in range(count)]
        else:
            values[:] = [values[0] if values else 1] * count

    return change


def _set(message: Any, field: FieldDescriptor, value: Any) -> None:
    if field.type == FieldDescriptor.TYPE_BYTES:
        value = value.encode()
    if field.is_repeated:
        values = getattr(message, field.name)
        values[:] = [value, *values[1:]]
    else:
        setattr(message, field.name, value)
