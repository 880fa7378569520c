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
    scope: str = ""  # the scope that it needs; empty if the method does not exist
    credential: str = ""  # forwarded as it came, to a service that checks it itself
    request: object = None  # the request; of a stream, its first message
    response: object = None  # the last response; None if there was none, or if it is one of a stream
    slot: CallSlot | None = None  # the slot that the call has from its beginning
    turn: Turn | None = None  # the turn for expensive work; None until the call is admitted
    held: CallBytes | None = None  # bytes of its request and its answer; None until the call is admitted
    ledger: HeldBytes | None = None  # of the process, for other bytes that are held for the call
    is_kept: bool = False  # as a row of the audit log
    is_logged: bool = True  # False: one of a flood of calls without a valid credential
    is_refused: bool = False  # its caller has the status already, so no more work is done for it
    idempotent: Request | None = None  # the write that it is, once its servicer has read that
    acting: Principal | None = None  # the principal that it acts for, if its request named a user
    replays: Replays | None = None  # answers writes that come again


# The part of a call's remaining time that is kept for telling the caller that a dependency did not answer.
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
    """Return `act_for` of a call about rows that always belong to a user; see `Principal.acting_for_somebody`."""
    return _acting(principal().acting_for_somebody(user_id))


def _acting(acting: Principal) -> Principal:
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
    """Return the ledger of bytes held for the caller of the call under way; the block that charges it gives it back.

    Background work, such as that of commands, is charged to no caller.
    """
    call = current_call.get()
    if call is None or call.principal is None or call.ledger is None:
        return CallBytes(None, None)
    return call.ledger.for_caller(call.principal)


def leave_place() -> None:
    """Give back the slot of the call under way: another limit counts the call."""
    call = current_call.get()
    assert call is not None, "no call is under way"
    if call.slot is not None:
        call.slot.give_back()
    if call.turn is not None:
        call.turn.end_ordinary()


@contextmanager
def without_slot() -> Iterator[None]:
    """Give back the slot of the call under way for the block; the call waits and holds little meanwhile.

    Raises:
        TooManyCalls: all slots are taken at the end of the block.
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
        PermissionDenied: it lacks it.
    """
    call = current_call.get()
    assert call is not None and call.principal is not None, "no authenticated call is under way"
    call.scope = scope
    if not call.principal.may(scope):
        raise PermissionDenied(f"the key lacks the scope {scope}", scope=scope)


def comes_down_to(request: object, response: object = None) -> None:
    """Note the request and the response that the call under way stands for, so that the audit log has their ids."""
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
    turns = _parser_turns.setdefault(asyncio.get_running_loop(), FairQueue(1, Shares(of_tenant=1, of_key=1)))
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
    """Return the result of a generator, and run other tasks at its yields whenever a slice has passed.

    A cancelled call stops it there. A step between two yields takes 10 ms of CPU at most, with any request
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
    """Give back the turn of the call under way for the block; the call only waits for another server meanwhile."""
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
        within_s: Cancels it after this time, if the call has no earlier deadline.

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
