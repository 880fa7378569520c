"""The door of the Python client: each RPC by its one method, where the method has an argument for all that is asked."""

from __future__ import annotations

import functools
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseError
from google.protobuf.message import Message

from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import ContextKeepError
from tests.contract.calls import Call, add, message_of
from tests.contract.methods import (
    NotTaken,
    arguments,
    collected,
    content_of,
    lacking,
    parameters,
    unlike,
)
from tests.contract.running import Stack
from tests.rpcs import Rpc

CLASSES = {"context": AsyncContextClient, "entity": AsyncEntityClient}


class Recorder:
    """A connection that keeps what goes over it."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.sent: list[Message] = []
        self.answers: list[Message] = []

    async def unary(self, rpc: str, request: Message, **settings: Any) -> Any:
        self.sent.append(type(request).FromString(request.SerializeToString()))
        answer = await self._connection.unary(rpc, request, **settings)
        self.answers.append(answer)
        return answer

    async def stream(self, rpc: str, request: Message, **settings: Any) -> AsyncGenerator[Any, None]:
        self.sent.append(type(request).FromString(request.SerializeToString()))
        async for answer in self._connection.stream(rpc, request, **settings):
            self.answers.append(answer)
            yield answer

    async def upload(self, rpc: str, messages: Any, **settings: Any) -> Any:
        async def kept() -> AsyncGenerator[Any, None]:
            async for message in messages:
                self.sent.append(message)
                yield message

        answer = await self._connection.upload(rpc, kept(), **settings)
        self.answers.append(answer)
        return answer

    def of(self, rpc: Rpc) -> list[Message]:
        """Return what was sent to an RPC: some methods ask another one first."""
        return [message for message in self.sent if isinstance(message, rpc.request)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def check_whole(call: Call) -> None:
    """Refuse calls of which no method does the same.

    Raises:
        NotTaken: it reads one page, and methods read all; it writes rows without ids twice, and methods give ids; it
            has more rows than one call takes, and methods make several; it is a dry run of an import with an id.
    """
    if "next_page_token" in call.rpc.response.DESCRIPTOR.fields_by_name and not call.size_field and not call.error:
        raise NotTaken("one page")
    if call.rpc.name == "WriteGraph" and (call.request.get("request_id") or len(call.request.get("nodes", [])) > 2000):
        raise NotTaken("rows without ids twice, or too many")
    if call.rpc.name == "ImportArchive" and {"dry_run", "import_id"} <= call.request[0].get("header", {}).keys():
        raise NotTaken("a dry run has no id")


def taken(call: Call, method: Any, messages: list[Any], file: str) -> dict[str, Any]:
    """Return the arguments with which a method makes a call.

    Args:
        call: The call.
        method: The method of its RPC.
        messages: Of its request.
        file: Where a method may write to.

    Raises:
        NotTaken: it has none for a field, or it reads more than the call does: all pages.
    """
    check_whole(call)
    given = {"path": file} if "path" in parameters(method) else {}
    return arguments(call.rpc, method, messages, given)


class AnyLetters(dict[str, Any]):
    """Something for every letter of a case that does not run."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return "a-key" if name == "blob" else "00000000-0000-7000-8000-000000000000"


@functools.cache
def _unconnected(process: str) -> Any:
    return CLASSES[process]("127.0.0.1:1", api_key="none")


def takes(call: Call) -> bool:
    """Return whether a method makes a call."""
    said = call.request if isinstance(call.request, list) else [call.request]
    try:
        messages = [message_of(call.rpc.request, _shortened(one), AnyLetters()) for one in said]
        taken(call, method_of(_unconnected(call.rpc.process), call.rpc), messages, "")
    except (NotTaken, ParseError):
        return False
    return True


def _shortened(said: Any) -> Any:
    """Return a request with one item of each list of plain values: a vector of 1,536 takes long to read."""
    match said:
        case dict():
            return {key: _shortened(one) for key, one in said.items()}
        case [dict() | list(), *_]:
            return [_shortened(one) for one in said]
        case list():
            return said[:1]
    return said


def method_of(client: Any, rpc: Rpc) -> Any:
    """Return the one method of an RPC."""
    return attrgetter(rpc.client)(client)


@dataclass(kw_only=True)
class PythonClient(Stack):
    """Both services, called by the methods of the client."""

    page_sizes = (1,)
    folder: Path

    def __post_init__(self) -> None:
        self._clients = {
            process: CLASSES[process](address, api_key="none", retries=0) for process, address in self.addresses.items()
        }

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()

    async def whole(self, call: Call, messages: list[Any], key: str) -> Any:
        if call.size_field == "limit":  # of a method it is that of the whole list
            messages[0].ClearField("limit")
        client = self._clients[call.rpc.process].with_credential(key)
        client._connection = recorder = Recorder(client._connection)
        method = method_of(client, call.rpc)
        try:
            given = taken(call, method, messages, str(self.folder / f"{uuid.uuid4()}"))
        except NotTaken:
            return await super().whole(call, messages, key)
        try:
            value = await collected(method(**given))
        except ContextKeepError as error:
            if not recorder.of(call.rpc):  # the client refused it; what the service says of it is asked, too
                assert error.reason == call.error, f"{call.rpc}: {error!r}"
                return await super().whole(call, messages, key)
            check_sent(messages, recorder.of(call.rpc))
            raise
        check_sent(messages, recorder.of(call.rpc))
        if call.error:  # the method stated a default that the call does not
            return await super().whole(call, messages, key)
        whole = call.rpc.response()
        answers = [answer for answer in recorder.answers if isinstance(answer, call.rpc.response)]
        for answer in answers:
            add(whole, answer)
        if "path" in given:
            (content,) = (value for _, value in whole.ListFields() if isinstance(value, bytes))
            assert Path(given["path"]).read_bytes() == content
            return whole
        wrong = unlike(value, answers, whole)
        assert not wrong, f"{call.rpc}: {wrong}"
        if call.size_field:
            whole.next_page_token = ""
        return whole


def check_sent(messages: list[Any], sent: list[Message]) -> None:
    """Fail where a method sent less than it was given arguments for, or something else; it may state defaults."""
    if sent:  # else it refused by itself
        wrong = lacking(sent[0], messages[0])
        assert not wrong, f"a method sent {sent[0]} without {wrong} of {messages[0]}"
        # What was sent before is not sent again.
        assert content_of(messages).endswith(content_of(sent))
