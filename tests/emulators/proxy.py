"""A proxy in front of an emulator: it records requests, and breaks off, stalls or answers itself when told to.

It understands as much of HTTP/1.1 as that takes: where a request and an answer end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

_READ_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a request says before its body."""

    method: str
    target: str
    headers: Mapping[str, str]  # lower case names


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Answer in place of the server, which never hears of the request."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """End the connection: inside the request's body, or inside the answer.

    With neither, the request arrives as a whole and its answer is lost.
    """

    request_bytes: int | None = None
    answer_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """Take the request and say nothing, or say only the beginning of the answer's body, until the client goes."""

    answer_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Forward the answer after some time."""

    delay_s: float


Fault = Answer | Cut | Stall | Wait


class Proxy:
    """The proxy. `fault` is asked for each request; None forwards it."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0
        self.requests: list[Request] = []
        self.stalled = 0  # requests whose clients still wait
        self.fault: Callable[[Request], Fault | None] = lambda request: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut_all(self) -> None:
        """End every connection now."""
        for task in self._connections:
            task.cancel()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        upstream = _Upstream(self._target_port)
        try:
            while await self._exchange(reader, writer, upstream):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        except asyncio.CancelledError:
            pass
        finally:
            self._connections.discard(task)
            writer.transport.abort()
            upstream.close()

    async def _exchange(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: _Upstream,
    ) -> bool:
        """Forward one request and its answer; return whether the connection goes on."""
        head = await reader.readuntil(b"\r\n\r\n")
        first, headers = _parsed(head)
        method, target, _ = first.split(" ", 2)
        request = Request(method=method, target=target, headers=headers)
        self.requests.append(request)
        fault = self.fault(request)
        if headers.get("expect") == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(b"expect:"))
        match fault:
            case Answer():
                async for _ in _body(reader, headers, has_body=True):
                    pass
                lines = "".join(f"{name}: {value}\r\n" for name, value in fault.headers.items())
                writer.write(
                    f"HTTP/1.1 {fault.status} Told\r\n{lines}content-length: {len(fault.body)}\r\n\r\n".encode()
                )
                writer.write(fault.body)
                await writer.drain()
                return True
            case Stall(answer_bytes=None):
                async for _ in _body(reader, headers, has_body=True):
                    pass
                await self._until_gone(reader)
                return False
        server_reader, server = await upstream.opened()
        server.write(head)
        sent_bytes = 0
        async for piece in _body(reader, headers, has_body=True):
            if (
                isinstance(fault, Cut)
                and fault.request_bytes is not None
                and sent_bytes + len(piece) > fault.request_bytes
            ):
                server.write(piece[: fault.request_bytes - sent_bytes])
                await server.drain()
                return False
            server.write(piece)
            sent_bytes += len(piece)
            await server.drain()
        if isinstance(fault, Cut) and fault.request_bytes is not None:
            return False
        going_on = await self._answer(request, fault, writer, server_reader)
        if isinstance(fault, Stall):
            await self._until_gone(reader)
        return going_on

    async def _until_gone(self, reader: asyncio.StreamReader) -> None:
        self.stalled += 1
        try:
            await reader.read()
        finally:
            self.stalled -= 1

    async def _answer(
        self,
        request: Request,
        fault: Fault | None,
        writer: asyncio.StreamWriter,
        server_reader: asyncio.StreamReader,
    ) -> bool:
        head = await server_reader.readuntil(b"\r\n\r\n")
        first, headers = _parsed(head)
        if isinstance(fault, Wait):
            await asyncio.sleep(fault.delay_s)
        if isinstance(fault, Cut) and not fault.answer_bytes:
            return False
        status = int(first.split(" ")[1])
        writer.write(head)
        sent_bytes = 0
        async for piece in _body(
            server_reader, headers, has_body=request.method != "HEAD" and status not in (204, 304)
        ):
            if isinstance(fault, Cut | Stall) and sent_bytes + len(piece) > (fault.answer_bytes or 0):
                writer.write(piece[: (fault.answer_bytes or 0) - sent_bytes])
                await writer.drain()
                return False
            writer.write(piece)
            sent_bytes += len(piece)
            await writer.drain()
        await writer.drain()
        return headers.get("connection", "").lower() != "close"


class _Upstream:
    """The connection to the server of one connection of a client, opened when there is something to say."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=_READ_BYTES)
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()


@asynccontextmanager
async def proxied(target_port: int) -> AsyncIterator[Proxy]:
    """Run a proxy in front of a port of this machine for the block."""
    proxy = Proxy(target_port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=_READ_BYTES)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut_all()
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                while proxy._connections:
                    await asyncio.sleep(0.01)


def _parsed(head: bytes) -> tuple[str, dict[str, str]]:
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return first, headers


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str], *, has_body: bool) -> AsyncIterator[bytes]:
    """Yield a body as it is on the wire, chunked or not."""
    if not has_body:
        return
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while True:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            yield line + await reader.readexactly(size + 2)
            if not size:
                return
    elif "content-length" in headers:
        left = int(headers["content-length"])
        while left:
            piece = await reader.read(min(left, _READ_BYTES))
            if not piece:
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(piece)
            yield piece
    elif headers.get("connection", "").lower() == "close":
        while piece := await reader.read(_READ_BYTES):
            yield piece
