"""What the one method of an RPC takes for a request, and whether what it returns is what was answered.

A method of the Python client has an argument for each field of its RPC: of the same name, without `_json` where it
takes the value itself, or of the class that the argument names. The fields of a message that is no argument are
arguments themselves. `ALIASES` has the few other names.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, get_args, get_type_hints

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

import contextkeep
from contextkeep.context.v1.context_windows_pb2 import PackResponse
from tests.rpcs import Rpc

_TIME = "google.protobuf.Timestamp"
_MASK = "google.protobuf.FieldMask"

# The fields of requests whose arguments have other names.
ALIASES = {
    "AppendMessages.messages": "new_messages",
    "OpenWindow.format": "message_format",
    "PatchState.set": "entries",
    "ReportResponse.pack_id": "pack",
    "Traverse.start_node_ids": "start",
    "WaitForIndex.timeout_s": "wait_s",
    "CreateTask.task.status.message": "status_message",
    "UpdateTask.task.status.message": "status_message",
    "PutKnowledgeBase.knowledge_base.bedrock.knowledge_base_id": "bedrock_id",
    "PutKnowledgeBase.knowledge_base.bedrock.region": "bedrock_region",
    "UpdateProviderSetting.setting.memory.query_mode": "memory_mode",
    "UpdateWMRecord.record.working_memory_id": "working_memory_id",
    "providers.ids": "provider_ids",
    "provider_options.memory.query_mode": "memory_mode",
}
# Of a request that names a blob by its record or by its key.
_BLOB = {"working_memory_id", "blob_key"}
IDS = {"working_memory_id"}  # of what is changed, within the message that says how
# Fields that a method sets by itself because of another argument: with a plan it applies it, and it counts the bytes.
_SAID_BY_ANOTHER: dict[str, Callable[[Sequence[Any]], bool]] = {
    "ConsolidateMemories.apply": lambda messages: bool(messages[0].plan),
    "UploadBlob.header.size_bytes": lambda messages: messages[0].header.size_bytes == len(content_of(messages)),
}
_MADE: dict[str, Callable[[Any], Any]] = {
    "ReportResponse.pack_id": lambda pack_id: contextkeep.Pack.from_proto(PackResponse(pack_id=pack_id)),
}


class NotTaken(Exception):
    """A method has no argument for a field that a request sets."""


def parameters(method: Callable[..., Any]) -> dict[str, str]:
    """Return the annotation of each argument by its name; those of a `TypedDict` are arguments themselves."""
    return _parameters(getattr(method, "__func__", method))


@functools.cache
def _parameters(function: Callable[..., Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            annotations = inspect.get_annotations(inspect.unwrap(function), eval_str=True)
            (fields,) = get_args(annotations[parameter.name])
            found |= {name: str(kind) for name, kind in get_type_hints(fields).items()}
        else:
            found[parameter.name] = str(parameter.annotation)
    return found


@functools.cache
def _required(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.default is one.empty and one.kind not in kinds and one.name != "self"]


def arguments(
    rpc: Rpc, method: Callable[..., Any], messages: Sequence[Message], given: dict[str, Any]
) -> dict[str, Any]:
    """Return `given` with the arguments with which a method sends the messages of a request.

    Raises:
        NotTaken: it has none for a field.
    """
    taken, request = parameters(method), messages[0]
    paths: set[str] | None = None
    if "update_mask" in request.DESCRIPTOR.fields_by_name:
        paths = set(request.update_mask.paths)  # type: ignore[attr-defined]
    said = {path for path, is_so in _SAID_BY_ANOTHER.items() if path.startswith(f"{rpc}.") and is_so(messages)}
    if rpc.client_streaming:
        given["source" if "source" in taken else "part"] = content_of(messages)
        if not request.HasField("header"):
            raise NotTaken("it begins with no header")
    _fill(given, taken, request, str(rpc), paths, said)
    if paths:
        raise NotTaken(f"{rpc}.update_mask: {paths}")
    for name in _required(getattr(method, "__func__", method)):
        if name not in given:
            given[name] = _default(request.DESCRIPTOR, name)
    return given


def _default(descriptor: Any, name: str) -> Any:
    """Return what a field holds that a request does not set, for an argument that a method must have."""
    for field in descriptor.fields:
        if field.name == name and field.message_type is None:
            return "" if field.enum_type is not None else [] if field.is_repeated else field.default_value
        if field.message_type is not None and not field.is_repeated:
            with contextlib.suppress(NotTaken):
                return _default(field.message_type, name)
    raise NotTaken(f"{name} is required")


def content_of(messages: Iterable[Message]) -> bytes:
    """Return the bytes of a stream."""
    return b"".join(value for message in messages for _, value in message.ListFields() if isinstance(value, bytes))


def _fill(
    given: dict[str, Any],
    taken: Mapping[str, str],
    message: Message,
    at: str,
    paths: set[str] | None = None,
    said: Collection[str] = (),
) -> None:
    """Add the arguments for the fields of a message, which is at `at`.

    Args:
        given: The arguments.
        taken: The annotations of those that there are.
        message: Of the request, or in it.
        at: Where, such as "PutAgent.agent".
        paths: What an update changes; each is taken out as it is added. None: the request is no update.
        said: The paths that other arguments say.
    """
    names = {field.name for field, _ in message.ListFields()}
    is_changed = paths is not None and at.count(".") == 1 and not IDS & set(at.split("."))
    for field in message.DESCRIPTOR.fields:
        path, value, is_set = f"{at}.{field.name}", getattr(message, field.name), field.name in names
        if is_changed and paths is not None and (is_set or field.name in paths) and field.name not in IDS:
            if field.name not in paths:
                raise NotTaken(f"{path} is not in the mask")
            paths.discard(field.name)
            is_set = is_set or bool(name := _name(path, taken))
        holds_changed = at.count(".") == 0 and paths and _holds(field, paths)
        if not (is_set or holds_changed) or field.name == "update_mask" or path in said:
            continue
        name = _name(path, taken)
        if name is not None:
            is_cleared = field.name not in names and not field.is_repeated
            given[name] = None if is_cleared else _value(field, value, taken[name], name)
            if path in _MADE:
                given[name] = _MADE[path](value)
        elif (
            field.message_type is not None
            and not field.is_repeated
            and (value.ListFields() or holds_changed or field.name == "header")
        ):
            _fill(given, taken, value, path, paths, said)
        else:
            raise NotTaken(path)


def _holds(field: Any, paths: set[str]) -> bool:
    """Return whether a field is the message of which a mask names the fields."""
    of = field.message_type
    return of is not None and of.full_name != _MASK and not field.is_repeated and paths <= set(of.fields_by_name)


def _name(path: str, taken: Mapping[str, str]) -> str | None:
    field = path.partition(".")[2]
    last = field.rpartition(".")[2]
    aliases = [alias for known, alias in ALIASES.items() if path == known or path.endswith(f".{known}")]
    names = [*aliases, last, last.removesuffix("_json"), *(["blob"] if field in _BLOB else [])]
    return next((name for name in names if name in taken), None)


def _value(field: Any, value: Any, annotation: str, name: str) -> Any:
    if field.is_repeated:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            return dict(value)
        return [_single(field, one, annotation, name) for one in value]
    return _single(field, value, annotation, name)


def _single(field: Any, value: Any, annotation: str, name: str) -> Any:
    if field.message_type is not None and field.message_type.full_name == _TIME:
        return value.ToDatetime(UTC)
    if field.message_type is not None:
        made = next((made for made in map(_class, re.findall(r"\w+", annotation)) if made is not None), None)
        if made is not None:
            given: dict[str, Any] = {}
            _fill(given, parameters(made), value, made.__name__)
            try:
                return made(**given)
            except TypeError as error:
                raise NotTaken(str(error)) from None
        if "Mapping[" in annotation:
            return _plain(value)
        raise NotTaken(f"{field.name}: {annotation}")
    if field.enum_type is not None and value not in field.enum_type.values_by_number:
        raise NotTaken(f"{field.name} {value}")
    if field.enum_type is not None:
        return short(field.enum_type, value)
    if field.name.endswith("_json") and not name.endswith("_json"):
        return parsed(value)
    return value


def parsed(text: str) -> Any:
    """Return a JSON value as an argument holds it.

    Raises:
        NotTaken: it is null, or has a number that no float is.
    """
    with contextlib.suppress(ValueError):
        value = json.loads(text)
        if value is not None and value == json.loads(text, parse_float=Decimal):
            return value
    raise NotTaken(text)


def _class(name: str) -> Any:
    found = getattr(contextkeep, name, None)
    return found if isinstance(found, type) and dataclasses.is_dataclass(found) else None


def _plain(message: Message) -> dict[str, Any]:
    """Return a message as a dict: enums as words, as methods that take rules want them."""
    made = MessageToDict(message, preserving_proto_field_name=True, use_integers_for_enums=True)
    return _worded(message, made)


def _worded(message: Message, made: dict[str, Any]) -> dict[str, Any]:
    for field, value in message.ListFields():
        if field.enum_type is not None:
            made[field.name] = short(field.enum_type, value)
        elif field.message_type is not None and field.is_repeated and not field.message_type.GetOptions().map_entry:
            for one, of in zip(value, made[field.name], strict=True):
                _worded(one, of)
    return made


def short(enum: Any, number: int) -> str:
    """Return the word of an enum's value: "openai" of `MESSAGE_FORMAT_OPENAI`."""
    name = enum.values_by_number[number].name if number in enum.values_by_number else ""
    return str(name).removeprefix(enum.values[0].name.removesuffix("UNSPECIFIED")).removesuffix("UNSPECIFIED").lower()


def unlike(value: Any, answers: list[Message], whole: Message) -> str:
    """Return how the value of a method differs from what was answered; empty: it does not.

    Args:
        value: What a method returned, or the list of what it yielded.
        answers: The messages that it received.
        whole: All of them in one.
    """
    if value is None:
        return ""
    if isinstance(value, list) and value and all(isinstance(chunk, bytes) for chunk in value):
        value = b"".join(value)
    if isinstance(value, list | tuple) and not _attributes(value):
        rows = [row for answer in answers for row in _rows(answer)]
        for found in (rows, answers):
            if len(found) == len(value):
                wrong = [one for one in map(_unlike, value, found) if one]
                return "; ".join(wrong)
        return f"{len(value)} values for {len(rows)} rows in {len(answers)} answers"
    return _unlike(value, whole)


def _rows(answer: Message) -> list[Any]:
    lists = [getattr(answer, field.name) for field in answer.DESCRIPTOR.fields if field.is_repeated]
    return list(lists[0]) if lists else []


def _unlike(value: Any, answer: Any) -> str:
    """Return how a value differs from the message, or from the field of it, that it shows most of."""
    if not isinstance(answer, Message):
        return "" if _same(None, value, answer) else f"{value!r} is not {answer!r}"
    fields = [getattr(answer, field.name) for field in answer.DESCRIPTOR.fields]
    if not _attributes(value):
        kinds = zip(answer.DESCRIPTOR.fields, fields, strict=True)
        return "" if any(_same(field, value, one) for field, one in kinds) else f"{value!r} is not in {answer}"
    messages = [answer, *(one for one in fields if isinstance(one, Message))]
    nearest = max(messages, key=lambda one: len(_shared(value, one)))
    if not _shared(value, nearest):
        if any(_same(field, value, getattr(answer, field.name)) for field in _json_fields(answer)):
            return ""
        return f"{type(value).__name__} shows nothing of {answer.DESCRIPTOR.name}"
    wrong = [
        field.name
        for field in _shared(value, nearest)
        if not _same(field, _get(value, field.name), getattr(nearest, field.name))
    ]
    return f"{type(value).__name__}: {wrong} differ from {nearest}" if wrong else ""


def _attributes(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [_snake(name) for name in value]
    if dataclasses.is_dataclass(value):
        return [field.name for field in dataclasses.fields(value)]
    return list(getattr(value, "_fields", ()))


def _snake(name: str) -> str:
    return re.sub(r"([A-Z])", r"_\1", name).lower()


def _get(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {_snake(key): one for key, one in value.items()}.get(name)
    return getattr(value, name, None)


def _json_fields(message: Message) -> list[Any]:
    return [field for field in message.DESCRIPTOR.fields if field.name.endswith("_json") and not field.is_repeated]


def _shared(value: Any, message: Message) -> list[Any]:
    names = _attributes(value)
    return [field for field in message.DESCRIPTOR.fields if field.name in names]


def _same(field: Any, value: Any, of: Any) -> bool:
    """Return whether an attribute holds what a field does. What has other names inside is not looked into."""
    if isinstance(of, Message):
        if of.DESCRIPTOR.full_name == _TIME:
            value = datetime.fromisoformat(value) if isinstance(value, str) and value else value or None
            return value == (of.ToDatetime(UTC) if of.ByteSize() else None) or value == of.ToDatetime(UTC)
        return value is None or not _shared(value, of) or not _unlike(value, of)
    if field is not None and field.is_repeated:
        if isinstance(value, Mapping):
            return len(value) == len(of)
        return len(value) == len(of) and all(
            _same(None, left, right) for left, right in zip(value, of, strict=True) if field.enum_type is None
        )
    if field is not None and field.enum_type is not None:
        return value is None or value.lower() in (short(field.enum_type, of), "unknown")
    if value is None:
        return not of
    if field is not None and field.name.endswith("_json") and isinstance(of, str) and not isinstance(value, str):
        return bool(value == json.loads(of))
    return bool(value == of or (field is not None and _get(value, field.name) == of))


def lacking(sent: Message, wanted: Message, at: str = "") -> list[str]:
    """Return the fields of a message that another one lacks.

    JSON texts are compared by value, masks without their order, and times in microseconds, as clients have them.
    """
    if wanted.DESCRIPTOR.full_name == "google.protobuf.FieldMask":
        return [] if set(sent.paths) == set(wanted.paths) else [f"{at}paths"]
    wrong: list[str] = []
    for field, value in wanted.ListFields():
        found, here = getattr(sent, field.name), f"{at}{field.name}"
        pairs = list(zip(found, value, strict=False)) if field.is_repeated else [(found, value)]
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            wrong += [] if found == value else [here]
        elif (field.is_repeated and len(found) != len(value)) or (field.has_presence and not sent.HasField(field.name)):
            wrong.append(here)
        elif field.message_type is not None:
            wrong += [one for left, right in pairs for one in lacking(left, right, f"{here}.")]
        elif field.name.endswith("_json"):
            wrong += [here for left, right in pairs if loaded(left) != loaded(right)]
        elif field.full_name == "google.protobuf.Timestamp.nanos":
            wrong += [here] if found // 1_000 != value // 1_000 else []
        else:
            wrong += [here for left, right in pairs if left != right and not is_nan(right)]
    return wrong


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


async def collected(result: Any) -> Any:
    """Return what a method returns; of one that yields, the list of it."""
    value = result if inspect.isasyncgen(result) else await result
    return [one async for one in value] if hasattr(value, "__aiter__") else value
