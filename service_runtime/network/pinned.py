"""HTTP to a checked address, with bounded answers: for servers that are not trusted.

A connection goes to the resolved and checked address, with the name's TLS and `Host`; a request to another address is
not sent. The first failure is kept, because libraries above this one report it in other words, or not at all. Only
this file knows how the HTTP library sends requests.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from service_runtime.network.destinations import Destination
from service_runtime.rpc.calls import current_call

if TYPE_CHECKING:
    import httpx2

_TLS_PORT, _PORT = 443, 80

# The HTTP library parses in Python, on the event loop, and it parses all bytes of one read before it waits again. A
# chunk or an informational response costs 20 us, a line of a head 30 us, however short they are. So the library gets
# few bytes at a time, and bytes that belong to no body (heads, and the framing around chunks) have limits of their own.
_READ_BYTES = 8 * 1024
_HEAD_READ_BYTES = 1024
_HEAD_BYTES_MAX, _HEAD_LINES_MAX = 16 * 1024, 500  # limits of a response's head, with the informational ones before it
_FRAMING_BYTES_MAX = 16 * 1024  # bytes around and after the chunks of all responses, beyond `_CHUNK_BYTES` for each
_CHUNK_BYTES = 16  # bytes of framing that each chunk is allowed
_CHUNKS_MAX = 5_000  # most chunks of all responses together
_REQUESTS_MAX = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The scheme, host and port of a URL."""

    scheme: str
    host: str
    port: int


@dataclass(slots=True, kw_only=True)
class Watch:
    """The state of one conversation with a server: its first failure, and counts of requests, reads and bytes."""

    answer_bytes_max: int  # largest response, as it is transferred
    talk_bytes_max: int  # largest sum of all responses
    failure: str = ""  # the first failure; empty if there was none
    status: int = 0  # HTTP status of the newest answer to a POST
    size_bytes: int = 0  # bytes of all bodies
    framing_bytes: int = 0  # bytes that were read after heads and are not known to belong to a body
    chunks: int = 0
    requests: int = 0
    reads: int = 0

    def failed(self, failure: str) -> Exception:
        """Keep the first failure, and return the error that ends the response."""
        self.failure = self.failure or failure
        return NotToBeRead(failure)

    def too_much(self) -> Exception:
        """Return the error that ends a response that is too large."""
        return self.failed(f"its answer has more than {self.answer_bytes_max:,} bytes")

    def count_request(self) -> None:
        """Count a request.

        Raises:
            NotToBeRead: the conversation has made more than `_REQUESTS_MAX` requests.
        """
        self.requests += 1
        if self.requests > _REQUESTS_MAX:
            raise self.failed(f"it needs more than {_REQUESTS_MAX} requests, the limit")

    def count_framing(self, size_bytes: int) -> None:
        """Count bytes that were read after a head.

        Raises:
            NotToBeRead: too many of the bytes belonged to no body.
        """
        self.framing_bytes += size_bytes
        # `count_chunk` subtracts the bytes of bodies. It has not seen the last read yet, so one read is allowed on top.
        if self.framing_bytes > _FRAMING_BYTES_MAX + _READ_BYTES:
            raise self.failed(f"its answer has more than {_FRAMING_BYTES_MAX:,} bytes around its chunks")

    def count_chunk(self, size_bytes: int) -> None:
        """Count a chunk of a body.

        Raises:
            NotToBeRead: the conversation had too many chunks, or its bodies together are too large.
        """
        self.size_bytes += size_bytes
        self.framing_bytes -= size_bytes + _CHUNK_BYTES
        self.chunks += 1
        if self.chunks > _CHUNKS_MAX:
            raise self.failed(f"its answer has more than {_CHUNKS_MAX:,} chunks")
        if self.size_bytes > self.talk_bytes_max:
            raise self.too_much()


class ReadTurns:
    """Lets the conversations of a tenant read in turn, and gives other callers as much of the event loop's time.

    A tenant may have dozens of conversations at once, and each would otherwise run as often as a call of another
    tenant. The conversation that has read the fewest times is next: talkative servers delay each other, and a server
    that answers briefly waits for one read of another one before each of its own.
    """

    def __init__(self) -> None:
        # For each tenant with a conversation that reads now: a heap of its waiting conversations. Each entry has the
        # reads of the conversation so far, a serial number for ties, and the future that lets it read.
        self._waiting: dict[str, list[tuple[int, int, asyncio.Future[None]]]] = {}
        self._numbers = itertools.count()

    async def take(self, watch: Watch) -> None:
        """Wait until a conversation of the call's tenant may read its next bytes."""
        call = current_call.get()
        tenant_id = str(call.principal.tenant_id) if call and call.principal else ""
        loop = asyncio.get_running_loop()
        if tenant_id in self._waiting:
            turn = loop.create_future()
            heapq.heappush(self._waiting[tenant_id], (watch.reads, next(self._numbers), turn))
            await turn
        else:
            self._waiting[tenant_id] = []
            self._pass_on_after(tenant_id)
        watch.reads += 1

    def _pass_on_after(self, tenant_id: str) -> None:
        """Let the next conversation of a tenant read, once as much time has passed as the present read takes."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        # The two `call_soon` run after the conversation that reads now. `call_later` then waits for as long as that
        # conversation took, so that callers of other tenants get an equal part of the loop's time.
        loop.call_soon(lambda: loop.call_soon(lambda: loop.call_later(loop.time() - began_s, self._next, tenant_id)))

    def _next(self, tenant_id: str) -> None:
        """Let the waiting conversation of a tenant with the fewest reads read; forget the tenant if none waits."""
        waiting = self._waiting[tenant_id]
        while waiting:
            _, _, turn = heapq.heappop(waiting)
            if not turn.done():  # a call that was cancelled leaves its cancelled future here
                turn.set_result(None)
                self._pass_on_after(tenant_id)
                return
        del self._waiting[tenant_id]


class NotToBeRead(Exception):
    """A request is not sent, or the rest of a response is not read, because it passed a limit or is not allowed."""


class Response(Protocol):
    """The status and headers of an answer, which come before its body."""

    status_code: int
    headers: Any


def client(
    origin: Origin,
    destination: Destination,
    watch: Watch,
    *,
    tls: ssl.SSLContext | None,
    headers: dict[str, str],
    check: Callable[[Response], None],
    steps: ReadTurns,
    readable: Callable[[Response, AsyncIterator[bytes]], AsyncIterator[bytes]] | None = None,
) -> httpx2.AsyncClient:
    """Return a client whose requests go to a checked address.

    Args:
        origin: The only origin that requests may name.
        destination: The checked address to connect to.
        watch: Keeps the first failure, and counts the bytes that are read.
        tls: TLS context of `https`; None for `http`.
        headers: Headers that every request gets.
        check: Checks the head of an answer to a POST, and raises the error of the watch if it must not be read.
        steps: Lets the conversations of one tenant read in turn. All clients of the process share one such object.
        readable: Passes on the body of an answer, and raises the error of the watch if parsing the body would cost too
            much. Without `readable`, every body is passed on.
    """
    import httpx2

    inner = _transport(tls, watch, steps)

    class Pinned(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            """Send a request to the checked address, and return its response, whose body counts against the watch.

            Raises:
                NotToBeRead: an earlier request of this conversation failed, the request leads to another origin, it is
                    one too many, or the head of its answer is refused.
            """
            if watch.failure:  # an earlier request of this conversation failed
                raise NotToBeRead(watch.failure)
            url = request.url
            port = url.port or (_TLS_PORT if url.scheme == "https" else _PORT)
            if (url.scheme, url.host.strip("[]"), port) != (origin.scheme, origin.host, origin.port):
                raise watch.failed("it leads to another origin")
            watch.count_request()
            sent = httpx2.Request(
                request.method,
                url.copy_with(host=destination.address),
                headers=request.headers,  # its `Host` header has the name of the server, not the address
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": origin.host},
            )
            response = await inner.handle_async_request(sent)
            response.extensions["network_stream"].get_extra_info(_METER).head_ended()
            try:
                if request.method == "POST":
                    watch.status = response.status_code
                    check(response)
                    _check_headers(response, watch)
            except BaseException:
                await response.aclose()
                raise
            return httpx2.Response(
                response.status_code,
                headers=response.headers,
                stream=Bounded(response),
                extensions=response.extensions,
            )

        async def aclose(self) -> None:
            await inner.aclose()

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, response: httpx2.Response) -> None:
            self._response = response
            self._stream: Any = response.stream

        # The body of a response: `watch` counts its bytes while they are read.
        def __aiter__(self) -> AsyncIterator[bytes]:
            return readable(self._response, self._bounded()) if readable else self._bounded()

        async def _bounded(self) -> AsyncIterator[bytes]:
            """Yield the chunks of the answer.

            Raises:
                NotToBeRead: the answer has more bytes than its limit.
            """
            size_bytes = 0
            async for chunk in self._stream:
                size_bytes += len(chunk)
                watch.count_chunk(len(chunk))
                if size_bytes > watch.answer_bytes_max:
                    raise watch.too_much()
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    return httpx2.AsyncClient(
        transport=Pinned(),
        headers={"accept-encoding": "identity", **headers},
        timeout=httpx2.Timeout(None),  # the caller has a deadline
        trust_env=False,
        follow_redirects=False,
    )


_METER = "meter"


def _transport(tls: ssl.SSLContext | None, watch: Watch, steps: ReadTurns) -> httpx2.AsyncHTTPTransport:
    """Return a transport that reads few bytes at a time, and that refuses heads and framing beyond their limits."""
    import httpcore2
    import httpx2

    class Meter(httpcore2.AsyncNetworkStream):
        def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
            self._stream = stream
            self._is_in_head = True
            self._head_bytes = self._head_lines = 0

        def head_ended(self) -> None:
            self._is_in_head = False

        async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
            """Return the next bytes, when it is this conversation's turn.

            Raises:
                NotToBeRead: the head, or the framing of the body, is too long.
            """
            is_in_head = self._is_in_head
            data = await self._stream.read(min(max_bytes, _HEAD_READ_BYTES if is_in_head else _READ_BYTES), timeout)
            await steps.take(watch)
            if is_in_head:
                self._head_bytes += len(data)
                self._head_lines += data.count(b"\n")
                if self._head_bytes > _HEAD_BYTES_MAX or self._head_lines > _HEAD_LINES_MAX:
                    raise watch.failed(
                        f"the head of its answer has more than {_HEAD_BYTES_MAX} bytes or {_HEAD_LINES_MAX} lines"
                    )
            else:
                watch.count_framing(len(data))
            return data

        async def write(self, buffer: bytes, timeout: float | None = None) -> None:
            self._is_in_head = True  # after a request, the next bytes to read are the head of its answer
            self._head_bytes = self._head_lines = 0
            await self._stream.write(buffer, timeout)

        async def aclose(self) -> None:
            await self._stream.aclose()

        async def start_tls(
            self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
        ) -> httpcore2.AsyncNetworkStream:
            return Meter(await self._stream.start_tls(ssl_context, server_hostname, timeout))

        def get_extra_info(self, info: str) -> Any:
            return self if info == _METER else self._stream.get_extra_info(info)

    class Metered(httpcore2.AnyIOBackend):
        async def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
            return Meter(await super().connect_tcp(*args, **kwargs))

    transport = httpx2.AsyncHTTPTransport(verify=tls if tls else False, trust_env=False)
    # `AsyncHTTPTransport` has no argument for a network backend. Its connection pool has one, so the pool is replaced.
    transport._pool = httpcore2.AsyncConnectionPool(ssl_context=tls, network_backend=Metered())
    return transport


def _check_headers(response: Response, watch: Watch) -> None:
    """Check, by its headers, that an answer is not compressed and not too large.

    Raises:
        NotToBeRead: it is compressed, or its `Content-Length` is above the limit.
    """
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise watch.failed("it compresses its answer, which the request did not allow")
    size = response.headers.get("content-length", "")
    if size.isdecimal() and int(size[:20]) > watch.answer_bytes_max:
        raise watch.too_much()


def broken(error: Exception) -> str:
    """Return a text that says what failed in a connection; empty if the error is not about the connection."""
    import httpx2

    connecting = cause_of(error, httpx2.ConnectError)
    if cause_of(error, ssl.SSLError) is not None or "CERTIFICATE" in str(connecting or ""):
        return "its certificate is not trusted, or it speaks no TLS"
    if connecting is not None:
        return "it cannot be connected to"
    if cause_of(error, httpx2.TransportError) is not None:
        return "the connection to it broke off, or it speaks no HTTP"
    return ""


def cause_of(error: BaseException, kind: type[Exception]) -> BaseException | None:
    """Return the first error of a kind: the error itself, one of its group, or one of its causes; None without one."""
    if isinstance(error, kind):
        return error
    if isinstance(error, BaseExceptionGroup):
        return next((cause for part in error.exceptions if (cause := cause_of(part, kind)) is not None), None)
    below = error.__cause__ or error.__context__
    return cause_of(below, kind) if below is not None else None
