"""MCP over streamable HTTP, at /mcp: stateless, so that any replica answers any request.

A request is authenticated by the service's own authenticator before the SDK sees it; its calls go through the border of
gRPC's. The current entity is the header `x-entity-node-id`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import math
import re
import socket
from collections.abc import AsyncIterator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import orjson
import uvicorn
from google.protobuf.message import Message
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from context_service.mcp import body
from context_service.mcp.server import Context, mcp_server, shown
from context_service.mcp.servicer import ToolsServicer
from contextkeep.errors import (
    ContextKeepError,
    DeadlineExceeded,
    InvalidArgument,
    LimitExceeded,
    PermissionDenied,
    RateLimited,
    TooManyCalls,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from service_runtime.auth import Authenticator
from service_runtime.interceptors import UNARY_TIMEOUT_S, Border, Caller
from service_runtime.places import CallLimits, Place, Places
from service_runtime.server import CannotListen
from service_runtime.tls import TlsFiles, server_context

_log = logging.getLogger("mcp")

PATH = "/mcp"
HEAD_S_MAX = 10.0  # that the head of a request may take; for the first, since the connection was made
_WORK_S_MAX = UNARY_TIMEOUT_S + 10  # that a request may take once its body is here
READ_S_MAX = 30.0  # that a caller may not read of what is ready for it
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[^\s:/?#@\\\[\]]+)(:[0-9]*)?")  # RFC 9110: no user, no path
_ORIGIN = re.compile(rf"https?://{_HOST.pattern}")
_ENTITY = "x-entity-node-id"
_METADATA = ("authorization", "x-api-key", "traceparent", "tracestate")  # what a call is told of its request
_SESSION = "contextkeep.session"  # in the scope of a request
_STATUS: dict[type[ContextKeepError], int] = {
    Unauthenticated: 401,
    PermissionDenied: 403,
    Unimplemented: 405,
    DeadlineExceeded: 408,
    LimitExceeded: 413,
    InvalidArgument: 421,  # a Host that is not ours
    RateLimited: 429,
    TooManyCalls: 503,
    Unavailable: 503,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """Where and how to listen."""

    host: str
    port: int  # 0: any free one
    allowed_origins: frozenset[str]
    limits: CallLimits
    drain_s: float
    tls: TlsFiles | None


class _Here:
    """Calls the RPCs in this process."""

    def __init__(self, tools: ToolsServicer, border: Border, caller: Caller) -> None:
        self._tools = tools
        self._border = border
        self._caller = caller

    async def call(self, rpc: str, request: Message) -> Any:
        behaviour = getattr(self._tools, rpc)
        return await self._border.call(f"/contextkeep.context.v1.Tools/{rpc}", behaviour, request, self._caller)


@dataclass(frozen=True, slots=True, kw_only=True)
class _HttpSession:
    """Of one request."""

    rpcs: _Here
    entity_node_id: str
    read_only: bool = False  # a key without the scope `write` does that, or the setting


class _Entrance:
    """Lets requests in that may come in, and says whose they are."""

    def __init__(
        self, app: ASGIApp, tools: ToolsServicer, authenticator: Authenticator, border: Border, options: HttpOptions
    ) -> None:
        self._app = app
        self._tools = tools
        self._authenticator = authenticator
        self._border = border
        self._allowed_origins = options.allowed_origins
        self._on_loopback = _is_loopback(options.host)
        self._places = Places(options.limits, what="requests")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        place = Place(self._places)
        try:
            scope[_SESSION] = await self._session(scope, place)
            if scope["path"] == PATH:
                receive = await body.read_whole(receive)
            async with asyncio.timeout(_WORK_S_MAX):
                await self._app(scope, receive, send)
        except ContextKeepError as error:
            _log.info("request refused", extra={"reason": error.reason, "peer": _peer(scope)})
            await _refusal(error)(scope, receive, send)
        except TimeoutError:
            await _refusal(DeadlineExceeded("the request took too long"))(scope, receive, send)
        except body.SenderGone:
            _log.info("request broken off", extra={"peer": _peer(scope)})
        except asyncio.CancelledError:  # the drain is over, and nothing of an answer is sent: it goes out whole
            await _refusal(Unavailable("the service is stopping", dependency="context-service"))(scope, receive, send)
            raise
        finally:
            place.give_back()

    async def _session(self, scope: Scope, place: Place) -> _HttpSession:
        place.take()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        # A page of a browser that its user visits can call what listens on loopback, by any name that leads there.
        origin = headers.get("origin")
        if origin is not None and not self._may_call(origin):
            raise PermissionDenied("pages of this origin may not call; MCP_ALLOWED_ORIGINS has those that may")
        if self._on_loopback and not _is_loopback(_named(_HOST, headers.get("host", ""))):
            raise InvalidArgument("this is not the host that was asked for", field="host")
        if scope["path"] == PATH and scope["method"] != "POST":
            raise Unimplemented("there are no sessions and no streams to listen to: only POST")
        metadata = [(name, headers[name]) for name in _METADATA if name in headers]
        principal = await self._authenticator.authenticate(metadata)
        place.belongs_to(principal)
        caller = Caller(principal=principal, metadata=metadata, peer=_peer(scope))
        return _HttpSession(
            rpcs=_Here(self._tools, self._border, caller), entity_node_id=headers.get(_ENTITY, "").strip()
        )

    def _may_call(self, origin: str) -> bool:
        return origin in self._allowed_origins or (self._on_loopback and _is_loopback(_named(_ORIGIN, origin)))


class _Connection(H11Protocol):
    """Hangs up on who takes too long to say what he wants, or to read his answer: uvicorn waits for ever for both."""

    _hanging_up: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
        super().connection_made(transport)
        self._hanging_up = self.loop.call_later(HEAD_S_MAX, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stay()
        elif self._hanging_up is None:
            self._hanging_up = self.loop.call_later(HEAD_S_MAX, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(READ_S_MAX, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stay()
        self._read()
        super().connection_lost(exc)

    def _stay(self) -> None:
        if self._hanging_up is not None:
            self._hanging_up.cancel()
            self._hanging_up = None

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


class _Server(uvicorn.Server):
    """Leaves signals to the process."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@asynccontextmanager
async def serving(
    tools: ToolsServicer, authenticator: Authenticator, border: Border, options: HttpOptions
) -> AsyncIterator[int]:
    """Serve for the block, yielding the port; on exit let running calls finish, for `drain_s` at most.

    Raises:
        CannotListen: the address is taken.
    """
    served = mcp_server(_session_of)
    app = served.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=body.BYTES_MAX,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the entrance does it
    )
    config = uvicorn.Config(
        _Entrance(app, tools, authenticator, border, options),
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="none",
        proxy_headers=False,
        server_header=False,
        http=_Connection,
        timeout_graceful_shutdown=math.ceil(options.drain_s),
    )
    config.load()
    if options.tls is not None:
        config.ssl = server_context(options.tls)  # uvicorn's own would read the files once
    listening = _listen(options.host, options.port)
    server = _Server(config)
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        while not server.started and not running.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        if running.done():
            await running
            raise CannotListen("MCP over HTTP did not start; the log says why", host=options.host, port=options.port)
        port: int = listening.getsockname()[1]
        _log.info("serving", extra={"host": options.host, "port": port})
        yield port
    finally:
        server.should_exit = True
        await running
        listening.close()


def _session_of(context: Context) -> _HttpSession:
    assert context.request is not None, "every request comes over HTTP"
    session: _HttpSession = context.request.scope[_SESSION]
    return session


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host.strip("[]"), port))
    except OSError as error:
        listening.close()
        raise CannotListen(
            f"cannot listen on {host}:{port}: is another process using the port?", host=host, port=port
        ) from error
    return listening


def _refusal(error: ContextKeepError) -> Response:
    status = next((number for kind, number in _STATUS.items() if isinstance(error, kind)), 500)
    headers = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status == 405:
        headers["Allow"] = "POST"
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(math.ceil(error.retry_after_s))
    return Response(orjson.dumps({"error": shown(error)}), status, headers, "application/json")


def _named(form: re.Pattern[str], text: str) -> str:
    """Return the name in a header of this form; empty if it has another."""
    found = form.fullmatch(text)
    return found["name"].lower() if found else ""


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _peer(scope: Scope) -> str:
    client: Iterable[Any] | None = scope.get("client")
    host, port = client or ("", 0)
    return f"ipv6:[{host}]:{port}" if ":" in host else f"ipv4:{host}:{port}"
