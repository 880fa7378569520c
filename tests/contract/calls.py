"""Cases that are calls: the form of `tests/cases/calls`, whose README explains it.

Requests and answers are the messages of the protos as YAML. This module turns one into the other by the protos'
descriptors, so a field that is added tomorrow can be used in a case tomorrow.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

from tests.case_files import BadCase
from tests.rpcs import Rpc, all_rpcs

RPCS = {rpc.name: rpc for rpc in all_rpcs()}
START = datetime(2026, 1, 1, tzinfo=UTC)
CALL_KEYS = {"as", "at_once", "eventually", "keep"}
ANSWER_KEYS = {"answer", "error", "fields", "metadata"}
NODE_KEYS = {"type", "general_type", "at", "data", "archived", "io"}
_TIME = "google.protobuf.Timestamp"
_MASK = "google.protobuf.FieldMask"
_SIZES = ("page_size", "limit")  # how many rows the caller of a list wants


class Call:
    """One call of a case."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.rpcs = [name for name in said if name in RPCS]
        if len(self.rpcs) != 1:
            raise BadCase(f"a call names one RPC: {said}")
        self.rpc: Rpc = RPCS[self.rpcs[0]]
        self.request: Any = said[self.rpc.name] or {}
        if unknown := said.keys() - CALL_KEYS - ANSWER_KEYS - {self.rpc.name}:
            raise BadCase(f"{self.rpc}: unknown keys {sorted(unknown)}")
        self.who: Any = said.get("as", {})
        self.times: int = said.get("at_once", 1)
        self.waits: bool = said.get("eventually", False)
        self.keep: dict[str, str] = said.get("keep", {})
        self.answer: Any = said.get("answer")
        self.error: str = said.get("error", "")
        self.fields: list[str] | None = said.get("fields")
        self.metadata: dict[str, Any] = said.get("metadata", {})
        if (self.error and "answer" in said) or (not self.error and said.keys() & {"fields", "metadata"}):
            raise BadCase(f"{self.rpc}: an answer or an error")

    @property
    def expects(self) -> bool:
        """Whether it could fail: calls that prepare others need not say what they answer."""
        return bool(self.error) or self.answer is not None

    @property
    def size_field(self) -> str:
        """Return the field that says how large a page is, if this call's pages are to be turned; else nothing."""
        if "next_page_token" not in self.rpc.response.DESCRIPTOR.fields_by_name or self.error:
            return ""
        if {"page_token", *_SIZES} & self.request.keys() or "next_page_token" in (self.answer or {}):
            return ""
        return next(name for name in _SIZES if name in self.rpc.request.DESCRIPTOR.fields_by_name)


def calls_of(case: dict[str, Any]) -> list[Call]:
    """Return the calls of a case.

    Raises:
        BadCase: one is not of the form, or none of them can fail.
    """
    made = [Call(said) for said in case["calls"]]
    if not any(call.expects for call in made):
        raise BadCase(f"{case['name']}: expects nothing of its calls")
    return made


def graph_request(case: dict[str, Any], letters: dict[str, Any]) -> dict[str, Any]:
    """Return the WriteGraph that makes a case's graph, and name its nodes in `letters`.

    Raises:
        BadCase: a node says what nodes do not have.
    """
    nodes = []
    for place, (letter, node) in enumerate(case.get("nodes", {}).items()):
        said = {key: value for key, value in node.items() if key not in NODE_KEYS}
        letters[letter] = said.setdefault("id", str(uuid.uuid4()))
        kind = node.get("type", "Node")
        nodes.append(
            {
                "general_type_name": node.get("general_type", kind),
                "specific_type_name": kind,
                "created_at": (START + timedelta(seconds=node.get("at", place))).isoformat(),
                "data_json": node.get("data", {}),
                **said,
            }
        )
    edges = []
    for place, (near, kind, far, *rest) in enumerate(case.get("edges", [])):
        letters[f"{near}-{kind}-{far}"] = edge_id = str(uuid.uuid4())
        edges.append(
            {
                "id": edge_id,
                "from_node_id": f"${near}",
                "edge_type": kind,
                "to_node_id": f"${far}",
                "data_json": rest[0] if rest else {},
                "created_at": (START + timedelta(seconds=1000 + place)).isoformat(),
            }
            | {"graph_name": case["nodes"][near].get("graph_name", "")}
        )
    return {"nodes": nodes, "edges": edges}


def message_of(kind: type[Message], said: Any, letters: Mapping[str, Any]) -> Any:
    """Return a request as a message."""
    return parsed(kind, named(said, letters))


def parsed(kind: type[Message], said: Any) -> Any:
    """Return a request in which no letters stand as a message."""
    return ParseDict(_parsable(kind.DESCRIPTOR, said), kind())


def _parsable(descriptor: Any, said: Any) -> Any:
    made = {}
    for name, value in said.items():
        field = descriptor.fields_by_name.get(name)
        if field is None:
            raise BadCase(f"{descriptor.name} has no {name}")
        if field.is_repeated and isinstance(value, list):
            made[name] = [_value(field, one) for one in value]
        else:
            made[name] = _value(field, value)
    return made


def _value(field: Any, value: Any) -> Any:
    if field.message_type is not None and field.message_type.full_name == _TIME:
        return value.isoformat() if isinstance(value, datetime) else value
    if field.message_type is not None and field.message_type.full_name == _MASK:
        return FieldMask(paths=value.split(",")).ToJsonString()
    if field.message_type is not None and not field.message_type.GetOptions().map_entry:
        return _parsable(field.message_type, value)
    if field.enum_type is not None and isinstance(value, str):
        return _prefix(field.enum_type) + value
    if field.type == field.TYPE_BYTES:
        line = value if isinstance(value, str | bytes) else json.dumps(value) + "\n"
        return base64.b64encode(line.encode() if isinstance(line, str) else line).decode()
    if field.name.endswith("_json") and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value


def _prefix(descriptor: Any) -> str:
    return str(descriptor.values[0].name).removesuffix("UNSPECIFIED")


def named(value: Any, letters: Mapping[str, Any]) -> Any:
    """Return a value with what stands for its letters, at any depth; `$$` begins a text with a dollar."""
    match value:
        case dict():
            return {key: named(one, letters) for key, one in value.items()}
        case list():
            return [named(one, letters) for one in value]
        case str() if value.startswith("$$"):
            return value[1:]
        case str() if value.startswith("$"):
            if value[1:] not in letters:
                raise BadCase(f"nothing is called {value}")
            return letters[value[1:]]
    return value


def add(whole: Any, message: Any) -> None:
    """Put a message of a stream, or a page of a list, behind those that came before; bytes are put together, too."""
    before = {
        field.name: getattr(whole, field.name) for field in whole.DESCRIPTOR.fields if field.type == field.TYPE_BYTES
    }
    whole.MergeFrom(message)
    for name, value in before.items():
        setattr(whole, name, value + getattr(message, name))


def plain(message: Message) -> dict[str, Any]:
    """Return a message as a case writes it: every field, enums by their short names, JSON as text still."""
    made: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            made[field.name] = dict(value)
        elif field.is_repeated:
            made[field.name] = [_plain(field, one) for one in value]
        elif field.has_presence and not message.HasField(field.name):
            made[field.name] = None
        else:
            made[field.name] = _plain(field, value)
    return made


def _plain(field: Any, value: Any) -> Any:
    if field.message_type is not None:
        if field.message_type.full_name == _TIME:
            return value.ToJsonString()
        return plain(value)
    if field.enum_type is not None:
        name = field.enum_type.values_by_number[value].name
        return name.removeprefix(_prefix(field.enum_type)).removesuffix("UNSPECIFIED")
    return value.decode() if field.type == field.TYPE_BYTES else value


def differences(found: Any, wanted: Any, at: str = "") -> list[str]:
    """Return where an answer is not what a case expects of it.

    Of a message the fields that the case names count, of a list every element, of JSON all of it. `any` stands for
    a value that is there. Numbers are the same by value, but no number is a truth value.
    """
    name = at.rsplit(".", 1)[-1].split("[")[0]
    if wanted == "any":
        return [] if found not in (None, "", [], {}, 0) else [f"{at} is empty"]
    if name.endswith("_json") and not isinstance(wanted, str) and not isinstance(found, list):
        if not found:
            return [f"{at} is empty"]
        value = json.loads(found)
        return [] if same(value, wanted) else [f"{at} is {found}, not {json.dumps(wanted, ensure_ascii=False)}"]
    if isinstance(wanted, dict) and isinstance(found, dict):
        if unknown := wanted.keys() - found.keys():
            return [f"{at or 'the answer'} has no {sorted(unknown)}"]
        return [one for key in wanted for one in differences(found[key], wanted[key], f"{at}.{key}" if at else key)]
    if isinstance(wanted, list) and isinstance(found, list):
        if len(found) != len(wanted):
            return [f"{at} has {len(found)} elements, not {len(wanted)}: {found}"]
        pairs = enumerate(zip(found, wanted, strict=True))
        return [one for place, (here, there) in pairs for one in differences(here, there, f"{at}[{place}]")]
    if isinstance(found, float) and isinstance(wanted, float):
        return [] if abs(found - wanted) < 1e-4 else [f"{at} is {found}, not {wanted}"]
    return [] if same(found, wanted) else [f"{at} is {found!r}, not {wanted!r}"]


def same(found: Any, wanted: Any) -> bool:
    """Return whether two JSON values are equal, `true` being no 1."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(same(found[key], wanted[key]) for key in wanted)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(same(*pair) for pair in zip(found, wanted, strict=True))
    return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)


def at_path(answer: Any, path: str) -> Any:
    """Return what stands at a path such as `nodes.0.id`."""
    for step in path.split("."):
        answer = answer[int(step)] if isinstance(answer, list) else answer[step]
    return answer
