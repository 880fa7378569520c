"""Compiles mappings off the event loop: few at a time, with a fair queue by API key, and only while a caller waits.

Python runs one thread at a time, so more threads would not compile faster and would slow down the event loop. If a call
is cancelled, its compilation stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import TypeVar

from context_service.history.pure.limits import HistoryLimits
from context_service.kernel.cel import CompileBudget
from service_runtime.rpc.admission import Shares
from service_runtime.rpc.fair_queue import FairQueue, Turn
from service_runtime.rpc.principal import Principal

THREADS = 2
_SHARES = Shares(of_tenant=1, of_key=0.5)  # a tenant may use all threads, and one API key one of the two

_T = TypeVar("_T")


class CompilePool:
    """The threads that compile mappings; one pool for each process."""

    def __init__(self, limits: HistoryLimits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="compile")
        self._turns = FairQueue(THREADS, _SHARES)

    @asynccontextmanager
    async def turn(self, principal: Principal) -> AsyncIterator[None]:
        """Reserve a thread for the block; a cancelled caller stops waiting."""
        async with Turn(self._turns, principal) as turn:
            await turn.take()
            yield

    async def run(self, work: Callable[[CompileBudget], _T]) -> _T:
        """Run `work` off the event loop, and return its result; only within a `turn`.

        If the caller is cancelled, `work` is stopped, and the call ends some milliseconds later.
        """
        budget = self._limits.compile_budget(gives_way=True)
        working = asyncio.get_running_loop().run_in_executor(self._threads, work, budget)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            budget.stop()
            working.add_done_callback(
                lambda result: result.cancelled() or result.exception()
            )  # or asyncio would log it
            await asyncio.wait([working])
            raise
