"""Messages of a context as lines of JSON: what `contextkeep context append` reads."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

import click

from contextkeep.cli._output import printable
from contextkeep.inputs import FileInput, MessageInput, PartInput, ToolCallInput, ToolResultInput
from contextkeep.slips import meant
from contextkeep.values import Reasoning

T = TypeVar("T")

# Contents of a part that are objects.
_KINDS: dict[str, type[Any]] = {
    "tool_call": ToolCallInput,
    "tool_result": ToolResultInput,
    "reasoning": Reasoning,
    "file": FileInput,
}


def messages_of(lines: Iterable[bytes]) -> list[MessageInput]:
    """Return the messages of lines that hold an object each, with the fields of `MessageInput`; empty lines are none.

    Raises:
        click.UsageError: a line is something else; the error has its number.
    """
    messages = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            result = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise click.UsageError(f"line {number} is not valid JSON: {error}") from None
        try:
            messages.append(_message(result))
        except _Wrong as error:
            raise click.UsageError(f"line {number}: {printable(str(error))}") from None
    return messages


def time_of(text: str) -> datetime:
    """Return a time with a zone, such as 2026-01-31T12:00:00Z.

    Raises:
        ValueError: the text is malformed.
    """
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError("the zone is missing")
    return time


class _Wrong(Exception):
    """A line has another form."""


def _message(item: object) -> MessageInput:
    """Return the message of a line.

    Raises:
        _Wrong: a field is unknown or malformed.
    """
    fields = _fields(MessageInput, item, "the message")
    parts = fields.pop("parts", [])
    if not isinstance(parts, list):
        raise _Wrong("parts must be a list")
    if "said_at" in fields:
        try:
            fields["said_at"] = time_of(fields["said_at"])
        except (TypeError, ValueError):
            raise _Wrong(f"said_at must be a time such as 2026-01-31T12:00:00Z (got {fields['said_at']!r})") from None
    return MessageInput(**fields, parts=[_part(part, f"parts[{place}]") for place, part in enumerate(parts)])


def _part(item: object, where: str) -> PartInput:
    """Return a part of a message from a JSON object; `where` names the object in errors."""
    fields = _fields(PartInput, item, where)
    for name, kind in _KINDS.items():
        if name in fields:
            fields[name] = _build(kind, fields[name], f"{where}.{name}")
    return PartInput(**fields)


def _build(kind: type[T], item: object, where: str) -> T:
    """Return a value of a class from a JSON object; `where` names the object in errors.

    Raises:
        _Wrong: a field is unknown, missing or malformed.
    """
    fields = _fields(kind, item, where)
    if kind in (Reasoning, FileInput) and "data" in fields:
        try:
            fields["data"] = base64.b64decode(fields["data"], validate=True)
        except (TypeError, binascii.Error):
            raise _Wrong(f"{where}.data must be base64") from None
    if kind is ToolResultInput and "files" in fields:
        if not isinstance(fields["files"], list):
            raise _Wrong(f"{where}.files must be a list")
        fields["files"] = [_build(FileInput, file, f"{where}.files[{n}]") for n, file in enumerate(fields["files"])]
    try:
        return kind(**fields)
    except TypeError as error:
        raise _Wrong(f"{where} {str(error).partition('() ')[2]}") from None


def _fields(kind: type[Any], item: object, where: str) -> dict[str, Any]:
    """Return the fields of an object that are those of a dataclass; null is not given."""
    if not isinstance(item, Mapping):
        raise _Wrong(f"{where} must be a JSON object")
    names = [field.name for field in dataclasses.fields(kind) if field.init and not field.name.startswith("_")]
    for name in item:
        if name not in names:
            raise _Wrong(f"{where} has no field {name!r}; its fields are {', '.join(names)}{meant(name, names)}")
    return {name: value for name, value in item.items() if value is not None}


class TimeType(click.ParamType[datetime]):
    """A time with its zone."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time."""
        try:
            return value if isinstance(value, datetime) else time_of(value)
        except ValueError:
            self.fail(f"{value!r} is not a time with a zone, such as 2026-01-31T12:00:00Z", param, ctx)


TIME = TimeType()
