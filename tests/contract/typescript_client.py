"""The door of the TypeScript client: a process of Node calls the one method of each RPC, for all cases.

Its methods name their arguments as Python's do, in camelCase, and take the others as options. Nothing tells at run time
which options a method has, so it gets all that the request says, and what it then sent says what it took.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
from dataclasses import dataclass, field
from typing import Any, Self

from google.protobuf.message import Message

from contextkeep.errors import ContextKeepError, FieldViolation, error_classes
from tests.contract.calls import Call, add
from tests.contract.methods import ALIASES, NotTaken, content_of, lacking, parsed, short, unlike
from tests.contract.python_client import check_whole
from tests.contract.running import Stack
from tests.rpcs import Rpc

_LINE_BYTES_MAX = 64 * 1024 * 1024
# The methods that have other names than Python's.
_METHODS = {"StreamChatHistory": "history.get", "ImportGraph": "graph.import"}
# Arguments that have other names than in the request and in Python.
_NAMES = {"arguments_json": "tool_arguments"}
_CLASSES = {error.reason: error for error in error_classes()}


def _bytes_of(value: dict[str, Any]) -> Any:
    return base64.b64decode(value["$bytes"]) if "$bytes" in value else value


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)


def said(message: Message, at: str, *, is_element: bool = False) -> dict[str, Any]:
    """Return what a request says by all names that an argument or an option may have.

    Args:
        message: The request, or one in it.
        at: Where, such as "PutAgent.agent".
        is_element: It is one of a list: what it holds has no names further out.
    """
    found: dict[str, Any] = {}
    for of, value in message.ListFields():
        path = f"{at}.{of.name}"
        values = [_said(of, one, path, True) for one in value] if of.is_repeated else _said(of, value, path, is_element)
        names = [
            camel(of.name),
            *(camel(alias) for known, alias in ALIASES.items() if f".{path}".endswith(f".{known}")),
        ]
        found |= dict.fromkeys(names, values)
        if of.name.endswith("_json"):
            with contextlib.suppress(NotTaken):
                value_names = (of.name.removesuffix("_json"), _NAMES.get(of.name, of.name.removesuffix("_json")))
                found |= dict.fromkeys(map(camel, value_names), parsed(value))
                if path.endswith("record.content_json"):
                    del found["contentJson"]  # it is given once
        if of.message_type is not None and not of.is_repeated and isinstance(values, dict) and not is_element:
            found = values | found
        if path == "ReportResponse.pack_id":
            found["pack"] = {"packId": value}
    if at.count(".") == 0 and (name := message_name(message)):
        found |= {"blob": name, "record": name}
    for of in message.DESCRIPTOR.fields:
        if "update_mask" in message.DESCRIPTOR.fields_by_name and of.message_type is not None:
            found |= _changes(of, message, found)
    return found


def message_name(message: Message) -> str:
    """Return how a request names a blob."""
    names = ("working_memory_id", "blob_key")
    return next((str(value) for of, value in message.ListFields() if of.name in names), "")


def _changes(of: Any, message: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Return what an update changes to nothing, beside the other options and in the message that holds it."""
    within = getattr(message, of.name)
    is_set = {field.name for field, _ in within.ListFields()}
    paths = [path for path in message.update_mask.paths if path in of.message_type.fields_by_name]
    nothing = {camel(path.removesuffix("_json")): {"$unset": True} for path in paths if path not in is_set}
    return {**nothing, camel(of.name): nothing | found.get(camel(of.name), {})} if paths else {}


def _said(of: Any, value: Any, path: str, is_element: bool) -> Any:
    if of.message_type is not None and of.message_type.full_name == "google.protobuf.Timestamp":
        return value.ToJsonString()
    if of.message_type is not None and of.message_type.GetOptions().map_entry:
        return dict(value)
    if of.message_type is not None:
        return said(value, path, is_element=is_element)
    if of.enum_type is not None:
        return short(of.enum_type, value)
    return {"$bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


@dataclass(kw_only=True)
class TypeScriptClient(Stack):
    """Both services, called by the methods of the client."""

    page_sizes = (1,)
    command: tuple[str, ...]  # that starts it
    held: set[tuple[str, str]] = field(default_factory=set)  # RPCs that answered, or refused, by their methods
    untaken: list[str] = field(default_factory=list)  # what other calls lacked

    async def __aenter__(self) -> Self:
        addresses = (self.addresses["context"], self.addresses["entity"])
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *self.command, *addresses, stdin=pipe, stdout=pipe, limit=_LINE_BYTES_MAX
        )
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._reading
        await self._process.wait()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            answer = json.loads(line, object_hook=_bytes_of)
            self._waiting.pop(answer["id"]).set_result(answer)
        for waiting in self._waiting.values():
            waiting.cancel()

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        request["id"] = number = next(self._ids)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps(request, allow_nan=False).encode() + b"\n")
        return await self._waiting[number]

    async def sent(self, rpc: Rpc, messages: list[Any]) -> Any:
        """Return the first message that a method would send to its RPC, or its error instead of one."""
        probed = await self._ask(self._request(rpc, messages, "") | {"probe": True})
        sent = [base64.b64decode(text) for name, text in probed["sent"] if name == rpc.request.DESCRIPTOR.name]
        return rpc.request.FromString(sent[0]) if sent else probed.get("error") or probed.get("failed")

    async def whole(self, call: Call, messages: list[Any], key: str) -> Any:
        if call.size_field == "limit":  # of a method it is that of the whole list
            messages[0].ClearField("limit")
        try:
            check_whole(call)
            request = self._request(call.rpc, messages, key)
            first = await self.sent(call.rpc, messages)
        except (NotTaken, ValueError) as error:
            return await self._otherwise(call, messages, key, str(error))
        if not isinstance(first, call.rpc.request):
            return await self._otherwise(call, messages, key, f"nothing sent: {first}")
        if wrong := lacking(first, messages[0]):
            return await self._otherwise(call, messages, key, f"without {wrong}")
        if call.error and any(
            of.is_repeated and of.name in lacking(messages[0], first) for of, _ in first.ListFields()
        ):
            return await self._otherwise(call, messages, key, "an argument cannot be left out")
        told = await self._ask(request)
        if error := told.get("error"):
            self.held.add((call.rpc.name, "refusal"))
            violations = [FieldViolation(**one) for one in error["violations"]]
            raised: ContextKeepError = _CLASSES[error["reason"]](error["message"], violations=violations)
            raised.metadata.update(error["metadata"])
            assert error["name"] == type(raised).__name__
            raise raised
        assert "failed" not in told, f"{call.rpc}: {told}"
        if call.error:
            return await self._otherwise(call, messages, key, "it states a default")
        whole = call.rpc.response()
        answers = [
            call.rpc.response.FromString(base64.b64decode(text))
            for name, text in told["answers"]
            if name == call.rpc.response.DESCRIPTOR.name
        ]
        for answer in answers:
            add(whole, answer)
        wrong_value = unlike(told.get("value"), answers, whole)
        assert not wrong_value, f"{call.rpc}: {wrong_value}"
        self.held.add((call.rpc.name, "answer"))
        if call.size_field:
            whole.next_page_token = ""
        return whole

    def _request(self, rpc: Rpc, messages: list[Any], key: str) -> dict[str, Any]:
        noun, verb = _METHODS.get(rpc.name, rpc.client).split(".")
        request = {"service": rpc.process, "noun": camel(noun), "verb": camel(verb), "key": key}
        if rpc.client_streaming:
            request["content"] = base64.b64encode(content_of(messages)).decode()
            return request | {"fields": said(messages[0].header, rpc.name)}
        return request | {"fields": said(messages[0], rpc.name)}

    async def _otherwise(self, call: Call, messages: list[Any], key: str, why: str) -> Any:
        self.untaken.append(f"{call.rpc}{' refusal' if call.error else ''}: {why}")
        return await super().whole(call, messages, key)
