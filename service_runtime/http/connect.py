"""The unary RPCs over HTTP, in the form of the Connect protocol: `POST /package.Service/Method`, in JSON or protobuf.

The protocol is specified at https://connectrpc.com/docs/protocol. It serves the same RPCs as gRPC, through the same
border. This file translates requests and answers, and refuses requests that the protocol does not have.
"""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import grpc
from google.protobuf import descriptor_pool, json_format
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status

from contextkeep.errors import ContextKeepError, InvalidArgument, Unimplemented
from contextkeep.status import details_of
from service_runtime.grpc_server.interceptors import CALL_ID_KEY, Border, Caller, malformed
from service_runtime.grpc_server.server import Service
from service_runtime.http import admission
from service_runtime.http.asgi import HttpResponse, Send
from service_runtime.http.json_messages import JsonMessages
from service_runtime.rpc import messages
from service_runtime.rpc.calls import Call, current_call, in_slices

JSON, PROTO = "application/json", "application/proto"
BODY_BYTES_MAX = {JSON: 1024 * 1024, PROTO: 4 * 1024 * 1024}
_HINT = {JSON: f"send larger messages as {PROTO}", PROTO: ""}

_TIMEOUT = re.compile(r"[0-9]{1,10}")
_CHARSET = re.compile(r'charset="?utf-8"?', re.IGNORECASE)

# HTTP statuses as the protocol defines them; any other code is 500.
HTTP_STATUS = {
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.UNAUTHENTICATED: 401,
}
_DETAILS = {
    message.DESCRIPTOR.full_name: message
    for message in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Method:
    """One RPC, as it can be called over HTTP."""

    handler: Any  # grpc.RpcMethodHandler
    request: type[Message]

    @property
    def streams(self) -> bool:
        return bool(self.handler.request_streaming or self.handler.response_streaming)


class _NotThere(Exception):
    """A request that the protocol does not have, with the status of its answer."""

    def __init__(self, status: int, error: ContextKeepError, **headers: str) -> None:
        super().__init__()
        self.status = status
        self.error = error
        self.headers = headers


class Connect:
    """Answers the unary RPCs of some services.

    Args:
        services: The proto services whose unary RPCs are answered.
        border: Authenticates, limits and logs every call.
    """

    allowed_headers: Sequence[str] = (
        *("authorization", "x-api-key", "content-type", "connect-protocol-version", "connect-timeout-ms"),
        *("traceparent", "tracestate"),
    )
    log = logging.getLogger("http")

    def __init__(self, services: Sequence[Service], border: Border) -> None:
        self._methods = _methods_of(services)
        self._border = border
        pool = descriptor_pool.Default()
        self._json = JsonMessages([pool.FindServiceByName(service.full_name).file for service in services])

    async def answer(self, request: admission.Request, send: Send) -> None:
        """Make the call of a request, and send its answer."""
        current_call.set(None)  # a connection's requests may have one context
        try:
            content_type, body = await self._call(request)
            answer = HttpResponse(status=200, body=body, headers={"content-type": content_type})
        except _NotThere as not_there:
            answer = self.refusal(not_there.error, status=not_there.status, headers=not_there.headers)
        except ContextKeepError as error:
            answer = self.refusal(error)
        finally:
            request.stop_watching()
        call = current_call.get()
        if call is None:
            self.log.info("request refused", extra={"status": answer.status, "peer": request.peer})
        else:
            answer = replace(answer, headers={**answer.headers, CALL_ID_KEY: call.call_id})
        try:
            await answer.send(send)
        finally:
            if call is not None and call.held is not None:
                call.held.release()

    def refusal(
        self, error: ContextKeepError, *, status: int = 0, headers: Mapping[str, str] | None = None
    ) -> HttpResponse:
        """Return the response that the protocol defines for an error.

        Args:
            error: The error to send to the caller.
            status: HTTP status; 0 takes that of the error's code.
            headers: Further headers of the response.
        """
        return admission.refused(error, status or HTTP_STATUS.get(error.code, 500), _error(error), headers or {})

    async def close(self) -> None:
        """Cancel the tasks of the calls."""
        await self._json.close()

    async def _call(self, request: admission.Request) -> tuple[str, bytes]:
        """Make the call of a request, and return the content type and the body of its answer.

        Raises:
            _NotThere: no unary RPC has the path of the request.
            ContextKeepError: the error of the call.
        """
        content_type = _content_type(request)
        caller = Caller(metadata=request.metadata, peer=request.peer, timeout_s=_timeout_s(request))
        method = self._methods.get(request.path)
        if method is None:
            status, unknown = 404, Unimplemented(f"there is no RPC {request.path[:200]}")
        elif method.streams:
            status = 501
            unknown = Unimplemented("this RPC is a stream, and streams are gRPC's: call it on the gRPC port")
        else:
            exchange = _Exchange(request, content_type, method, self._json, caller)
            return content_type, await self._border.exchange(request.path, method.handler.unary_unary, exchange)
        try:
            await self._border.refuse(request.path, unknown, caller)
        except Unimplemented as error:
            raise _NotThere(status, error) from None


class _Exchange:
    """One request and its answer."""

    def __init__(
        self, request: admission.Request, content_type: str, method: _Method, json: JsonMessages, caller: Caller
    ) -> None:
        self.caller = caller
        self._request = request
        self._content_type = content_type
        self._method = method
        self._json = json

    async def request(self, call: Call) -> Message:
        """Read the body of the request, and return its message."""
        assert call.principal is not None and call.held is not None, "it was let in"
        self._request.belongs_to(call.principal)
        bytes_max, hint = BODY_BYTES_MAX[self._content_type], _HINT[self._content_type]
        body = await self._request.body(bytes_max=bytes_max, held_bytes=call.held, hint=hint)
        self._request.give_up_when_left()
        assert call.turn is not None, "it was let in"
        await call.turn.begin()  # to read it is work, too
        if self._content_type == JSON:
            return await self._json.read(self._method.request, body, of=call.principal)
        try:
            return await in_slices(messages.read(self._method.request, body))
        except DecodeError:
            raise malformed() from None

    async def render(self, response: Message, call: Call) -> bytes:
        """Return the body of the answer, in JSON or protobuf."""
        assert call.principal is not None, "it was let in"
        if self._content_type == JSON:
            return await self._json.write(response, of=call.principal)
        return response.SerializeToString()


@asynccontextmanager
async def serving(
    services: Sequence[Service],
    border: Border,
    options: admission.HttpOptions,
    *,
    beside: Mapping[str, admission.Endpoint],
) -> AsyncIterator[int]:
    """Serve for the block, yielding the port; on exit let running calls finish, for `drain_s` at most.

    Args:
        services: The proto services whose unary RPCs are served.
        border: Authenticates, limits and logs every call.
        options: The address and limits of the port.
        beside: Further endpoints on the port, by path.

    Raises:
        CannotListen: the address is taken.
    """
    connect = Connect(services, border)
    try:
        async with admission.serving(connect, options, beside=beside) as port:
            yield port
    finally:
        await connect.close()


class _Collecting:
    """Collects the handlers that are added to a gRPC server."""

    def __init__(self) -> None:
        self.handlers: dict[str, Any] = {}  # by path

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        self.handlers |= {f"/{service}/{name}": handler for name, handler in handlers.items()}

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Ignore these handlers: the same methods were added as registered ones."""


def _methods_of(services: Sequence[Service]) -> dict[str, _Method]:
    """Return the RPCs of some services by their paths, each with its handler and the type of its requests."""
    collecting = _Collecting()
    for service in services:
        service.add(collecting)
    pool = descriptor_pool.Default()
    return {
        f"/{service.full_name}/{rpc.name}": _Method(
            handler=collecting.handlers[f"/{service.full_name}/{rpc.name}"], request=GetMessageClass(rpc.input_type)
        )
        for service in services
        for rpc in pool.FindServiceByName(service.full_name).methods
    }


def _content_type(request: admission.Request) -> str:
    """Return the encoding of a request.

    Raises:
            _NotThere: the protocol does not have it, or its encoding.
        InvalidArgument: it is of another version of the protocol.
    """
    if request.method != "POST":
        raise _NotThere(405, Unimplemented("the method must be POST, to /package.Service/Method"), allow="POST")
    header = request.headers.get("content-type", "")
    content_type, _, parameters = (part.strip().lower() for part in header.partition(";"))
    if content_type not in (JSON, PROTO) or (parameters and not _CHARSET.fullmatch(parameters)):
        message = f"the content type is {JSON} or {PROTO}"
        if content_type.startswith("application/grpc"):
            message += "; gRPC has a port of its own"
        elif content_type.startswith("application/connect+"):
            message += "; streams are gRPC's, on its own port"
        raise _NotThere(415, Unimplemented(message), **{"accept-post": f"{JSON}, {PROTO}"})
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise _NotThere(501, Unimplemented("send the body uncompressed"), **{"accept-encoding": "identity"})
    if request.headers.get("connect-protocol-version", "1") != "1":
        raise InvalidArgument("connect-protocol-version must be 1", field="connect-protocol-version")
    return content_type


def _timeout_s(request: admission.Request) -> float | None:
    """Return the seconds that the caller gives the call.

    Raises:
        InvalidArgument: it is not a number of milliseconds.
    """
    timeout_header = request.headers.get("connect-timeout-ms")
    if timeout_header is None:
        return None
    if not _TIMEOUT.fullmatch(timeout_header):
        raise InvalidArgument("connect-timeout-ms must be a number of at most ten digits", field="connect-timeout-ms")
    return int(timeout_header) / 1000


def _error(error: ContextKeepError) -> dict[str, Any]:
    status = Status.FromString(details_of(error))
    code = "canceled" if error.code is grpc.StatusCode.CANCELLED else error.code.name.lower()
    return {"code": code, "message": status.message, "details": [_detail(detail) for detail in status.details]}


def _detail(packed: Any) -> dict[str, Any]:
    """Return a detail of an error in the form that the Connect protocol prescribes."""
    name = packed.type_url.rpartition("/")[2]
    return {
        "type": name,
        "value": base64.b64encode(packed.value).rstrip(b"=").decode(),
        "debug": json_format.MessageToDict(_DETAILS[name].FromString(packed.value)),
    }
