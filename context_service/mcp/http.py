"""MCP over streamable HTTP, at /mcp and /mcp/query: stateless, so that any replica answers any request.

It is one endpoint, on whichever ports it is served.

The service's own authenticator checks a request before the SDK sees it, and the SDK's calls pass the same checks as
gRPC calls. Headers name the current entity (`x-entity-node-id`), the user for a key without a user
(`x-subject-user-id`) and, at /mcp/query, the agent (`x-agent-id`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.types import ASGIApp

from context_service.mcp.api import ToolsServicer
from context_service.mcp.query_server import query_server
from context_service.mcp.server import Context, error_fields, mcp_server
from context_service.query.api.query import ContextQueryServicer
from contextkeep.errors import (
    ContextKeepError,
    DeadlineExceeded,
    HeldBytesExceeded,
    InvalidArgument,
    LimitExceeded,
    PermissionDenied,
    RateLimited,
    TooManyCalls,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from service_runtime.background_work import background
from service_runtime.grpc_server.interceptors import UNARY_TIMEOUT_S, Border, Caller
from service_runtime.http import admission, asgi
from service_runtime.inputs.documents import beside_the_loop, check_containers
from service_runtime.rpc.held_bytes import CallBytes
from service_runtime.rpc.principal import CONTEXT_READ, Authenticator, Principal

PATH = "/mcp"
QUERY_PATH = "/mcp/query"
BODY_BYTES_MAX = 4 * 1024 * 1024
_WORK_S_MAX = UNARY_TIMEOUT_S + 10  # seconds that a request may take after its body has arrived
_ENTITY = "x-entity-node-id"
_SUBJECT = "x-subject-user-id"
_AGENT = "x-agent-id"
_SESSION = "contextkeep.session"  # the key of the session in the ASGI scope of a request
_STATUS: dict[type[ContextKeepError], int] = {
    Unauthenticated: 401,
    PermissionDenied: 403,
    Unimplemented: 405,
    DeadlineExceeded: 408,
    LimitExceeded: 413,
    InvalidArgument: 421,  # a Host that is not ours
    RateLimited: 429,
    TooManyCalls: 503,
    HeldBytesExceeded: 503,
    Unavailable: 503,
}


@dataclass(frozen=True, slots=True)
class Served:
    """The servicer whose RPCs an MCP server calls, its proto service, and the scope that a key needs for them."""

    servicer: ToolsServicer | ContextQueryServicer
    service: str
    scope: str
    scopes: tuple[str, ...]  # the scopes that clients ask an issuer of tokens for


class _Here:
    """Calls the RPCs of a servicer in this process, for one caller."""

    def __init__(self, served: Served, border: Border, caller: Caller) -> None:
        self._served = served
        self._border = border
        self._caller = caller

    async def call(self, rpc: str, request: Message) -> Any:
        behaviour = getattr(self._served.servicer, rpc)
        return await self._border.call(f"/{self._served.service}/{rpc}", behaviour, request, self._caller)


@dataclass(frozen=True, slots=True, kw_only=True)
class _HttpSession:
    """The caller of one HTTP request, and the entity and user that its headers name."""

    rpcs: _Here
    entity_node_id: str
    subject_user_id: str
    agent_id: str
    read_only: bool = False  # over HTTP, tools are made read-only by the scopes of the key, or by a setting


class Mcp:
    """The MCP endpoint over HTTP: checks a request and lets the MCP SDK answer it.

    On the paths of this service the body is read before the SDK gets it, because the SDK waits for a body without a
    limit.
    """

    allowed_headers: Sequence[str] = (
        *("authorization", "x-api-key", _ENTITY, _SUBJECT, _AGENT, "content-type", "accept"),
        *("mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "last-event-id"),
    )
    log = logging.getLogger("mcp")

    def __init__(
        self, servers: Mapping[str, tuple[ASGIApp, Served]], authenticator: Authenticator, border: Border
    ) -> None:
        self.paths = tuple(servers)  # the paths that the endpoint answers
        self.scopes = {path: served.scopes for path, (_, served) in servers.items()}  # see `Served.scopes`
        self._servers = servers
        self._authenticator = authenticator
        self._border = border

    async def answer(self, request: admission.Request, send: asgi.Send) -> None:
        """Let the SDK answer a request of an authenticated caller."""
        is_ours = request.path in self._servers
        if is_ours and request.method != "POST":
            raise Unimplemented(
                f"the method must be POST: there are no sessions or streams (got {request.method[:20]})"
            )
        principal = await self._authenticator.authenticate(request.metadata)
        request.belongs_to(principal)
        with self._border.held.for_caller(principal) as call_bytes:
            await self._answer(request, principal, call_bytes, send)

    async def _answer(
        self, request: admission.Request, principal: Principal, call_bytes: CallBytes, send: asgi.Send
    ) -> None:
        """Check the scope, attach the caller's session to the request, and let the SDK answer it.

        On a path of ours the body is read and bounded first, because the SDK would parse it whole on the event loop.

        Raises:
            PermissionDenied: the key lacks the scope of the endpoint.
            DeadlineExceeded: the SDK took more than `_WORK_S_MAX`.
        """
        metadata = request.metadata
        is_ours = request.path in self._servers
        caller = Caller(principal=principal, metadata=metadata, peer=request.peer)
        app, served = self._servers.get(request.path, self._servers[PATH])
        if not principal.may(served.scope):
            raise PermissionDenied(f"the key lacks the scope {served.scope}", scope=served.scope)
        request.scope[_SESSION] = _HttpSession(
            rpcs=_Here(served, self._border, caller),
            entity_node_id=request.headers.get(_ENTITY, "").strip(),
            subject_user_id=request.headers.get(_SUBJECT, "").strip(),
            agent_id=request.headers.get(_AGENT, "").strip(),
        )
        receive = request.receive
        if is_ours:
            body = await request.body(bytes_max=BODY_BYTES_MAX, held_bytes=call_bytes)
            # Refuse bodies that are slow to parse, because the SDK parses the body on the event loop.
            await beside_the_loop(len(body), check_containers, "body", body.decode(errors="replace"))
            receive = _again(body, receive)
            request.give_up_when_left()

        async def charged(message: asgi.Message) -> None:
            # The request's body is not in memory any more, so only the response's is charged.
            call_bytes.set(len(message.get("body", b"")))
            await send(message)

        try:
            async with asyncio.timeout(_WORK_S_MAX):
                await app(request.scope, receive, charged)
        except TimeoutError:
            raise DeadlineExceeded(f"the request took more than {_WORK_S_MAX:g} s") from None

    def refusal(self, error: ContextKeepError) -> asgi.HttpResponse:
        """Return an error as JSON, with the same details as over gRPC."""
        status = next((number for kind, number in _STATUS.items() if isinstance(error, kind)), 500)
        headers = {"allow": "POST"} if status == 405 else {}
        if scope := error.metadata.get("scope"):  # RFC 6750: tell the client which scope its token needs
            headers["www-authenticate"] = f'Bearer error="insufficient_scope", scope="{scope}"'
        return admission.refused(error, status, {"error": error_fields(error)}, headers)


def opened(
    tools: ToolsServicer, query: ContextQueryServicer, authenticator: Authenticator, border: Border
) -> AbstractAsyncContextManager[Mcp]:
    """Open the endpoint while a block runs, for the ports that open within the block."""
    # The SDK's cancel scopes must be entered and left in the same task.
    return background.in_task_of_own(_open(tools, query, authenticator, border))


@asynccontextmanager
async def _open(
    tools: ToolsServicer, query: ContextQueryServicer, authenticator: Authenticator, border: Border
) -> AsyncIterator[Mcp]:
    """Open both MCP servers, and yield the endpoint that serves them."""
    apps = {PATH: _app(mcp_server(_session_of), PATH), QUERY_PATH: _app(query_server(_session_of), QUERY_PATH)}
    served = {
        PATH: Served(tools, "contextkeep.context.v1.Tools", scope="read", scopes=("read", "write")),
        QUERY_PATH: Served(query, "contextkeep.context.v1.ContextQuery", scope=CONTEXT_READ, scopes=(CONTEXT_READ,)),
    }
    async with AsyncExitStack() as stack:
        for app in apps.values():
            await stack.enter_async_context(app.router.lifespan_context(app))
        yield Mcp({path: (app, served[path]) for path, app in apps.items()}, authenticator, border)


def _app(server: Server[Any], path: str) -> Starlette:
    """Return the HTTP app of an MCP server. It keeps no sessions, so any replica can answer any request."""
    return server.streamable_http_app(
        streamable_http_path=path,
        json_response=True,
        stateless_http=True,
        max_request_body_size=BODY_BYTES_MAX,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # `admission` does it
    )


def _session_of(context: Context) -> _HttpSession:
    assert context.request is not None, "every request comes over HTTP"
    session: _HttpSession = context.request.scope[_SESSION]
    return session


def _again(body: bytes, receive: asgi.Receive) -> asgi.Receive:
    """Return a `receive` that first gives a body that was read already, then the connection's later messages."""
    is_replayed = False

    async def again() -> asgi.Message:
        nonlocal is_replayed
        if is_replayed:
            return await receive()
        is_replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
