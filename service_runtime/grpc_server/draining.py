"""The end of a gRPC server: take over each call that has arrived, then stop.

gRPC's core, the C library below grpc.aio, tells callers to go elsewhere (GOAWAY) only when it stops. It then drops,
with CANCELLED, each call that it has received and not handed over (github.com/grpc/grpc/issues/41785). grpc.aio asks
core for one call at a time, and needs about six passes of the event loop for it, so a busy loop leaves a backlog in
core, and a call that arrives in the very moment of the stop is lost, too. So ask core for many calls at once, and
refuse these with UNAVAILABLE, which callers retry.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
from grpc._cython import cygrpc

from contextkeep.errors import ContextKeepError, Unavailable
from contextkeep.status import DETAILS_KEY, details_of, message_of

CALLS_AT_ONCE = 128  # calls requested from core: more than arrive within a few passes of a busy loop
BACKLOG_S_MAX = 2.0  # longest time that arrived calls may take
_LOOK_S = 0.01
_LOOKS = 10  # looks in a row that must find no backlog; one is not enough, because core's threads may not have run


class Refusals:
    """Takes calls over from core, next to the accept loop of grpc.aio, and ends them with UNAVAILABLE."""

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server: Any = server._server
        self.count = 0
        self._answers: set[asyncio.Task[None]] = set()

    async def accept(self) -> None:
        """Refuse calls, one after the other, until the server stops."""
        while True:
            try:
                call = await self._server._request_call()
            except cygrpc._RequestCallError:  # the server stops: core hands over no call any more
                return
            self.count += 1
            answer = asyncio.create_task(_refuse(call))
            self._answers.add(answer)
            answer.add_done_callback(self._answers.discard)

    async def caught_up(self, timeout_s: float) -> None:
        """Wait until core has handed over its backlog, or until `timeout_s` are over.

        As long as there is a backlog, core answers each request for a call at once.
        """
        give_up_at = time.monotonic() + timeout_s
        await asyncio.sleep(0)  # the requests for calls reach core meanwhile
        looks = 0
        while looks < _LOOKS and time.monotonic() < give_up_at:
            before = self.count
            await asyncio.sleep(_LOOK_S)
            looks = looks + 1 if self.count - before < CALLS_AT_ONCE // 2 else 0

    async def answered(self) -> None:
        """Wait until each call that was taken over has its answer."""
        while self._answers:
            await asyncio.wait(self._answers)


@asynccontextmanager
async def refusing(server: grpc.aio.Server, *, timeout_s: float) -> AsyncIterator[Refusals]:
    """Refuse calls from now on, and enter the block when none waits in core; the block stops the server.

    Args:
        server: The running server, which the block stops.
        timeout_s: Longest wait for the backlog of core; 0 answers no call of it.
    """
    refusals = Refusals(server)
    accepting = [asyncio.create_task(refusals.accept()) for _ in range(CALLS_AT_ONCE)]
    try:
        await refusals.caught_up(timeout_s)
        yield refusals
    finally:
        await asyncio.gather(*accepting)
        await refusals.answered()


async def _refuse(call: Any) -> None:
    """Refuse a call while the server stops; clients send it again, to another replica."""
    error: ContextKeepError = Unavailable("the server is stopping; send the call again")
    context = cygrpc._ServicerContext(call, None, None, asyncio.get_running_loop())
    try:
        await context.abort(error.code, message_of(error), ((DETAILS_KEY, details_of(error)),))
    except (grpc.aio.AbortError, grpc.aio.InternalError, cygrpc.ExecuteBatchError):  # it is refused, or gone
        return
