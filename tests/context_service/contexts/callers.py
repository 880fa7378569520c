"""Callers of the service Contexts, for its tests."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.timestamp_pb2 import Timestamp

from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1.message_pb2 import MessageInput
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database
from service_runtime.rpc.principal import ApiKeys
from tests.calling import AnyRpc
from tests.clients.stack import running
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL, Addresses, Urls, cloned
from tests.fakes.embedding_server import EmbeddingServer, embedding_server

KEYS = {
    "runtime": replace(PRINCIPAL, scopes=frozenset({"read", "write", "delegate"})),
    "plain": replace(PRINCIPAL, scopes=frozenset({"read", "write"})),
    "ada": replace(PRINCIPAL, scopes=frozenset({"read", "write"}), user_id="ada"),
    "bob": replace(PRINCIPAL, scopes=frozenset({"read", "write"}), user_id="bob"),
    "admin": PRINCIPAL,
    "reviewer": replace(PRINCIPAL, scopes=frozenset({"read", "write"}), agent_id="reviewer"),
    "other": OTHER_PRINCIPAL,
    "app": replace(PRINCIPAL, app_ids=frozenset({"shop"})),
    "graph": replace(PRINCIPAL, graph_names=frozenset({"g"})),
    "context": replace(PRINCIPAL, context_id=uuid.UUID(int=7)),
}


class Caller(AnyRpc):
    """Calls with one of `KEYS`."""

    def __init__(self, channel: grpc.aio.Channel, key: str = "plain") -> None:
        super().__init__(channel, key=key)

    def of(self, key: str) -> Caller:
        return Caller(self.channel, key)

    async def call(self, name: str, /, **fields: Any) -> Any:
        return await getattr(self, name)(**fields)

    async def send(self, content: str = "hello", context_id: str = "", **fields: Any) -> pb.SendMessageResponse:
        said = {name: fields.pop(name) for name in list(fields) if name in MessageInput.DESCRIPTOR.fields_by_name}
        return await self.call(
            "SendMessage", context_id=context_id, message=MessageInput(content=content, **said), **fields
        )

    async def append(self, context_id: str, *messages: MessageInput, **fields: Any) -> pb.AppendMessagesResponse:
        return await self.call("AppendMessages", context_id=context_id, messages=messages, **fields)

    async def texts(self, context_id: str, **fields: Any) -> list[str]:
        answer = await self.call("ListMessages", context_id=context_id, **fields)
        return [one.content for one in answer.messages]


@dataclass(frozen=True, kw_only=True)
class Opened:
    """Both services, which know `KEYS`, and their database."""

    caller: Caller
    database: Database
    urls: Urls
    addresses: Addresses


@asynccontextmanager
async def opened(postgres: EmbeddedPostgres, folder: Path, **settings: Any) -> AsyncIterator[Opened]:
    """Run services for the block, on a database of their own.

    Args:
        postgres: Where that is.
        folder: Of blobs.
        **settings: Of the Context Service.
    """
    with cloned(postgres) as urls:
        async with (
            running(urls.service, folder, callers=ApiKeys(KEYS), **settings) as addresses,
            grpc.aio.insecure_channel(addresses.context) as channel,
            Database.open(urls.service, connections_max=4, name="tests") as database,
        ):
            yield Opened(caller=Caller(channel), database=database, urls=urls, addresses=addresses)


@asynccontextmanager
async def with_embedder(
    postgres: EmbeddedPostgres, folder: Path, **settings: Any
) -> AsyncIterator[tuple[Opened, EmbeddingServer]]:
    """Run services for the block that make vectors at once, by an embedder that does what it is told; see `opened`."""
    hurried = {"embedding_model": "m1", "embedding_interval_s": 0.02, "embedding_timeout_s": 2, **settings}
    async with embedding_server() as server, opened(postgres, folder, embedding_url=server.url, **hurried) as made:
        yield made, server


def an_id() -> str:
    return str(uuid.uuid4())


def at(time: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(time)
    return stamp
