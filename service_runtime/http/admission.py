"""The admission of an HTTP port: the ASGI application that admits requests up to a limit, and refuses further ones.

An endpoint authenticates callers and renders answers. A port may have several endpoints, each for a path, and several
ports may share an endpoint. The admission checks hosts and origins. It ends a request when the caller hangs up, or when
the time of the drain before a stop is over.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from contextkeep.errors import Cancelled, ContextKeepError, InvalidArgument, PermissionDenied, Unavailable
from service_runtime.grpc_server.interceptors import CALL_ID_KEY
from service_runtime.grpc_server.server import is_loopback
from service_runtime.http.asgi import PIECE_BYTES, HttpResponse, Message, Receive, Scope, Send
from service_runtime.http.body import read_whole
from service_runtime.http.listening import listening
from service_runtime.http.resources import PREFIX, Resources
from service_runtime.network.tls import TlsFiles
from service_runtime.rpc.admission import CallLimits, CallSlot, CallSlots
from service_runtime.rpc.held_bytes import CallBytes
from service_runtime.rpc.principal import Principal

_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\\\[\]]+)(:[0-9]*)?")  # RFC 9110: no user, no path
_ORIGIN = re.compile(rf"https?://{_HOST.pattern}")
_METADATA = ("authorization", "x-api-key", "traceparent", "tracestate")  # the headers that become a call's metadata
_PREFLIGHT_S = 7200  # seconds for which a browser need not ask again whether it may call


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of the web pages that may call from a browser."""

    allowed: frozenset[str]  # such as "https://chat.example.com"
    setting: str  # name of the setting that has these origins
    loopback: bool  # pages of loopback may call, too, where the port listens on loopback


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """The address of an HTTP port, its limits, and the origins of its callers."""

    host: str
    port: int  # 0 takes any free port
    origins: Origins
    limits: CallLimits
    connections_max: int  # at once; further ones are closed
    drain_s: float
    tls: TlsFiles | None
    resources: Resources | None = None  # None if the port takes no tokens of an issuer


class Request:
    """An HTTP request, and the call slot that it holds.

    Attributes:
        was_left: The caller hung up while the request was being answered.
    """

    def __init__(self, scope: Scope, receive: Receive, slot: CallSlot) -> None:
        self.scope = scope
        self.receive = receive
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers: Mapping[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        self.peer = _peer(scope)
        self.was_left = False
        self._slot = slot
        self._watching: asyncio.Task[None] | None = None

    @property
    def metadata(self) -> list[tuple[str, str]]:
        """Return the metadata of the call that the request becomes."""
        return [(name, self.headers[name]) for name in _METADATA if name in self.headers]

    def belongs_to(self, principal: Principal) -> None:
        """Count the request as one of the caller's.

        Raises:
            TooManyCalls: the caller has more requests under way than its share of the slots.
        """
        self._slot.belongs_to(principal)

    async def body(self, *, bytes_max: int, held_bytes: CallBytes, hint: str = "") -> bytes:
        """Return the body; see `read_whole`."""
        return await read_whole(self.receive, bytes_max=bytes_max, held_bytes=held_bytes, hint=hint)

    def give_up_when_left(self) -> None:
        """Cancel the present task, which answers the request, when the caller hangs up.

        Call it after the body was read: from then on, `receive` reports only that the caller has gone.
        """
        working = asyncio.current_task()
        assert working is not None

        async def watch() -> None:
            while (await self.receive())["type"] != "http.disconnect":
                pass
            self.was_left = True
            working.cancel()

        self._watching = asyncio.create_task(watch())

    def stop_watching(self) -> None:
        """Stop watching: once the answer begins, sending it notices that the caller has gone."""
        if self._watching is not None:
            self._watching.cancel()


class Endpoint(Protocol):
    """The handler of the requests that a port admits."""

    log: logging.Logger
    allowed_headers: Sequence[str]  # request headers that pages in browsers may send

    async def answer(self, request: Request, send: Send) -> None:
        """Answer a request.

        Raises:
            ContextKeepError: the request is refused; the admission sends `refusal` of the error.
        """
        ...

    def refusal(self, error: ContextKeepError) -> HttpResponse:
        """Return the response that refuses a request with an error."""
        ...


def refused(error: ContextKeepError, status: int, body: object, headers: Mapping[str, str]) -> HttpResponse:
    """Return an answer that refuses a request.

    Args:
        error: The reason of the refusal; its retry delay becomes the header `retry-after`.
        status: HTTP status of the answer. 401 adds the header `www-authenticate`.
        body: The value that is sent as JSON.
        headers: Further headers of the answer.
    """
    shown = {"content-type": "application/json", **headers}
    if status == 401:
        shown["www-authenticate"] = "Bearer"
    if error.retry_after_s is not None:
        shown["retry-after"] = str(math.ceil(error.retry_after_s))
    return HttpResponse(status=status, body=orjson.dumps(body), headers=shown)


def serving(
    endpoint: Endpoint, options: HttpOptions, *, beside: Mapping[str, Endpoint] | None = None
) -> AbstractAsyncContextManager[int]:
    """Return a context manager that serves an HTTP port during its block and yields the port; see `listening`.

    Args:
        endpoint: Answers the requests to all paths that have no other endpoint.
        options: The address and limits of the port.
        beside: Further endpoints, each by the path that it serves.
    """
    return listening(
        _Admission(endpoint, options, beside or {}),
        host=options.host,
        port=options.port,
        connections_max=options.connections_max,
        drain_s=options.drain_s,
        tls=options.tls,
        log=endpoint.log,
    )


class _Admission:
    """The application that the HTTP server calls for each request; see the module."""

    def __init__(self, endpoint: Endpoint, options: HttpOptions, beside: Mapping[str, Endpoint]) -> None:
        self._endpoint = endpoint
        self._beside = beside
        self._origins = options.origins
        self._resources = options.resources
        self._on_loopback = is_loopback(options.host)
        self._slots = CallSlots(options.limits, what="requests")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: take a slot, check host and origin, then let the endpoint of its path answer.

        A `ContextKeepError` becomes the endpoint's refusal. Requests of callers that hung up get no answer.
        """
        slot = CallSlot(self._slots)
        request = Request(scope, receive, slot)
        answering = _Answering(send, request, self._resources)
        endpoint = self._beside.get(request.path, self._endpoint)
        log = endpoint.log
        try:
            slot.take()
            self._check(request, answering)
            document = self._document(request)
            if _is_preflight(request):
                await _permission(endpoint, "GET" if document else "POST").send(answering)
            elif document:
                await document.send(answering)
            else:
                await endpoint.answer(request, answering)
        except Cancelled:
            log.info("request broken off", extra={"peer": request.peer})
        except ContextKeepError as error:
            log.info("request refused", extra={"reason": error.reason, "peer": request.peer})
            await endpoint.refusal(error).send(answering)
        except asyncio.CancelledError:
            if request.was_left:
                log.info("request broken off", extra={"peer": request.peer})
                return
            if not answering.began:  # the caller is still there: the server cancels, as the time of its drain is over
                stopping = Unavailable("the service is stopping")
                await endpoint.refusal(stopping).send(answering)
            raise
        finally:
            request.stop_watching()
            slot.give_back()

    def _check(self, request: Request, answering: _Answering) -> None:
        """Check the origin and the host of a request, and allow the origin to read the answer.

        Raises:
            PermissionDenied: pages of this origin may not call.
            InvalidArgument: the port listens on loopback, and the `Host` header does not name a loopback address.
        """
        # Any web page that the user visits can call a server on loopback, under any host name that resolves to it.
        origin = request.headers.get("origin")
        if origin is not None:
            if not self._may_call(origin):
                raise PermissionDenied(f"pages of this origin may not call; {self._origins.setting} must list it")
            answering.allow(origin)
        if self._on_loopback and not is_loopback(_name_in(_HOST, request.headers.get("host", ""))):
            raise InvalidArgument("the host header must name this server; call it by its own address", field="host")

    def _document(self, request: Request) -> HttpResponse | None:
        """Return the answer to a request for the document about the issuer of tokens, or None for any other path.

        The answer is status 405 if the method is wrong, and 404 if there is no such document.
        """
        if not request.path.startswith(PREFIX):
            return None
        document = self._resources and self._resources.document(
            request.path, scheme=request.scope["scheme"], host=request.headers.get("host", "")
        )
        if request.method not in ("GET", "OPTIONS"):
            return HttpResponse(status=405, headers={"allow": "GET"})
        return document or HttpResponse(status=404)

    def _may_call(self, origin: str) -> bool:
        if origin in self._origins.allowed:
            return True
        return self._origins.loopback and self._on_loopback and is_loopback(_name_in(_ORIGIN, origin))


class _Answering:
    """Sends an answer with its CORS headers; a demand for a credential also names the document about tokens.

    Attributes:
        began: The status and headers were sent.
    """

    def __init__(self, send: Send, request: Request, resources: Resources | None) -> None:
        self._send = send
        self._request = request
        self._resources = resources
        self._headers: list[tuple[bytes, bytes]] = []
        self.began = False

    def allow(self, origin: str) -> None:
        """Let a page of this origin read the answer."""
        self._headers = [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", f"{CALL_ID_KEY}, retry-after, www-authenticate".encode()),
            (b"vary", b"origin"),
        ]

    async def __call__(self, message: Message) -> None:
        """Send one ASGI message of the answer: add the CORS headers to its headers, and send a long body in pieces."""
        if message["type"] == "http.response.start":
            self.began = True
            self._request.stop_watching()
            headers = map(self._leading_on, message.get("headers", []))
            message = {**message, "headers": [*headers, *self._headers]}
        # Before each piece, the server waits until the caller has read most of the earlier pieces. So a slow reader
        # does not make the server buffer a second copy of the whole body.
        body = message.get("body", b"")
        start = 0
        while len(body) - start > PIECE_BYTES:
            await self._send({**message, "body": body[start : start + PIECE_BYTES], "more_body": True})
            start += PIECE_BYTES
        if start:
            message = {**message, "body": body[start:]}
        await self._send(message)

    def _leading_on(self, header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
        """Return a header unchanged, but add the address of the document about tokens to `www-authenticate`."""
        name, value = header
        if name != b"www-authenticate" or self._resources is None:
            return header
        headers = self._request.headers
        challenge = self._resources.challenge(
            value.decode("latin-1"),
            self._request.path,
            scheme=self._request.scope["scheme"],
            host=headers.get("host", ""),
            has_credential="authorization" in headers or "x-api-key" in headers,
        )
        return name, challenge.encode("latin-1")


def _permission(endpoint: Endpoint, method: str) -> HttpResponse:
    """Return the answer to a preflight request of a browser: the page may send this method and these headers."""
    return HttpResponse(
        status=204,
        headers={
            "access-control-allow-methods": method,
            "access-control-allow-headers": ", ".join(endpoint.allowed_headers),
            "access-control-max-age": str(_PREFLIGHT_S),
        },
    )


def _is_preflight(request: Request) -> bool:
    """Say whether a browser asks, before the real request, if a page may send it."""
    return (
        request.method == "OPTIONS"
        and "origin" in request.headers
        and "access-control-request-method" in request.headers
    )


def _name_in(form: re.Pattern[str], text: str) -> str:
    """Return the host name in the text of a header, in lower case; empty if the text does not have this form."""
    match = form.fullmatch(text)
    return match["name"].lower() if match else ""


def _peer(scope: Scope) -> str:
    """Return the address of the caller in the form that gRPC uses, such as `ipv4:192.0.2.7:40112`."""
    client: Iterable[Any] | None = scope.get("client")
    host, port = client or ("", 0)
    return f"ipv6:[{host}]:{port}" if ":" in host else f"ipv4:{host}:{port}"
