"""Requests for methods of clients. Each field of each RPC is in one: those of the cases, and of the rest one each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.json_format import ParseError
from google.protobuf.message import Message

from tests.case_files import cases
from tests.contract.calls import RPCS, calls_of, message_of
from tests.contract.methods import IDS, NotTaken
from tests.contract.python_client import AnyLetters, check_whole
from tests.rpcs import Rpc

ID = "00000000-0000-7000-8000-000000000000"
_TIME = "google.protobuf.Timestamp"
_MASK = "google.protobuf.FieldMask"
_DEPTH_MAX = 4  # parts hold tool results, which hold JSON: nothing is deeper
# Where a list or a stream goes on: methods say it by themselves.
_PLACES = {"page_token", "page_size", "resume_token", "offset_bytes", "lines_before"}
# A node, or a blob, has one name.
_NAMES = {
    "external_id": ("node_id", "entity_node_id", "root_node_id"),
    "graph_name": ("node_id", "entity_node_id", "root_node_id"),
    "blob_key": ("working_memory_id",),
    "working_memory_id": ("blob_key",),
}
# Messages of which no field is left out.
_WHOLE = {"ExternalId", "TraversePosition", "ToolCall", "ToolResult", "Reasoning", "StateEntryName", "EdgeInput"}
# Fields that the service sets, in messages that are in requests, too.
_ANSWERED = {"File": {"sha256", "size_bytes", "width", "height", "page_count", "duration_seconds"}}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A call that is not made."""

    rpc: Rpc
    messages: list[Any]
    path: str = ""  # of the field that it is about, such as "SendMessage.message.parts.text"; empty: of a case


def requests(takes: Callable[[Asked], bool] = lambda asked: True) -> list[Asked]:
    """Return the requests of cases that are answered, then one for each field that none of them sets, on top of one.

    Args:
        takes: Whether a method takes the request of a case. The fields of others count as not set.
    """
    found, refused = [], {}
    for one in cases("calls", keys={"nodes", "edges"}, answers={"calls"}, needed={"contract"}):
        for call in calls_of(one.values[0]):
            said = call.request if isinstance(call.request, list) else [call.request]
            try:
                messages = [message_of(call.rpc.request, each, AnyLetters()) for each in said]
            except ParseError:  # a letter stands for a time, or a number
                continue
            if call.error:
                refused[call.rpc.name] = messages[0]
                continue
            with contextlib.suppress(NotTaken):
                check_whole(call)
                found.append(Asked(rpc=call.rpc, messages=messages))
    seen = {path for one in found if takes(one) for message in one.messages for path in _paths(message)}
    bases = refused | {one.rpc.name: one.messages[0] for one in reversed(found)}
    for rpc in RPCS.values():
        base = _plainest(bases[rpc.name])
        found += [
            Asked(rpc=rpc, messages=[message], path=f"{rpc}.{path}")
            for path, message in _each_field(base, ())
            if f"{base.DESCRIPTOR.name}.{path}" not in seen
        ]
    return found


def _plainest(message: Any) -> Any:
    """Return a request without what depends on others of its fields: places to go on at, and sizes of contents."""
    made = type(message)()
    made.CopyFrom(message)
    for name in ("resume_token", "page_token"):
        if name in made.DESCRIPTOR.fields_by_name:
            made.ClearField(name)
    if "header" in made.DESCRIPTOR.fields_by_name and "size_bytes" in made.header.DESCRIPTOR.fields_by_name:
        made.header.ClearField("size_bytes")
    return made


def _paths(message: Message, at: str = "") -> Iterator[str]:
    at = at or message.DESCRIPTOR.name
    for field, value in message.ListFields():
        yield f"{at}.{field.name}"
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for one in value if field.is_repeated else [value]:
                yield from _paths(one, f"{at}.{field.name}")


def _each_field(base: Any, steps: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield each path to a field of a message with a copy of it where that field is set."""
    for field in _inner(_copy(base), steps).DESCRIPTOR.fields:
        of, there = field.message_type, (*steps, field.name)
        if of is not None and (of.full_name == _MASK or of.GetOptions().map_entry):
            continue
        if of is not None and of.full_name != _TIME:
            if len(steps) < _DEPTH_MAX:
                yield from _each_field(base, there)
        elif field.name not in _PLACES | _ANSWERED.get(field.containing_type.name, set()):
            yield ".".join(there), _with(base, steps, field)


def _with(base: Any, steps: tuple[str, ...], field: Any) -> Any:
    """Return a copy of a request with one field more."""
    made = _copy(base)
    owner = _inner(made, steps)
    if field.name in ("external_id", "graph_name") and "external_id" in owner.DESCRIPTOR.fields_by_name:
        owner.external_id = "x"  # the graph is where it is looked up
    for name in [one.name for one, _ in owner.ListFields() if one.name in _NAMES.get(field.name, ())]:
        owner.ClearField(name)
    if owner.DESCRIPTOR.name in _WHOLE:
        for one in owner.DESCRIPTOR.fields:
            _set(owner, one)
    if owner.DESCRIPTOR.name == "Part" and not owner.WhichOneof("content"):
        owner.text = "x"
    if owner.DESCRIPTOR.name == "File" and not owner.WhichOneof("source"):
        owner.url = "https://example.com"
        if steps[-2:] == ("tool_result", "files"):
            _inner(made, steps[:-1]).tool_call_id = "x"
    _set(owner, field)
    if "update_mask" in made.DESCRIPTOR.fields_by_name and steps:
        changed = getattr(made, steps[0])
        path = (*steps, field.name)[1]
        for name in [field.name for field, _ in changed.ListFields()]:
            if name not in (*IDS, path):
                changed.ClearField(name)
        made.update_mask.paths[:] = [path]
    return made


def _copy(base: Any) -> Any:
    made = type(base)()
    made.CopyFrom(base)
    return made


def _inner(message: Any, steps: tuple[str, ...]) -> Any:
    """Return the message at the end of some steps, of each list its first; what is not there is made."""
    for step in steps:
        value = getattr(message, step)
        if hasattr(value, "add"):
            message = value[0] if len(value) else value.add()
        else:
            value.SetInParent()
            message = value
    return message


def _set(owner: Any, field: Any) -> None:
    value = getattr(owner, field.name)
    if field.message_type is not None and field.message_type.full_name == _TIME:
        value.FromSeconds(1_800_000_000)
    elif field.message_type is None and field.is_repeated:
        value[:] = [_scalar(field)]
    elif field.message_type is None:
        setattr(owner, field.name, _scalar(field))


def _scalar(field: Any) -> Any:
    if field.enum_type is not None:
        return field.enum_type.values[-1].number
    if field.type == field.TYPE_BYTES:
        return b"x"
    if field.type == field.TYPE_BOOL:
        return True
    if field.type != field.TYPE_STRING:
        return 1
    if field.name.endswith("_json"):
        return '[{"n": 1}]' if field.name == "tools_json" else '{"n": 1}'
    return ID if field.name.endswith(("_id", "_ids")) else "x"
