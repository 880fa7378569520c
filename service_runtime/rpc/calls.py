"""The call that is being answered: its id, principal, credential and deadline.

The interceptor sets it as a context variable. So the code that sets a statement's timeout knows how much time is left,
although no function between passes the deadline on. Servicers pass the principal to the rules as an argument; rules
never read it here.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from contextkeep.errors import PermissionDenied
from service_runtime.rpc.admission import CallSlot, Shares
from service_runtime.rpc.fair_queue import SLICE_S, FairQueue, Turn
from service_runtime.rpc.held_bytes import CallBytes, HeldBytes
from service_runtime.rpc.principal import Principal

if TYPE_CHECKING:
    from service_runtime.statements.replays import Replays
    from service_runtime.statements.requests import Request

_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True)
class Call:
    """One RPC under way."""

    call_id: str
    method: str  # "/contextkeep.entity.v1.EntityGraph/GetNode"
    peer: str = ""  # as gRPC names it: "ipv4:127.0.0.1:50000"
    deadline: float = math.inf  # on the monotonic clock
    principal: Principal | None = None
    scope: str = ""  # the scope that the call needs; empty if the method does not exist
    credential: str = ""  # the caller's credential, to be forwarded unchanged to a service that checks it itself
    request: object = None  # the request; the first message of a stream of requests
    response: object = None  # the response; None if there was none, and for a stream of responses
    slot: CallSlot | None = None  # the slot that the call has from its beginning
    turn: Turn | None = None  # the turn for expensive work; None until the call is admitted
    held: CallBytes | None = None  # bytes of its request and its answer; None until the call is admitted
    ledger: HeldBytes | None = None  # the ledger of the process, for further bytes that are held for the call
    is_kept: bool = False  # the audit log has a row of the call
    is_logged: bool = True  # False for calls of a flood without valid credentials
    is_refused: bool = False  # the caller has got the status of its error already, so no more work is done
    idempotent: Request | None = None  # the call's idempotency key, once its servicer has read it from the request
    acting: Principal | None = None  # the principal that the call acts for, if its request named a user
    replays: Replays | None = None  # answers repeated writes


# The part of a call's remaining time, and its largest length, that is kept for telling the caller that a dependency did
# not answer.
_TELLING = 0.1
_TELLING_S_MAX = 0.5

_NO_CALLER = Principal(tenant_id=UUID(int=0), subject="")  # the principal of background work
_parser_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, FairQueue] = WeakKeyDictionary()

current_call: ContextVar[Call | None] = ContextVar("current_call", default=None)


def principal() -> Principal:
    """Return the principal of the call under way. Only servicers ask."""
    call = current_call.get()
    assert call is not None and call.principal is not None, "no authenticated call is under way"
    return call.principal


def act_for(user_id: str) -> Principal:
    """Return the principal that the call under way acts for; see `Principal.acting_for`."""
    return _acting(principal().acting_for(user_id))


def act_for_somebody(user_id: str) -> Principal:
    """Return the principal that the call under way acts for, which must have a user.

    For calls about rows that always belong to a user, such as memories; see `Principal.acting_for_somebody`.
    """
    return _acting(principal().acting_for_somebody(user_id))


def _acting(acting: Principal) -> Principal:
    """Note the principal that the call under way acts for, and return it."""
    call = current_call.get()
    assert call is not None, "its principal is known"
    call.acting = acting
    return acting


def credential() -> str:
    """Return the credential of the call under way, or an empty text."""
    call = current_call.get()
    assert call is not None, "no call is under way"
    return call.credential


def hold_bytes() -> CallBytes:
    """Return a counter, at zero, of bytes that are held for the caller of the call under way.

    Use it as a context manager: the end of the block gives the charged bytes back. Outside of calls, such as in
    commands, it charges no caller.
    """
    call = current_call.get()
    if call is None or call.principal is None or call.ledger is None:
        return CallBytes(None, None)
    return call.ledger.for_caller(call.principal)


def leave_place() -> None:
    """Give back the slot and the ordinary turn of the call under way, because another limit counts the call."""
    call = current_call.get()
    assert call is not None, "no call is under way"
    if call.slot is not None:
        call.slot.give_back()
    if call.turn is not None:
        call.turn.end_ordinary()


@contextmanager
def without_slot() -> Iterator[None]:
    """Give back the slot of the call under way during the block: meanwhile it only waits and holds little memory.

    Raises:
        TooManyCalls: all slots are taken when the block ends.
    """
    call = current_call.get()
    slot = call.slot if call is not None else None
    if slot is not None:
        slot.give_back()
    yield
    if slot is not None:
        slot.take()


def require(scope: str) -> None:
    """Refuse the call under way if its principal lacks a scope: for RPCs whose scope depends on the request.

    Raises:
        PermissionDenied: the principal lacks the scope.
    """
    call = current_call.get()
    assert call is not None and call.principal is not None, "no authenticated call is under way"
    call.scope = scope
    if not call.principal.may(scope):
        raise PermissionDenied(f"the key lacks the scope {scope}", scope=scope)


def comes_down_to(request: object, response: object = None) -> None:
    """Note the real request and response of a call that wraps them, such as a tool's: the audit log has their ids."""
    call = current_call.get()
    assert call is not None, "no call is under way"
    call.request, call.response = request, response


async def take_turn() -> None:
    """Let the call under way wait for a turn before expensive work, if only a part of it is (`PARTLY` in the proto)."""
    call = current_call.get()
    assert call is not None and call.turn is not None, "no authenticated call is under way"
    await call.turn.take()


@asynccontextmanager
async def parser_turn() -> AsyncIterator[None]:
    """Reserve the thread that parses large documents during the block, once it is the turn of the call under way."""
    call = current_call.get()
    whose = _NO_CALLER if call is None or call.principal is None else call.principal
    turns = _parser_turns.setdefault(asyncio.get_running_loop(), FairQueue(1, Shares(of_tenant=1, of_key=1)))
    async with Turn(turns, whose) as turn:
        await turn.take()
        yield


def end_turn() -> None:
    """Give back the turn of the call under way, which has done its expensive work."""
    call = current_call.get()
    if call is not None and call.turn is not None:
        call.turn.give_back()


async def give_way() -> None:
    """Let other calls run, between two slices of work that takes long."""
    call = current_call.get()
    if call is None or call.turn is None:
        await asyncio.sleep(0)
    else:
        await call.turn.give_way()


async def in_slices(steps: Generator[None, None, _T]) -> _T:
    """Return the result of a generator; at its yields, let other tasks run whenever `SLICE_S` has passed.

    If the call is cancelled, the generator ends at such a yield. A step between two yields must take at most 10 ms of
    CPU, with any request (`tests/hostile/test_computations.py`).
    """
    pause_at = time.perf_counter() + SLICE_S
    try:
        while True:
            next(steps)
            if time.perf_counter() > pause_at:
                await give_way()
                pause_at = time.perf_counter() + SLICE_S
    except StopIteration as done:
        result: _T = done.value
        return result
    finally:
        steps.close()


@asynccontextmanager
async def aside() -> AsyncIterator[None]:
    """Give back the turn of the call under way during the block: meanwhile it only waits for its caller or a server."""
    call = current_call.get()
    if call is None or call.turn is None:
        yield
        return
    async with call.turn.aside():
        yield


def apart(work: Callable[[], Awaitable[_T]], *, within_s: float) -> asyncio.Task[_T]:
    """Return a task that goes on with the work of the call under way, while the call writes to its caller.

    The turn of the call moves to the task: the call's writes neither give it back nor take it again, and a slow reader
    does not block it. The caller of this function waits for the task or cancels it.

    Args:
        work: The rest of the call's work, which the task runs.
        within_s: Seconds after which the work is cancelled. A deadline of the call that is earlier still holds.

    Raises:
        TimeoutError: raised in the task, when `within_s` has passed.
    """
    call = current_call.get()
    assert call is not None, "a call is under way"
    with_turn = replace(call, deadline=min(call.deadline, time.monotonic() + within_s))

    async def working() -> _T:
        current_call.set(with_turn)
        async with asyncio.timeout(within_s):
            return await work()

    task = asyncio.create_task(working())
    current_call.set(replace(call, turn=None))
    return task


def remaining_s() -> float:
    """Return the seconds until the deadline of the call under way; infinity outside of calls or without a deadline."""
    call = current_call.get()
    return math.inf if call is None else call.deadline - time.monotonic()


def answer_s(left_s: float) -> float:
    """Return the part of `left_s` that a dependency may take, so that there is time to report that it did not answer.

    A caller that only sees its deadline pass knows neither which dependency failed nor that a retry may help.
    """
    return max(left_s - min(left_s * _TELLING, _TELLING_S_MAX), 0.001)


def raise_if_cancelled() -> None:
    """Stop here if the task was cancelled, although nothing has raised yet.

    `asyncio.wait_for` of Python 3.11, which psycopg waits with, loses a cancellation that arrives together with its
    result. Call this before an effect that must not happen for a caller that went away.

    Raises:
        asyncio.CancelledError: the task was cancelled.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
