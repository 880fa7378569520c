"""Large requests, read in slices: protobuf reads a message in one go, which blocks the event loop for all callers.

Two megabytes of empty messages, two bytes each, take it a quarter of a second. A message may be cut between its fields
and merged again, so a large one is read some kilobytes at a time, and so are large messages inside it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, NoReturn

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from contextkeep.errors import LimitExceeded

AT_ONCE_BYTES = 32 * 1024  # bytes that are parsed in one go: 2 ms at most, with any content
FIELDS_MAX = 100_000  # fields of a larger request that are walked through, with those of large messages inside it
# The code that converts a request walks its lists before rules count them: 2 to 7 us an element. No rule allows
# longer lists.
LIST_MAX, ELEMENTS_MAX = 2_500, 60_000
_UNCOUNTED_BYTES = 4 * 1024  # of a request: the 2,000 elements that fit are soon gone through
_COUNTED_AT_ONCE = 1_000  # messages that are counted in one step: 2 ms
_WALKED_AT_ONCE = 4_096  # fields that are walked in one step: 3 ms
_NESTING_MAX = 100  # deepest nesting, as protobuf has it
_COUNTED = frozenset({FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES})
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_VARINT_BYTES_MAX = 10


def read(message_class: type[Message], data: bytes) -> Generator[None, None, Message]:
    """Return the message of a request, in steps of some milliseconds (`calls.in_slices`).

    Raises:
        DecodeError: it is not a message of the class, or a large one has groups, an obsolete feature of protobuf.
        LimitExceeded: it has more than `FIELDS_MAX` fields, a list of more than `LIST_MAX` texts or messages, or more
            than `ELEMENTS_MAX` of these in all its lists.
    """
    message = message_class()
    if len(data) > AT_ONCE_BYTES:
        yield from _Reading(data).into(message, 0, len(data), nesting=1)
    else:
        message.MergeFromString(data)
    if len(data) > _UNCOUNTED_BYTES:
        yield from _check_elements(message)
    return message


class _Reading:
    """Counts the walked parts of one request."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._fields = 0

    def into(self, message: Message, start: int, end: int, *, nesting: int) -> Generator[None, None, None]:
        """Merge the bytes between two positions of the request, the borders of whole fields, into a message."""
        if nesting > _NESTING_MAX:
            raise DecodeError("it nests too deeply")
        by_number = message.DESCRIPTOR.fields_by_number
        begin = place = start
        while place < end:
            field_at = place
            number, place, size = self._field(place, end)
            if size > AT_ONCE_BYTES and _is_message(field := by_number.get(number)):
                message.MergeFromString(self._data[begin:field_at])
                yield
                yield from self.into(_below(message, field), place, place + size, nesting=nesting + 1)
                begin = place = place + size
                continue
            place += size
            if place - begin >= AT_ONCE_BYTES:
                message.MergeFromString(self._data[begin:place])
                begin = place
                yield
            if self._fields % _WALKED_AT_ONCE == 0:
                yield
        message.MergeFromString(self._data[begin:place])

    def _field(self, place: int, end: int) -> tuple[int, int, int]:
        """Return the number of the field at a place, where its value is, and the bytes of that."""
        self._fields += 1
        if self._fields > FIELDS_MAX:
            _refuse(f"the request has more than {FIELDS_MAX} fields", "fields", FIELDS_MAX, self._fields)
        tag, place = self._varint(place, end)
        kind, size = tag & 7, 0
        if kind == _BYTES:
            size, place = self._varint(place, end)
        elif kind == _VARINT:
            size = self._varint(place, end)[1] - place
        elif kind in (_FIXED_64, _FIXED_32):
            size = 8 if kind == _FIXED_64 else 4
        else:
            raise DecodeError("it has a group")
        if place + size > end:
            raise DecodeError("it is cut off")
        return tag >> 3, place, size

    def _varint(self, place: int, end: int) -> tuple[int, int]:
        """Return the number at a position, and the position after it."""
        value = shift = 0
        for byte in self._data[place : min(end, place + _VARINT_BYTES_MAX)]:
            value |= (byte & 0x7F) << shift
            shift += 7
            place += 1
            if byte < 0x80:
                return value, place
        raise DecodeError("it is cut off")


def _check_elements(message: Message) -> Generator[None, None, None]:
    """Refuse a message of too many elements, in steps.

    Raises:
        LimitExceeded: a list of it is too long, or all together are.
    """
    left: list[Message] = [message]
    elements = looked_at = 0
    while left:
        looked_at += 1
        if looked_at % _COUNTED_AT_ONCE == 0:
            yield
        for field, value in left.pop().ListFields():
            if not field.is_repeated:
                if _is_message(field):
                    left.append(value)
            elif field.type in _COUNTED:
                elements += len(value)
                if len(value) > LIST_MAX:
                    _refuse(f"{field.name} has {len(value)} elements", field.name, LIST_MAX, len(value))
                if elements > ELEMENTS_MAX:
                    _refuse(f"the lists of the request have {elements} elements", "elements", ELEMENTS_MAX, elements)
                if _is_message(field):
                    left.extend(value)


def _refuse(what: str, limit: str, limit_max: int, value: int) -> NoReturn:
    raise LimitExceeded(f"{what}; the limit is {limit_max}", limit=limit, limit_max=limit_max, value=value)


def _is_message(field: Any) -> bool:
    """Return whether a field holds a message. Fields that are maps do not count."""
    return (
        field is not None
        and field.message_type is not None
        and not field.message_type.GetOptions().map_entry
        and field.type == FieldDescriptor.TYPE_MESSAGE
    )


def _below(message: Message, field: Any) -> Message:
    """Return the message in a field of another message; for a repeated field, a new element."""
    below = getattr(message, field.name)
    if field.is_repeated:
        added: Message = below.add()
        return added
    single: Message = below
    single.SetInParent()
    return single
