"""Chat messages and their parts, and how the values of a rule become them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from context_service.kernel.cel import CallBudget, EvaluationError, JsonWriter
from context_service.kernel.parts import Part, ToolCall, ToolResult
from service_runtime.values.checks import utf8_bytes

ROLE_NAMES = ("user", "assistant", "system", "tool")
ROLES = frozenset(ROLE_NAMES)
_PART_STEPS = 16  # cost of making a part and of writing it to an answer, without the JSON in it
_MESSAGE_BYTES = 150  # at most: the role, the id, the time and the tags of the fields of a message


class PartFields(NamedTuple):
    """The fields of an object in `parts`, in addition to `PART_FIELDS_COMMON`. Other fields are ignored."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


PART_FIELDS = {
    "text": PartFields(("text",)),
    "data": PartFields(("data",)),
    "record": PartFields(("working_memory_id",)),
    "url": PartFields(("url",)),
    "tool_call": PartFields(("id", "name"), ("arguments",)),
    "tool_result": PartFields(("tool_call_id",), ("content", "is_error")),
}
PART_FIELDS_COMMON = ("type", "media_type", "file_name", "metadata")


class ChatMessage(NamedTuple):  # a history has tens of thousands: making a tuple takes a third of a dataclass's time
    """One message, in the form that prompts need."""

    role: str  # one of ROLES
    content: str
    node_id: str  # the node it was read from
    created_at_us: int  # microseconds since 1970, UTC
    name: str = ""
    parts: tuple[Part, ...] = ()
    metadata_json: str = ""
    turn: str = ""  # messages of the assistant with the same key form one turn; empty if the turn is unknown


def size_bytes(message: ChatMessage) -> int:
    """Estimate the bytes of a message in an answer. The estimate is never too low."""
    size = _MESSAGE_BYTES + utf8_bytes(message.content)
    if message.name or message.metadata_json or message.turn:
        size += utf8_bytes(message.name) + utf8_bytes(message.metadata_json) + utf8_bytes(message.turn)
    for part in message.parts:
        size += _MESSAGE_BYTES + sum(map(utf8_bytes, [*part.texts, part.working_memory_id or ""]))
        size += _MESSAGE_BYTES * len(part.files)
    return size


def content_text(value: object, budget: CallBudget) -> str:
    """Return the text of a `content` value: a string as it is, null as "", an object or a list as JSON.

    Raises:
        EvaluationError: the value has another type, or is too large.
        CallBudgetExceeded: the call has used up its budget.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return JsonWriter(budget).text(value)
    raise EvaluationError(f"content must be a string, an object or a list (got {_type_name(value)})")


def metadata_json(value: object, writer: JsonWriter) -> str:
    """Return the JSON of an object; null gives an empty text.

    Raises:
        EvaluationError: the value has another type, or is too large.
        CallBudgetExceeded: the call has used up its budget.
    """
    if value is None:
        return ""
    if not isinstance(value, dict):
        raise EvaluationError(f"metadata must be an object (got {_type_name(value)})")
    return writer.text(value)


def parts(value: list[object], budget: CallBudget) -> tuple[Part, ...]:
    """Return the parts of a `parts` value: texts, and objects with a `type` and its `PART_FIELDS`.

    Other fields are ignored: nodes store parts as the API of a model returned them, with more fields than needed.

    Raises:
        EvaluationError: an element is neither a text nor such an object, an element lacks a field, or the parts are
            too large.
        CallBudgetExceeded: the call has used up its budget.
    """
    writer = JsonWriter(budget)  # one writer for all parts: they may contain the same large element a thousand times
    results = []
    for item in value:
        budget.charge(_PART_STEPS)
        results.append(_part(item, writer))
    return tuple(results)


def _part(value: object, writer: JsonWriter) -> Part:
    """Return the part that an element of a `parts` value describes: a string, or an object with a `type`.

    Raises:
        EvaluationError: the element is neither a string nor an object, has an unknown type, or lacks a field.
    """
    if isinstance(value, str):
        return Part(text=_text("a part", value, writer))
    if not isinstance(value, dict):
        raise EvaluationError(f"a part must be a string or an object (got {_type_name(value)})")
    common: dict[str, Any] = {
        "media_type": _text("media_type", value.get("media_type"), writer),
        "file_name": _text("file_name", value.get("file_name"), writer),
        "metadata_json": metadata_json(value.get("metadata"), writer),
    }
    match value.get("type", "text"):
        case "text":
            return Part(text=_text("text", _field(value, "text"), writer), **common)
        case "data":
            return Part(data_json=writer.text(_field(value, "data")), **common)
        case "record":
            working_memory_id = _text("working_memory_id", _field(value, "working_memory_id"), writer)
            return Part(working_memory_id=working_memory_id, **common)
        case "url":
            return Part(url=_text("url", _field(value, "url"), writer), **common)
        case "tool_call":
            call = ToolCall(
                id=_text("id", _field(value, "id"), writer),
                name=_text("name", _field(value, "name"), writer),
                arguments_json=writer.text(value.get("arguments", {})),
            )
            return Part(tool_call=call, **common)
        case "tool_result":
            result = ToolResult(
                tool_call_id=_text("tool_call_id", _field(value, "tool_call_id"), writer),
                content_json=writer.text(value.get("content")),
                is_error=value.get("is_error") is True,
            )
            return Part(tool_result=result, **common)
        case _:
            raise EvaluationError(f"a part's type must be one of {', '.join(PART_FIELDS)}")


def _field(value: Mapping[str, object], name: str) -> object:
    """Return a required field of a part.

    Raises:
        EvaluationError: the part does not have the field.
    """
    if name not in value:
        raise EvaluationError(f"a part of type {value.get('type', 'text')} must have {name}")
    return value[name]


def _text(what: str, value: object, writer: JsonWriter) -> str:
    """Return a value that must be a string or null, and charge its length to the budget; null gives an empty text.

    Raises:
        EvaluationError: the value has another type; the text begins with `what`, the name of the value.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise EvaluationError(f"{what} must be a string (got {_type_name(value)})")
    writer.charge_bytes(len(value))
    return value


def _type_name(value: object) -> str:
    """Return the type of a value with an article, for errors."""
    names = {bool: "a bool", dict: "an object", list: "a list", str: "a text", bytes: "bytes", float: "a number"}
    return names.get(type(value), "a number" if isinstance(value, int) else f"a {type(value).__name__.lower()}")
