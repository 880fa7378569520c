"""An MCP server as somebody else runs one, by the protocol's own library on a real socket; and some that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings

SEARCH_SAFE = {"contextkeep/searchSafe": True}
SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["query"],
}
Answer = Callable[[dict[str, Any]], Any]


def results(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"results": [{"id": "1", "title": "Ticket 1", "snippet": f"About {arguments['query']}.", "score": 1234}]}


@dataclass
class FakeTool:
    """A tool, and what it answers: structured content, a text, or an error."""

    read_only: bool | None = True
    meta: Mapping[str, Any] | None = field(default_factory=lambda: SEARCH_SAFE)
    description: str = "Finds tickets."
    schema: Mapping[str, Any] = field(default_factory=lambda: SCHEMA)
    answer: Answer = results
    delay_s: float = 0.0


@dataclass
class Pieces:
    """The body of an answer, which is sent piece by piece until the caller hangs up."""

    pieces: Sequence[bytes]
    delay_s: float  # before each of them
    sent: int = 0  # pieces
    hung_up: threading.Event = field(default_factory=threading.Event)

    async def send(self, receive: Any, send: Any) -> None:
        """Answer one request over ASGI."""
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        gone = asyncio.ensure_future(receive())
        for piece in self.pieces:
            await asyncio.wait([gone], timeout=self.delay_s)
            if gone.done():
                self.hung_up.set()
                return
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            self.sent += 1
        gone.cancel()
        await send({"type": "http.response.body", "body": b""})


class FakeMcp:
    """What a server has, and what it was asked. Tests change it as they go on."""

    def __init__(self) -> None:
        self.url = ""
        self.port = 0
        self.tools: dict[str, FakeTool] = {"search_tickets": FakeTool()}
        self.twice = ""  # a tool that is listed twice
        self.called: list[tuple[str, dict[str, Any]]] = []
        self.completed = 0
        self.secrets: list[str] = []
        self.pieces: Pieces | None = None  # what a call of a tool is answered with instead, byte for byte

    async def list_tools(self, context: Any, params: Any) -> types.ListToolsResult:
        tools = [_tool(name, one) for name, one in self.tools.items()]
        return types.ListToolsResult(tools=tools + [one for one in tools if one.name == self.twice])

    async def call_tool(self, context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        self.called.append((params.name, dict(params.arguments or {})))
        one = self.tools[params.name]
        if one.delay_s:
            await asyncio.sleep(one.delay_s)
        try:
            said = one.answer(params.arguments or {})
        except ValueError as error:
            return types.CallToolResult(content=[types.TextContent(text=str(error))], is_error=True)
        self.completed += 1
        texts = [said] if isinstance(said, str) else said if isinstance(said, list) else [json.dumps(said)]
        structured = said if isinstance(said, dict) else None
        return types.CallToolResult(
            content=[types.TextContent(text=text) for text in texts], structured_content=structured
        )


def _tool(name: str, one: FakeTool) -> types.Tool:
    return types.Tool(
        name=name,
        description=one.description,
        input_schema=dict(one.schema),
        annotations=types.ToolAnnotations(read_only_hint=one.read_only) if one.read_only is not None else None,
        _meta=dict(one.meta) if one.meta is not None else None,
    )


@contextmanager
def fake_mcp(
    *, json_response: bool = False, secret: str = "", host: str = "127.0.0.1", tls: Mapping[str, str] | None = None
) -> Iterator[FakeMcp]:
    """Run a server for the block.

    Args:
        json_response: Answer plain JSON; else events.
        secret: Wants it as a bearer token.
        host: Where.
        tls: `ssl_certfile` and `ssl_keyfile`.
    """
    fake = FakeMcp()
    server: Server[Any] = Server("tickets", on_list_tools=fake.list_tools, on_call_tool=fake.call_tool)
    app = server.streamable_http_app(
        json_response=json_response,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            fake.secrets.append(headers.get(b"authorization", b"").decode())
            if secret and headers.get(b"authorization") != f"Bearer {secret}".encode():
                asks = [(b"www-authenticate", b"Bearer")]
                await send({"type": "http.response.start", "status": 401, "headers": asks})
                await send({"type": "http.response.body", "body": b""})
                return
            if fake.pieces is not None and scope["method"] == "POST":
                body = await _body(receive)
                if json.loads(body).get("method") == "tools/call":
                    await fake.pieces.send(receive, send)
                    return
                receive = _with_body(body, receive)
        await app(scope, receive, send)

    listening = socket.socket()
    listening.bind((host, 0))
    fake.port = listening.getsockname()[1]
    fake.url = f"{'https' if tls else 'http'}://{host}:{fake.port}/mcp"
    runner = uvicorn.Server(uvicorn.Config(guarded, log_level="critical", log_config=None, **(tls or {})))
    thread = threading.Thread(target=lambda: asyncio.run(runner.serve([listening])), daemon=True)
    thread.start()
    for _ in range(1_000):
        if runner.started:
            break
        time.sleep(0.005)
    try:
        yield fake
    finally:
        runner.should_exit = runner.force_exit = True
        thread.join(10)
        listening.close()


async def _body(receive: Any) -> bytes:
    body = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            return body


def _with_body(body: bytes, receive: Any) -> Any:
    """Return a `receive` that hands over a body that was read before."""
    events = [{"type": "http.request", "body": body}]

    async def again() -> Any:
        return events.pop() if events else await receive()

    return again


Behave = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


@asynccontextmanager
async def misbehaving(behave: Behave, *, host: str = "127.0.0.1") -> AsyncIterator[tuple[str, list[bytes]]]:
    """Run a server for the block that does whatever it wants with a connection; yield its URL and what came in."""
    came: list[bytes] = []

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            came.append(await reader.readuntil(b"\r\n\r\n"))
            await behave(reader, writer)
        writer.close()

    server = await asyncio.start_server(served, host, 0)
    async with server:
        yield f"http://{host}:{server.sockets[0].getsockname()[1]}/mcp", came


def answering(status: str, headers: str = "", body: bytes = b"") -> Behave:
    """Return who answers this."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n{headers}\r\n".encode() + body)
        await writer.drain()

    return behave


def flooding(content_type: str, piece: bytes) -> tuple[Behave, list[int]]:
    """Return who answers 30 MiB in pieces, and how much of it went out."""
    sent = [0]

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        while sent[0] < 30 * 2**20:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
            sent[0] += len(piece)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    return behave, sent


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer nothing."""
    await asyncio.sleep(60)
