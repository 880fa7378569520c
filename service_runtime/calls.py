"""The call that is being answered: its id, principal, credential and deadline.

Held in a context variable, set by the interceptor, so that a statement timeout deep below knows how much time is left
without every signature carrying it. Servicers hand the principal to the rules by name; rules never look here.
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
from service_runtime.auth import Principal
from service_runtime.held_bytes import CallBytes, HeldBytes
from service_runtime.places import CallSlot, Shares
from service_runtime.turns import SLICE_S, Turn, Turns

if TYPE_CHECKING:
    from service_runtime.replays import Replays
    from service_runtime.requests import Request

_T = TypeVar("_T")


@dataclass(slots=True, kw_only=True)
class Call:
    """One RPC under way."""

    call_id: str
    method: str  # "/contextkeep.entity.v1.EntityGraph/GetNode"
    peer: str = ""  # as gRPC names it: "ipv4:127.0.0.1:50000"
    deadline: float = math.inf  # on the monotonic clock
    principal: Principal | None = None
    scope: str = ""  # that it needs; empty: nobody serves the method
    credential: str = ""  # forwarded as it came, to a service that checks it itself
    request: object = None  # the first message, of a stream
    response: object = None  # the last one; None: there was none, or it is one of a stream
    place: CallSlot | None = None  # among the calls under way
    turn: Turn | None = None  # of expensive work; None: the call is not let in yet
    held: CallBytes | None = None  # bytes of its request and its answer; None: the call is not let in yet
    ledger: HeldBytes | None = None  # of the process, for what else is held for the call
    is_kept: bool = False  # as a row of the audit log
    is_logged: bool = True  # False: one of a flood of calls without a valid credential
    is_refused: bool = False  # its caller has the status already: nobody does any work for it
    idempotent: Request | None = None  # the write that it is, once its servicer has read that
    acting: Principal | None = None  # whom it acts for, if its request named a user
    replays: Replays | None = None  # answers writes that come again


# Of the time that is left of a call, what is kept for telling the caller that a dependency did not answer.
_TELLING = 0.1
_TELLING_S_MAX = 0.5

_NO_CALLER = Principal(tenant_id=UUID(int=0), subject="")  # of work in the background
_parser_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()

current_call: ContextVar[Call | None] = ContextVar("current_call", default=None)


def principal() -> Principal:
    """Return the principal of the call under way. Only servicers ask."""
    call = current_call.get()
    assert call is not None and call.principal is not None, "no authenticated call is under way"
    return call.principal


def act_for(user_id: str) -> Principal:
    """Return whom the call under way acts for, of which the request may name a user; see `Principal.acting_for`."""
    return _acting(principal().acting_for(user_id))


def act_for_somebody(user_id: str) -> Principal:
    """Return `act_for`, of a call about what is always a user's; see `Principal.acting_for_somebody`."""
    return _acting(principal().acting_for_somebody(user_id))


def _acting(acting: Principal) -> Principal:
    call = current_call.get()
    assert call is not None, "its principal is known"
    call.acting = acting
    return acting


def credential() -> str:
    """Return what the caller of the call under way showed; empty: nothing."""
    call = current_call.get()
    assert call is not None, "no call is under way"
    return call.credential


def hold_bytes() -> CallBytes:
    """Return what the process holds for the caller of the call under way; the block that uses it gives it back.

    Work that is no caller's, as that of commands, is charged to nobody.
    """
    call = current_call.get()
    if call is None or call.principal is None or call.ledger is None:
        return CallBytes(None, None)
    return call.ledger.for_caller(call.principal)


def leave_place() -> None:
    """Let the call under way take no place among calls: who serves it counts it elsewhere."""
    call = current_call.get()
    assert call is not None, "no call is under way"
    if call.place is not None:
        call.place.give_back()
    if call.turn is not None:
        call.turn.end_ordinary()


@contextmanager
def without_place() -> Iterator[None]:
    """Let the call under way leave its place among calls for the block, in which it waits and holds little.

    Raises:
        TooManyCalls: all places are taken at the end of the block.
    """
    call = current_call.get()
    place = call.place if call is not None else None
    if place is not None:
        place.give_back()
    yield
    if place is not None:
        place.take()


def require(scope: str) -> None:
    """Refuse the call under way if its principal lacks a scope: for RPCs whose request says what they do.

    Raises:
        PermissionDenied: it lacks it.
    """
    call = current_call.get()
    assert call is not None and call.principal is not None, "no authenticated call is under way"
    call.scope = scope
    if not call.principal.may(scope):
        raise PermissionDenied(f"the key lacks the scope {scope}", scope=scope)


def comes_down_to(request: object, response: object = None) -> None:
    """Say which RPC's messages the call under way stands for, so that the audit log has their ids."""
    call = current_call.get()
    assert call is not None, "no call is under way"
    call.request, call.response = request, response


async def take_turn() -> None:
    """Let the call under way wait for a turn, before the expensive part of its work (`PARTLY` in the proto)."""
    call = current_call.get()
    assert call is not None and call.turn is not None, "no authenticated call is under way"
    await call.turn.take()


@asynccontextmanager
async def parser_turn() -> AsyncIterator[None]:
    """Have the thread that parses large documents for the block, once it is the turn of the call under way."""
    call = current_call.get()
    whose = _NO_CALLER if call is None or call.principal is None else call.principal
    turns = _parser_turns.setdefault(asyncio.get_running_loop(), Turns(1, Shares(of_tenant=1, of_key=1)))
    async with Turn(turns, whose) as turn:
        await turn.take()
        yield


def end_turn() -> None:
    """Give back the turn of the call under way: it has done its expensive work."""
    call = current_call.get()
    if call is not None and call.turn is not None:
        call.turn.give_back()


async def give_way() -> None:
    """Give the event loop to others, between two slices of work that takes long."""
    call = current_call.get()
    if call is None or call.turn is None:
        await asyncio.sleep(0)
    else:
        await call.turn.give_way()


async def in_slices(steps: Generator[None, None, _T]) -> _T:
    """Return what a generator returns, giving the event loop to others where it yields and a slice has passed.

    Whoever leaves the call stops it there. A step between two yields takes 10 ms of CPU at most, whatever a caller sent
    (`tests/hostile/test_computations.py`).
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
    """Leave the turn of the call under way to others for the block, in which it only waits for another server."""
    call = current_call.get()
    if call is None or call.turn is None:
        yield
        return
    async with call.turn.aside():
        yield


def apart(work: Callable[[], Awaitable[_T]], *, within_s: float) -> asyncio.Task[_T]:
    """Return a task that goes on with the work of the call under way, while the call writes to its caller.

    The turn of the call is the task's: what is written meanwhile neither leaves it nor takes it anew, and who reads
    slowly does not keep it. Who makes the task sees to its end.

    Args:
        work: What is to be done.
        within_s: How long it may take, if the call has not an earlier deadline. It is cancelled then.

    Raises:
        TimeoutError: in the task, when its time is up.
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
    """Return how long a dependency may take of `left_s`, so that the caller can still be told that it did not answer.

    A caller who only sees the deadline pass does not know whom to ask, nor that trying again may help.
    """
    return max(left_s - min(left_s * _TELLING, _TELLING_S_MAX), 0.001)


def raise_if_cancelled() -> None:
    """Stop here if the task was asked to, though nothing raised so far.

    `asyncio.wait_for` of Python 3.11, which psycopg waits with, loses a cancellation that arrives together with its
    result. Asked before what must not happen for a caller who went away.

    Raises:
        asyncio.CancelledError: the task was cancelled.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
