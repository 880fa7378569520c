"""Services with installed providers, and callers of them over gRPC and over MCP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx2
import pytest
from google.protobuf.json_format import ParseDict, ParseError
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from context_service.mcp.answers import plain
from contextkeep.context.v1 import context_query_pb2 as pb
from contextkeep.context.v1.context_query_pb2_grpc import ContextQueryStub
from contextkeep.errors import ContextKeepError
from service_runtime.embedded_postgres import EmbeddedPostgres
from tests.context_service.contexts import Opened, opened
from tests.errors import raised
from tests.fakes.context_providers import installed
from tests.ports import free_port

Answer = dict[str, Any]
_ENUMS = {"mode": "QUERY_MODE_", "scope": "QUERY_SCOPE_", "depth": "QUERY_DEPTH_"}


class Refused(Exception):
    """A question was refused."""

    def __init__(self, reason: str, fields: list[str], message: str) -> None:
        super().__init__(reason, fields, message)
        self.reason, self.fields, self.message = reason, fields, message


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Asks over one of the transports; answers are what MCP calls structured content."""

    transport: str
    query: Callable[..., Awaitable[Answer]]
    text: Callable[..., Awaitable[str]]
    providers: Callable[..., Awaitable[Answer]]


@dataclass(frozen=True, kw_only=True)
class World:
    """Services, and where MCP is."""

    opened: Opened
    mcp_url: str


@pytest.fixture(scope="module")
async def world(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder: Path = tmp_path_factory.mktemp("query")
    port = free_port()
    async with AsyncExitStack() as stack:
        with installed(folder / "packages"):  # it is looked for once, at the start
            made = await stack.enter_async_context(opened(postgres, folder / "blobs", mcp_port=port))
        yield World(opened=made, mcp_url=f"http://127.0.0.1:{port}/mcp/query")


@pytest.fixture(params=["grpc", "mcp"])
def ask(request: pytest.FixtureRequest, world: World) -> Asker:
    return over_grpc(world) if request.param == "grpc" else over_mcp(world)


def over_grpc(world: World) -> Asker:
    stub = ContextQueryStub(world.opened.caller.channel)

    async def call(name: str, request: Any, key: str) -> Any:
        try:
            return await getattr(stub, name)(request, metadata=(("authorization", f"Bearer {key}"),), timeout=30)
        except grpc.aio.AioRpcError as error:
            raise refused(raised(error)) from None

    async def query(key: str = "plain", **fields: Any) -> Answer:
        user = fields.pop("user", "")
        return await plain(await call("QueryContext", request_of({**fields, "subject_user_id": user}), key))

    async def text(key: str = "plain", **fields: Any) -> str:
        return str((await query(key, **fields)).get("prompt_text", ""))

    async def providers(key: str = "plain") -> Answer:
        return await plain(await call("ListContextProviders", pb.ListContextProvidersRequest(), key))

    return Asker(transport="grpc", query=query, text=text, providers=providers)


def over_mcp(world: World) -> Asker:
    @asynccontextmanager
    async def connected(key: str, user: str) -> AsyncIterator[Client]:
        headers = {"authorization": f"Bearer {key}"} | ({"x-subject-user-id": user} if user else {})
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http_client,
            Client(streamable_http_client(world.mcp_url, http_client=http_client)) as client,
        ):
            yield client

    async def call(tool: str, arguments: Answer, key: str, user: str = "") -> Any:
        async with connected(key, user) as client:
            result = await client.call_tool(tool, arguments)
        if result.is_error:
            error = json.loads(result.content[0].text)["error"]
            fields = [one["field"] for one in error.get("violations", [])]
            raise Refused(error["reason"], fields, error["message"])
        return result

    async def query(key: str = "plain", **fields: Any) -> Answer:
        user = fields.pop("user", "")
        return (await call("query_context", fields, key, user)).structured_content

    async def text(key: str = "plain", **fields: Any) -> str:
        return (await call("query_context", fields, key)).content[0].text

    async def providers(key: str = "plain") -> Answer:
        return (await call("list_context_providers", {}, key)).structured_content

    return Asker(transport="mcp", query=query, text=text, providers=providers)


def request_of(fields: Answer) -> pb.QueryContextRequest:
    said = {
        name: f"{_ENUMS[name]}{value.upper()}" if name in _ENUMS and isinstance(value, str) else value
        for name, value in fields.items()
    }
    try:
        return ParseDict(said, pb.QueryContextRequest())
    except ParseError as error:  # what gRPC's types do not let a caller say
        known = [name for name in fields if name in str(error)] or [str(error)]
        raise Refused("INVALID_ARGUMENT", known, str(error)) from None


def refused(error: ContextKeepError) -> Refused:
    return Refused(error.reason, [one.field for one in error.violations], error.message)
