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
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.timestamp_pb2 import Timestamp

from contextkeep.context.v1 import contexts_pb2 as pb
from contextkeep.context.v1.agent_templates_pb2_grpc import AgentTemplatesStub
from contextkeep.context.v1.agents_pb2_grpc import AgentsStub
from contextkeep.context.v1.artifacts_pb2_grpc import ArtifactsStub
from contextkeep.context.v1.chat_history_pb2_grpc import ChatHistoryStub
from contextkeep.context.v1.compiled_pages_pb2_grpc import CompiledPagesStub
from contextkeep.context.v1.context_query_pb2_grpc import ContextQueryStub
from contextkeep.context.v1.context_settings_pb2_grpc import ContextSettingsStub
from contextkeep.context.v1.context_windows_pb2_grpc import (
    CheckpointsStub,
    CompressionProfilesStub,
    FoldingStub,
    ForksStub,
    PackingStub,
    UsageStub,
    WindowsStub,
)
from contextkeep.context.v1.contexts_pb2_grpc import ContextsStub
from contextkeep.context.v1.definitions_pb2_grpc import DefinitionsStub
from contextkeep.context.v1.knowledge_bases_pb2_grpc import KnowledgeBasesStub
from contextkeep.context.v1.mcp_servers_pb2_grpc import McpServersStub
from contextkeep.context.v1.memories_pb2_grpc import MemoriesStub
from contextkeep.context.v1.message_pb2 import MessageInput
from contextkeep.context.v1.pages_pb2_grpc import PagesStub
from contextkeep.context.v1.source_tests_pb2_grpc import SourceTestsStub
from contextkeep.context.v1.specialists_pb2_grpc import SpecialistsStub
from contextkeep.context.v1.tasks_pb2_grpc import TasksStub
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.postgres import Database
from service_runtime.rpc.principal import ApiKeys
from tests.clients.stack import running
from tests.conftest import OTHER_PRINCIPAL, PRINCIPAL, Addresses, Urls, cloned
from tests.errors import raised
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


class Caller:
    """Calls the stubs of Contexts and of what stands on them with one of `KEYS`."""

    def __init__(self, channel: grpc.aio.Channel, key: str = "plain") -> None:
        self.channel = channel
        self.stub = ContextsStub(channel)
        others = (
            CheckpointsStub,
            CompressionProfilesStub,
            FoldingStub,
            ForksStub,
            PackingStub,
            UsageStub,
            WindowsStub,
            ContextQueryStub,
            ContextSettingsStub,
            ChatHistoryStub,
            AgentsStub,
            AgentTemplatesStub,
            ArtifactsStub,
            CompiledPagesStub,
            DefinitionsStub,
            KnowledgeBasesStub,
            McpServersStub,
            MemoriesStub,
            PagesStub,
            SourceTestsStub,
            SpecialistsStub,
            TasksStub,
        )
        self.stubs = [self.stub, *(stub(channel) for stub in others)]
        self.metadata = (("authorization", f"Bearer {key}"),)

    def of(self, key: str) -> Caller:
        return Caller(self.channel, key)

    async def call(self, name: str, /, *, deadline_s: float = 30, **fields: Any) -> Any:
        stub = next(stub for stub in self.stubs if hasattr(stub, name))
        described = descriptor_pool.Default().FindMessageTypeByName(f"contextkeep.context.v1.{name}Request")
        request = message_factory.GetMessageClass(described)(**fields)
        try:
            return await getattr(stub, name)(request, metadata=self.metadata, timeout=deadline_s)
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
