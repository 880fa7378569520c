"""The border of every RPC: it assigns a call id, checks limits, authenticates, turns errors into statuses, and logs.

One interceptor does all of this in that order, because each interceptor of grpc.aio costs 10 to 15 µs a call. Handlers
raise errors; no code below this file aborts a call or logs an error.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, Protocol

import grpc
from google.protobuf.message import DecodeError, Message

from contextkeep.errors import (
    Cancelled,
    ContextKeepError,
    DeadlineExceeded,
    Internal,
    InvalidArgument,
    StreamIdle,
    Unimplemented,
)
from contextkeep.status import DETAILS_KEY, details_of, error_of, message_of
from service_runtime.auth import audit
from service_runtime.auth.audit_trail import AuditTrail
from service_runtime.rpc import calls, messages
from service_runtime.rpc.admission import CallLimits, CallSlot, CallSlots
from service_runtime.rpc.calls import Call, current_call
from service_runtime.rpc.fair_queue import FairQueue, Turn
from service_runtime.rpc.held_bytes import HeldBytes, memory_limits
from service_runtime.rpc.methods import Method, admit, method_of
from service_runtime.rpc.principal import CONTEXT_READ, NO_SCOPE, Authenticator, Principal, credential
from service_runtime.rpc.recent_calls import RecentCalls
from service_runtime.statements.replays import Replays, leaves
from service_runtime.telemetry import tracing
from service_runtime.telemetry.metrics import Metrics

_log = logging.getLogger("calls")

UNARY_TIMEOUT_S = 60.0  # seconds of a unary call that came without a deadline
CALL_ID_KEY = "x-call-id"

# Health and reflection say nothing about any tenant, and grpc's own code answers them. So they are not wrapped; they
# need a key at most.
_HEALTH = "/grpc.health.v1.Health/"
_REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/"

_LOOKS = 10  # checks in a row without a new call; one long wait proves nothing, as a busy loop takes no calls

# Until its caller has read the answer, a call holds grpc's state of the call, the bytes of the request, and the answer
# twice: in Python and in grpc's core. While a request is worked on, its parsed message is held, too.
_CALL_BYTES = 16 * 1024
_REQUEST_COPIES = 3
_PARSED_COPIES = 2  # copies of a parsed message of a stream: the message, and the bytes that its handler takes from it
_ANSWER_COPIES = 2

Handler = Any  # grpc.RpcMethodHandler: grpcio has no types of its own
Context = Any  # grpc.aio.ServicerContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The caller of a call that did not come over grpc."""

    principal: Principal | None = None  # None lets the border authenticate the metadata
    metadata: Sequence[tuple[str, str]]
    peer: str  # "ipv4:127.0.0.1:50000"
    timeout_s: float | None = None  # the call's timeout; None takes the border's own


class Exchange(Protocol):
    """Reads the request of a call that did not come over grpc, and renders its response."""

    caller: Caller

    async def request(self, call: Call) -> object:
        """Return the request of a call that was admitted and has no turn yet.

        Raises:
            ContextKeepError: the request cannot be read, or it is malformed.
        """
        ...

    async def render(self, response: Any, call: Call) -> bytes:
        """Return the answer of a call as bytes for its caller."""
        ...


class Hold:
    """Keeps arriving calls from running until it is released; a server that stops uses it.

    A caller that waits for an answer sends no other call. So once all callers wait, no call is on its way.
    """

    def __init__(self) -> None:
        self.is_on = False
        self._calls = 0
        self._released = asyncio.Event()

    def begin(self) -> None:
        """Hold calls from now on."""
        self.is_on = True

    async def wait(self) -> None:
        """Count a call that arrives, and wait until the hold is released."""
        self._calls += 1
        await self._released.wait()

    async def quiet(self, quiet_s: float, *, timeout_s: float) -> bool:
        """Wait until no call has arrived for `quiet_s`, and return True; return False after `timeout_s`."""
        give_up_at = time.monotonic() + timeout_s
        looks = 0
        while looks < _LOOKS and time.monotonic() < give_up_at:
            before = self._calls
            await asyncio.sleep(quiet_s / _LOOKS)
            looks = looks + 1 if self._calls == before else 0
        return looks == _LOOKS

    def release(self) -> None:
        """Let the held calls run, and all calls that arrive later."""
        self.is_on = False
        self._released.set()


class Border(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Wraps every handler of a server.

    Args:
        authenticator: Turns the metadata of a call into its principal.
        limits: Numbers of calls that may run at the same time; further ones are refused with TOO_MANY_CALLS. Health
            checks do not count.
        metrics: Counts calls, and measures how long they take.
        held: Counts the bytes of requests and answers; None makes a ledger for this border alone.
        trail: Stores the calls of administrators; None stores none.
        recent: Counts the calls of the last hour for `contextkeep observe`; None counts none.
        replays: Answers repeated writes from their stored answers; None passes each call to its servicer.
        health_without_key: Health checks need no key.
        reflection_without_key: Reflection needs no key.
    """

    def __init__(
        self,
        authenticator: Authenticator,
        *,
        limits: CallLimits,
        metrics: Metrics,
        held: HeldBytes | None = None,
        trail: AuditTrail | None = None,
        recent: RecentCalls | None = None,
        replays: Replays | None = None,
        health_without_key: bool = True,
        reflection_without_key: bool = True,
    ) -> None:
        """Make the slots and the queues of the server, and let metrics read the queues."""
        self._authenticator = authenticator
        self._trail = trail
        self._recent = recent
        self._replays = replays
        self._keyless = (*[_HEALTH] * health_without_key, *[_REFLECTION] * reflection_without_key)
        self._metrics = metrics
        self.held = held or HeldBytes(memory_limits(None, limits.shares, has_windows=False))
        self.slots = CallSlots(limits)
        self._turns = turns = FairQueue(limits.expensive_calls_max, limits.shares)
        self._ordinary = ordinary = FairQueue(limits.ordinary_calls_max, limits.shares, paced=True)
        self.calls_wait: Callable[[], bool] = lambda: any(
            (turns.taken, turns.waiting, ordinary.taken, ordinary.waiting)
        )
        self._stream_idle_s = limits.stream_idle_s
        metrics.watch("contextkeep_expensive_calls_under_way", "Expensive calls that have a turn", lambda: turns.taken)
        metrics.watch("contextkeep_expensive_calls_waiting", "Calls that wait for a turn", lambda: turns.waiting)
        metrics.watch(
            "contextkeep_ordinary_calls_waiting", "Other calls that wait for a turn", lambda: ordinary.waiting
        )
        self._wrapped: dict[str, Handler] = {}
        self._hold = Hold()

    def hold(self) -> Hold:
        """Hold every call that arrives from now on, until the hold is released."""
        self._hold.begin()
        return self._hold

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Handler]], details: Any) -> Handler:
        """Return the wrapped handler of a call's method, which is made at the method's first call."""
        if self._hold.is_on:
            await self._hold.wait()
        self._ordinary.arrived()
        method: str = details.method
        if method.startswith(self._keyless):
            return await continuation(details)
        if method.startswith((_HEALTH, _REFLECTION)):
            try:
                await self._authenticator.authenticate(details.invocation_metadata)
            except ContextKeepError as error:
                return _refusing(error, partial(self._around, method))
            return await continuation(details)
        wrapped = self._wrapped.get(method)
        if wrapped is None:
            handler = await continuation(details)
            if handler is None:  # not stored in `_wrapped`: callers could fill the memory with invented names
                unknown = Unimplemented(f"there is no RPC {method[:200]}")
                return _refusing(unknown, partial(self._around, method))
            around = partial(self._around, method, known=method_of(method))
            wrapped = self._wrapped[method] = _wrap(
                handler, around, partial(self._answer, method), idle_s=self._stream_idle_s
            )
        return wrapped

    async def call(
        self, method: str, behaviour: Callable[[Any, Any], Awaitable[Any]], request: object, caller: Caller
    ) -> Any:
        """Return the answer of a unary call that did not come over grpc, made inside this border.

        Args:
            method: "/contextkeep.context.v1.Tools/ExecuteTool".
            behaviour: The method of the servicer that answers.
            request: The request message of the call.
            caller: Metadata, address and time limit of the call.

        Raises:
            ContextKeepError: the error that a client of the RPC raises.
        """
        context = _CallFromElsewhere(caller)
        around = self._around(method, context, known=method_of(method), unary=True, principal=caller.principal)
        async with around as call:
            call.request = request
            response = await self._answer(method, behaviour, request, context)
            if call.response is None:
                call.response = response
        assert call.held is not None, "it was let in"
        call.held.release()
        return response

    async def exchange(self, method: str, behaviour: Callable[[Any, Any], Awaitable[Any]], exchange: Exchange) -> bytes:
        """Return the rendered answer of a unary call; unlike for `call`, the request is read inside the border, too.

        The bytes of the answer stay charged to the call (`Call.held`) until the sender releases them.

        Args:
            method: "/contextkeep.entity.v1.EntityGraph/GetNode".
            behaviour: The method of the servicer that answers.
            exchange: Reads the request and takes the answer.

        Raises:
            ContextKeepError: the error that a client of the RPC raises.
        """
        context = _CallFromElsewhere(exchange.caller)
        around = self._around(
            method,
            context,
            known=method_of(method),
            unary=True,
            principal=exchange.caller.principal,
            receive=exchange.request,
        )
        async with around as call:
            response = await self._answer(method, behaviour, call.request, context)
            if call.response is None:
                call.response = response
            assert call.turn is not None and call.held is not None, "it was let in"
            call.turn.give_back()
            rendered = await exchange.render(response, call)
            call.held.set(_CALL_BYTES + len(rendered))
            return rendered

    async def refuse(self, method: str, error: ContextKeepError, caller: Caller) -> NoReturn:
        """Refuse a call of another door whose method does not exist; authenticate, count and log it like a gRPC call.

        Raises:
            ContextKeepError: always.
        """
        context = _CallFromElsewhere(caller)
        async with self._around(method, context, unary=True, principal=caller.principal):
            raise error

    async def _answer(
        self, method: str, behaviour: Callable[[Any, Any], Awaitable[Any]], request: object, context: object
    ) -> Any:
        """Let a servicer answer, or repeat the answer of an earlier call with the same request id."""
        if self._replays is None:
            return await behaviour(request, context)
        return await self._replays.answer(behaviour, request, context, service=method[1:].rpartition("/")[0])

    @asynccontextmanager
    async def _around(
        self,
        method: str,
        context: Context,
        *,
        unary: bool,
        known: Method | None = None,
        request_bytes: int = 0,
        principal: Principal | None = None,
        receive: Callable[[Call], Awaitable[object]] | None = None,
    ) -> AsyncIterator[Call]:
        """Set a call up for the block, which runs the handler; turn an error into a status, and log the call.

        If the call is not admitted, its status is sent before the block begins, and the block must do nothing: it gets
        a call with `is_refused`.

        Args:
            method: Path of the RPC.
            context: grpc's context of the call, or an object with the same methods.
            unary: The RPC has one request and one response.
            known: The options of the RPC; None if it does not exist.
            request_bytes: Size of the request, if it has been read.
            principal: The caller, if it is authenticated already.
            receive: Reads the request of an admitted call.
        """
        call = Call(
            call_id=secrets.token_hex(8),
            method=method,
            peer=context.peer(),
            scope=known.scope if known else "",
            replays=self._replays,
        )
        remaining_s = context.time_remaining()
        if remaining_s is None and unary:
            remaining_s = UNARY_TIMEOUT_S
        started = time.monotonic()
        call.deadline = math.inf if remaining_s is None else started + remaining_s
        current_call.set(call)  # each call has its own task, and so its own context: nothing must be reset at the end
        call.slot = slot = CallSlot(self.slots)
        self._metrics.calls_under_way.inc()
        metadata = context.invocation_metadata() or ()
        span = tracing.begin_call(method, metadata)
        error: ContextKeepError | None = None
        is_begun = False
        try:
            slot.take()
            await self._let_in(call, known, metadata, principal, request_bytes=request_bytes)
            assert call.principal is not None, "it was let in"
            # grpc cancels a call at its caller's deadline. The timeout here is for unary calls without a deadline.
            async with (
                asyncio.timeout(remaining_s if unary else None),
                Turn(self._turns, call.principal, self._ordinary) as call.turn,
            ):
                if receive is not None:
                    call.request = await receive(call)
                await (call.turn.take() if known is not None and known.is_expensive else call.turn.begin())
                is_begun = True
                yield call
        except (asyncio.CancelledError, GeneratorExit):
            error = Cancelled("the caller went away")
            raise  # grpc.aio expects it; no caller is left to read a status
        except BaseException as raised:
            error = _error_for(raised, call)
            await self._keep(call, error)  # before the caller gets the status
            await _tell(context, call, error)
        finally:
            slot.give_back()
            self._metrics.calls_under_way.dec()
            duration_s = time.monotonic() - started
            self._note_end(call, error, span, duration_s=duration_s, unary=unary)
            if call.is_logged and call.scope not in ("", NO_SCOPE, "read", CONTEXT_READ):
                audit.log(call, call.scope, error, peer=call.peer)
            await self._keep(call, error)
            call.request = call.response = None  # the task lives on until the answer is read
            if error is not None and call.held is not None:
                call.held.release()
            error = None  # the error refers to this frame: without this, both would stay in memory (see `_tell`)
        # A context manager must yield once, also if the call was not admitted.
        if not is_begun:
            call.is_refused = True
            yield call

    async def _let_in(
        self, call: Call, known: Method | None, metadata: Any, principal: Principal | None, *, request_bytes: int
    ) -> None:
        """Authenticate the caller, charge the bytes of the call, and check that the principal may call the method.

        Raises:
            Unauthenticated: the credential is missing or not valid.
            TooManyCalls: the caller has used up its share of the slots.
            HeldBytesExceeded: too many bytes are held for the caller.
            PermissionDenied: the principal may not call the method.
        """
        assert call.slot is not None, "it has one"
        call.principal = principal or await self._authenticator.authenticate(metadata)
        call.slot.belongs_to(call.principal)
        call.ledger, call.held = self.held, self.held.for_caller(call.principal)
        call.held.set(_CALL_BYTES + request_bytes * _REQUEST_COPIES)
        self._turns.note_call(call.principal)
        if known is not None:
            admit(call.principal, known)
        call.credential = credential(metadata)

    def _note_end(
        self,
        call: Call,
        error: ContextKeepError | None,
        span: Any,
        *,
        duration_s: float,
        unary: bool,
    ) -> None:
        """Count and log a call that has ended."""
        status = error.code.name if error else "OK"
        self._metrics.call_ended(call.method if call.scope else "", status, duration_s)
        if self._recent is not None and call.principal is not None:
            self._recent.ended(call.principal.tenant_id, status, duration_s if unary else None)
        reason = error.reason if error else ""
        tracing.end_call(span, status=status, reason=reason, attributes={"call_id": call.call_id})
        _log_call(call, error, duration_s=duration_s)

    async def _keep(self, call: Call, error: ContextKeepError | None) -> None:
        """Store the call of an administrator in the audit trail; a repeat does nothing."""
        # A method that does not exist has no scope.
        if self._trail is not None and call.scope:
            await self._trail.keep(call, error, peer=call.peer)


class _CallFromElsewhere:
    """Has the methods of grpc's context that the border uses, for a call that did not come over grpc."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def time_remaining(self) -> float | None:
        return self._caller.timeout_s

    def invocation_metadata(self) -> Sequence[tuple[str, str]]:
        return self._caller.metadata

    def peer(self) -> str:
        return self._caller.peer

    async def abort(self, code: grpc.StatusCode, message: str, trailing: Sequence[tuple[str, Any]]) -> None:
        """Raise the error that our client raises for this status."""
        raise error_of(code, message, dict(trailing)[DETAILS_KEY])


def _error_for(raised: BaseException, call: Call) -> ContextKeepError:
    """Return the error to send to the caller; an unexpected error is logged, and becomes `Internal` without details."""
    failures = leaves(raised)
    # Tasks may fail together, as when Postgres goes away: the caller gets the first error, unless one is our fault.
    if all(isinstance(failure, ContextKeepError | TimeoutError) for failure in failures):
        first = failures[0]
        return first if isinstance(first, ContextKeepError) else DeadlineExceeded("the call's time was up")
    _log.error("call failed", exc_info=raised, extra={"call_id": call.call_id, "method": call.method})
    return Internal(f"internal error; the log has its cause under call id {call.call_id}", call_id=call.call_id)


async def _tell(context: Context, call: Call, error: ContextKeepError) -> None:
    """End a call with the status of its error.

    This may take long: the status waits in gRPC's memory until the caller has read all earlier messages, and the call
    keeps its slot for that time.

    Raises:
        asyncio.CancelledError: the caller is gone.
    """
    trailing = ((DETAILS_KEY, details_of(error)), (CALL_ID_KEY, call.call_id))
    try:
        await context.abort(error.code, message_of(error), trailing)
    except grpc.aio.AbortError as aborted:
        # The state of the call keeps this error, as grpc raises it again when the handler returns. Its traceback would
        # keep all frames, with the request and the answer, in memory until the garbage collector runs.
        aborted.__traceback__ = aborted.__context__ = None
    except grpc.aio.InternalError as gone:
        raise asyncio.CancelledError from gone


def _log_call(call: Call, error: ContextKeepError | None, *, duration_s: float) -> None:
    """Log a call that has ended, with its status, its duration and its caller."""
    if not call.is_logged or not _log.isEnabledFor(logging.INFO):
        return
    values: dict[str, object] = {
        "call_id": call.call_id,
        "method": call.method,
        "status": error.code.name if error else "OK",
        "duration_ms": round(duration_s * 1000, 2),
    }
    if call.principal is not None:
        values["tenant_id"] = str(call.principal.tenant_id)
        values["subject"] = call.principal.subject
    else:
        values["peer"] = call.peer  # without a valid key, the address is all that is known about the caller
    if error:
        values["reason"] = error.reason
        values["error"] = error.message
    _log.info("call", extra=values)


def malformed() -> InvalidArgument:
    """Return the error of a request that protobuf cannot read."""
    return InvalidArgument("the request is not a protobuf message of its type", field="request")


def _wrap(
    handler: Handler, around: Callable[..., Any], answered: Callable[..., Awaitable[Any]], *, idle_s: float
) -> Handler:
    """Return a handler of the same kind whose behaviour runs inside `around`.

    A *behaviour* is grpc's word for the method of the servicer.

    Args:
        handler: grpc's handler of a method.
        around: Context manager that sets a call up and ends it; see `Border._around`.
        answered: Runs a behaviour that has one response, or repeats a stored answer.
        idle_s: Seconds that the caller of a stream may neither send nor read.
    """
    serialize: Callable[[Any], bytes] = handler.response_serializer

    message_class: type[Message] = handler.request_deserializer.__self__

    async def parsed(data: bytes) -> object:
        try:
            return await calls.in_slices(messages.read(message_class, data))
        except DecodeError:  # raised here: grpc would say INTERNAL, as if the fault were ours
            raise malformed() from None

    # The wrapped handlers take requests as bytes and return answers as bytes, for three reasons: their sizes are known,
    # a request is parsed only once its call is admitted, and no third copy of an answer, the message, stays in memory
    # until the caller has read it.
    async def unary_unary(data: bytes, context: Context) -> bytes:
        async with around(context, unary=True, request_bytes=len(data)) as call:
            if call.is_refused:
                return b""
            call.request = await parsed(data)
            response = await answered(handler.unary_unary, call.request, context)
            if call.response is None:
                call.response = response
            answer = serialize(response)
            _hold_until_read(call, context, len(data) + len(answer) * _ANSWER_COPIES)
            return answer

    # Streams are written by `context.write`, not yielded: a generator would not notice that grpc stopped reading it.
    async def unary_stream(data: bytes, context: Context) -> None:
        async with around(context, unary=False, request_bytes=len(data)) as call:
            if call.is_refused:
                return
            request = await parsed(data)
            _hold_until_read(call, context, len(data) * _REQUEST_COPIES)
            async with aclosing(handler.unary_stream(request, context)) as responses:
                call.request = request
                async for response in responses:
                    await _send(call, context, serialize(response), idle_s, len(data) * _REQUEST_COPIES)

    async def stream_unary(requests: AsyncIterator[bytes], context: Context) -> bytes:
        async with around(context, unary=False) as call:
            if call.is_refused:
                return b""
            coming = _parsed_stream(call, requests, context, parsed, idle_s)
            call.response = await answered(handler.stream_unary, coming, context)
            answer = serialize(call.response)
            _hold_until_read(call, context, len(answer) * _ANSWER_COPIES)
            return answer

    async def stream_stream(requests: AsyncIterator[bytes], context: Context) -> None:
        async with around(context, unary=False) as call:
            if call.is_refused:
                return
            _hold_until_read(call, context, 0)
            async with aclosing(
                handler.stream_stream(_parsed_stream(call, requests, context, parsed, idle_s), context)
            ) as responses:
                async for response in responses:
                    await _send(call, context, serialize(response), idle_s, 0)

    kinds = {
        (False, False): (grpc.unary_unary_rpc_method_handler, unary_unary),
        (False, True): (grpc.unary_stream_rpc_method_handler, unary_stream),
        (True, False): (grpc.stream_unary_rpc_method_handler, stream_unary),
        (True, True): (grpc.stream_stream_rpc_method_handler, stream_stream),
    }
    make, behaviour = kinds[handler.request_streaming, handler.response_streaming]
    return make(behaviour)


async def _parsed_stream(
    call: Call,
    requests: AsyncIterator[bytes],
    context: Context,
    parsed: Callable[[bytes], Awaitable[object]],
    idle_s: float,
) -> AsyncIterator[object]:
    """Yield the messages of a stream of requests; each is parsed and charged when the servicer asks for it.

    Raises:
        HeldBytesExceeded: too many bytes are held for the caller.
        InvalidArgument: a message is malformed.
        StreamIdle: the caller sent no message for `idle_s`.
    """
    assert call.held is not None, "it was let in"
    coming = aiter(requests)
    while True:
        try:
            async with calls.aside(), _idle(idle_s, "was sent"):
                data = await anext(coming)
        except StopAsyncIteration:
            break
        call.held.set(_CALL_BYTES + len(data) * _REQUEST_COPIES)
        request = await parsed(data)
        call.held.set(_CALL_BYTES + len(data) * _PARSED_COPIES)
        del data
        if call.request is None:
            call.request = request
        yield request
    # If a call is cancelled, gRPC ends its stream of requests as for a complete one, and raises the cancellation a
    # moment later. Sending metadata waits for the cancellation, so that no handler takes a broken upload for a complete
    # one.
    await context.send_initial_metadata(())


def _hold_until_read(call: Call, context: Context, size_bytes: int) -> None:
    """Charge the held bytes of a call until its RPC is over, which may be long after the handler returned.

    Raises:
        HeldBytesExceeded: a limit would be exceeded.
    """
    assert call.held is not None, "it was let in"
    call.held.set(_CALL_BYTES + size_bytes)
    context.add_done_callback(call.held.release)


async def _send(call: Call, context: Context, response: bytes, idle_s: float, request_bytes: int) -> None:
    """Send one message of a stream.

    Raises:
        HeldBytesExceeded: too many bytes are held for the caller, which may not be reading.
        StreamIdle: the caller has not read the message within `idle_s`.
        asyncio.CancelledError: the call is over. grpc may report this by an error of `write` before it cancels us.
    """
    assert call.held is not None, "it was let in"
    call.held.set(_CALL_BYTES + request_bytes + len(response) * _ANSWER_COPIES)
    try:
        async with calls.aside(), _idle(idle_s, "was read"):
            await context.write(response)
    except grpc.aio.InternalError as error:
        raise asyncio.CancelledError from error


@asynccontextmanager
async def _idle(idle_s: float, what: str) -> AsyncIterator[None]:
    """Limit how long the block waits for the caller of a stream.

    Args:
        idle_s: Longest wait in seconds.
        what: What did not happen, for the message of the error: "was sent" or "was read".

    Raises:
        StreamIdle: the block took longer than `idle_s`.
    """
    limit = asyncio.timeout(idle_s)
    try:
        async with limit:
            yield
    except TimeoutError:
        if not limit.expired():
            raise
        raise StreamIdle(f"nothing {what} on the stream for {idle_s:g} s", stream_idle_s=f"{idle_s:g}") from None


def _refusing(error: ContextKeepError, around: Callable[..., Any]) -> Handler:
    """Return a handler that ends each call with an error, which gets its status and details as other errors do."""

    async def refuse(data: bytes, context: Context) -> None:
        async with around(context, unary=True) as call:
            if not call.is_refused:
                raise error

    return grpc.unary_unary_rpc_method_handler(refuse)
