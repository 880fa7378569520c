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
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.context_service.contexts.callers import Opened, opened
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
    list_text: Callable[..., Awaitable[str]]


@dataclass(frozen=True, kw_only=True)
class World:
    """Services, and where MCP is."""

    opened: Opened
    mcp_urls: dict[str, str]  # on MCP's own port ("mcp"), and beside JSON ("http")


@pytest.fixture(scope="module")
async def world(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder: Path = tmp_path_factory.mktemp("query")
    mcp_port = free_port()
    async with AsyncExitStack() as stack:
        with installed(folder / "packages"):  # it is looked for once, at the start
            made = await stack.enter_async_context(opened(postgres, folder / "blobs", mcp_port=mcp_port, http=True))
        ports = {"mcp": mcp_port, "http": dict(made.addresses.http_ports)["context"]}
        yield World(opened=made, mcp_urls={name: f"http://127.0.0.1:{port}/mcp/query" for name, port in ports.items()})


@pytest.fixture(params=["grpc", "mcp"])
def ask(request: pytest.FixtureRequest, world: World) -> Asker:
    return over_grpc(world) if request.param == "grpc" else over_mcp(world)


def over_grpc(world: World) -> Asker:
    stub = ContextQueryStub(world.opened.caller.channel)

    async def call(name: str, request: Any, key: str, timeout: float = 30) -> Any:
        try:
            return await getattr(stub, name)(request, metadata=(("authorization", f"Bearer {key}"),), timeout=timeout)
        except grpc.aio.AioRpcError as error:
            raise refused(raised(error)) from None

    async def query(key: str = "plain", **fields: Any) -> Answer:
        named = {"subject_user_id": fields.pop("user", ""), "agent_id": fields.pop("agent", "")}
        timeout = fields.pop("timeout", 30)
        return await plain(await call("QueryContext", request_of({**fields, **named}), key, timeout))

    async def text(key: str = "plain", **fields: Any) -> str:
        return str((await query(key, **fields)).get("prompt_text", ""))

    async def providers(key: str = "plain", agent: str = "") -> Answer:
        return await plain(await call("ListContextProviders", pb.ListContextProvidersRequest(agent_id=agent), key))

    async def list_text(key: str = "plain") -> str:
        return str(await providers(key))

    return Asker(transport="grpc", query=query, text=text, providers=providers, list_text=list_text)


@asynccontextmanager
async def connected(
    world: World, key: str, user: str = "", agent: str = "", *, door: str = "mcp"
) -> AsyncIterator[Client]:
    """Connect to MCP; the user and the agent are the connection's."""
    named = {"x-subject-user-id": user, "x-agent-id": agent}
    headers = {"authorization": f"Bearer {key}"} | {name: value for name, value in named.items() if value}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http_client,
        Client(streamable_http_client(world.mcp_urls[door], http_client=http_client)) as client,
    ):
        yield client


def over_mcp(world: World, door: str = "mcp") -> Asker:
    """Return who asks over MCP, on one of the ports that have it."""

    async def call(tool: str, arguments: Answer, key: str, user: str = "", agent: str = "") -> Any:
        async with connected(world, key, user, agent, door=door) as client:
            result = await client.call_tool(tool, arguments)
        if result.is_error:
            error = json.loads(result.content[0].text)["error"]
            fields = [one["field"] for one in error.get("violations", [])]
            raise Refused(error["reason"], fields, error["message"])
        return result

    async def query(key: str = "plain", **fields: Any) -> Answer:
        who = fields.pop("user", ""), fields.pop("agent", "")
        return (await call("query_context", fields, key, *who)).structured_content

    async def text(key: str = "plain", **fields: Any) -> str:
        return (await call("query_context", fields, key)).content[0].text

    async def providers(key: str = "plain", agent: str = "") -> Answer:
        return (await call("list_context_providers", {}, key, agent=agent)).structured_content

    async def list_text(key: str = "plain") -> str:
        return (await call("list_context_providers", {}, key)).content[0].text

    return Asker(transport="mcp", query=query, text=text, providers=providers, list_text=list_text)


def request_of(fields: Answer) -> pb.QueryContextRequest:
    said = {
        name: f"{_ENUMS[name]}{value.upper()}" if name in _ENUMS and isinstance(value, str) else value
        for name, value in fields.items()
    }
    options = said.get("provider_options", {})
    if isinstance(mode := options.get("memory", {}).get("query_mode"), str):
        said["provider_options"] = {**options, "memory": {"query_mode": f"MEMORY_QUERY_MODE_{mode.upper()}"}}
    try:
        return ParseDict(said, pb.QueryContextRequest())
    except ParseError as error:  # what gRPC's types do not let a caller say
        known = [name for name in fields if name in str(error)] or [str(error)]
        raise Refused("INVALID_ARGUMENT", known, str(error)) from None


def refused(error: ContextKeepError) -> Refused:
    return Refused(error.reason, [one.field for one in error.violations], error.message)
