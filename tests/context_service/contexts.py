"""Callers of the service Contexts, for its tests."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime
from typing import Any

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from contextkeep.context.v1 import context_windows_pb2 as windows_pb
from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1.context_windows_pb2_grpc import ContextWindowsStub
from contextkeep.context.v1.contexts_pb2_grpc import ContextsStub
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL
from tests.errors import raised

KEYS = {
    "runtime": replace(PRINCIPAL, scopes=frozenset({"read", "write", "delegate"})),
    "plain": replace(PRINCIPAL, scopes=frozenset({"read", "write"})),
    "ada": replace(PRINCIPAL, scopes=frozenset({"read", "write"}), user_id="ada"),
    "bob": replace(PRINCIPAL, scopes=frozenset({"read", "write"}), user_id="bob"),
    "admin": PRINCIPAL,
    "other": OTHER_PRINCIPAL,
    "app": replace(PRINCIPAL, app_ids=frozenset({"shop"})),
    "graph": replace(PRINCIPAL, graph_names=frozenset({"g"})),
}


class Caller:
    """Calls the stubs of Contexts and ContextWindows with one of `KEYS`."""

    def __init__(self, channel: grpc.aio.Channel, key: str = "plain") -> None:
        self.channel = channel
        self.stub, self.windows = ContextsStub(channel), ContextWindowsStub(channel)
        self.metadata = (("authorization", f"Bearer {key}"),)

    def of(self, key: str) -> Caller:
        return Caller(self.channel, key)

    async def call(self, name: str, **fields: Any) -> Any:
        module, stub = (pb, self.stub) if hasattr(self.stub, name) else (windows_pb, self.windows)
        request = getattr(module, f"{name}Request")(**fields)
        try:
            return await getattr(stub, name)(request, metadata=self.metadata, timeout=30)
        except grpc.aio.AioRpcError as error:
            raise raised(error) from None

    async def first(self, name: str, **fields: Any) -> Any:
        """Return the first answer of an RPC that streams."""
        request = getattr(pb, f"{name}Request")(**fields)
        try:
            async for answer in getattr(self.stub, name)(request, metadata=self.metadata, timeout=30):
                return answer
        except grpc.aio.AioRpcError as error:
            raise raised(error) from None

    async def send(self, content: str = "hello", context_id: str = "", **fields: Any) -> pb.SendMessageResponse:
        said = {name: fields.pop(name) for name in list(fields) if name in pb.MessageInput.DESCRIPTOR.fields_by_name}
        return await self.call(
            "SendMessage", context_id=context_id, message=pb.MessageInput(content=content, **said), **fields
        )

    async def append(self, context_id: str, *messages: pb.MessageInput, **fields: Any) -> pb.AppendMessagesResponse:
        return await self.call("AppendMessages", context_id=context_id, messages=messages, **fields)

    async def texts(self, context_id: str, **fields: Any) -> list[str]:
        answer = await self.call("ListMessages", context_id=context_id, **fields)
        return [one.content for one in answer.messages]


def an_id() -> str:
    return str(uuid.uuid4())


def at(time: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp
