"""HTTP to an address that was checked, of which no more is read than is good: for servers that are not trusted.

A connection goes to the address that was looked up and checked, with the name's TLS and `Host`; a request that leads
elsewhere is not sent. What went wrong first is remembered: libraries above this one tell of it in other words, or not
at all. The only file that knows how the HTTP library sends what it sends.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from service_runtime.destinations import Destination

if TYPE_CHECKING:
    import httpx2

_TLS_PORT, _PORT = 443, 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a URL leads."""

    scheme: str
    host: str
    port: int


@dataclass(slots=True, kw_only=True)
class Watch:
    """What went wrong first, and how much was read."""

    answer_bytes_max: int  # of one response, as it comes
    talk_bytes_max: int  # of all of them
    failure: str = ""
    status: int = 0
    size_bytes: int = 0

    def failed(self, failure: str) -> Exception:
        """Remember what went wrong, if nothing did before, and return what ends the response."""
        self.failure = self.failure or failure
        return NotToBeRead(failure)

    def too_much(self) -> Exception:
        """Return what ends a response that is too large."""
        return self.failed(f"it answers more than {self.answer_bytes_max} bytes")


class NotToBeRead(Exception):
    """A response that is not read on."""


class Response(Protocol):
    """The head of an answer."""

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
    readable: Callable[[Response, AsyncIterator[bytes]], AsyncIterator[bytes]] | None = None,
) -> httpx2.AsyncClient:
    """Return a client whose requests go to an address that was checked.

    Args:
        origin: Whose requests are sent.
        destination: Where to.
        watch: What is told of them.
        tls: For `https`.
        headers: Of each request.
        check: Looks at the head of an answer to a POST, and raises what the watch returns where it is not to be read.
        readable: Passes on the body of an answer, and raises what the watch returns where it would cost too much to
            read; None: any is passed on.
    """
    import httpx2

    inner = httpx2.AsyncHTTPTransport(verify=tls if tls else False, trust_env=False)

    class Pinned(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            if watch.failure:  # of a request before
                raise NotToBeRead(watch.failure)
            url = request.url
            port = url.port or (_TLS_PORT if url.scheme == "https" else _PORT)
            if (url.scheme, url.host.strip("[]"), port) != (origin.scheme, origin.host, origin.port):
                raise watch.failed("it leads elsewhere")
            sent = httpx2.Request(
                request.method,
                url.copy_with(host=destination.address),
                headers=request.headers,  # with the host of its name
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": origin.host},
            )
            response = await inner.handle_async_request(sent)
            try:
                if request.method == "POST":
                    watch.status = response.status_code
                    check(response)
                    _check_size(response, watch)
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

        def __aiter__(self) -> AsyncIterator[bytes]:
            return readable(self._response, self._bounded()) if readable else self._bounded()

        async def _bounded(self) -> AsyncIterator[bytes]:
            size_bytes = 0
            async for chunk in self._stream:
                size_bytes += len(chunk)
                watch.size_bytes += len(chunk)
                if size_bytes > watch.answer_bytes_max or watch.size_bytes > watch.talk_bytes_max:
                    raise watch.too_much()
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    return httpx2.AsyncClient(
        transport=Pinned(),
        headers={"accept-encoding": "identity", **headers},
        timeout=httpx2.Timeout(None),  # whoever asks says how long
        trust_env=False,
        follow_redirects=False,
    )


def _check_size(response: Response, watch: Watch) -> None:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise watch.failed("it compresses what it was not asked to compress")
    size = response.headers.get("content-length", "")
    if size.isdecimal() and int(size[:20]) > watch.answer_bytes_max:
        raise watch.too_much()


def broken(error: Exception) -> str:
    """Return what is wrong with a connection, in our words; empty: nothing is."""
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
    """Return the error of a kind in a group of them, or among its causes."""
    if isinstance(error, kind):
        return error
    if isinstance(error, BaseExceptionGroup):
        return next((found for one in error.exceptions if (found := cause_of(one, kind)) is not None), None)
    below = error.__cause__ or error.__context__
    return cause_of(below, kind) if below is not None else None
