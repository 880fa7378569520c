"""Long work of tenants in steps: it stops at pauses of its own, and goes on when it is the tenant's turn again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from uuid import UUID

from service_runtime.background_work import background
from service_runtime.postgres import Tenant

STEP_S = 1.0  # seconds of a tenant's work before the next tenant's turn; then it goes on to its next pause

# Work awaits it between bounded parts, outside of transactions. It returns whether others had their turn meanwhile.
Pause = Callable[[], Awaitable[bool]]
Work = Callable[[Pause], Awaitable[object]]


async def unpaused() -> bool:
    """Return at once: the pause of work that keeps no other work waiting."""
    return False


class LongWork:
    """The work of tenants that is under way in one run of `Rounds`, one of a tenant at a time.

    It is a context manager: work that has not ended by then is cancelled.

    Args:
        step_s: Seconds of a step. 0 ends it at the first pause.
    """

    def __init__(self, step_s: float) -> None:
        self._step_s = step_s
        self._under_way: dict[UUID, _InSteps] = {}

    async def __aenter__(self) -> LongWork:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for work in self._under_way.values():
            await work.cancel()

    async def step(self, tenant: Tenant, begin: Callable[[], Awaitable[Work | None]]) -> bool:
        """Go on with the work of a tenant for one step, and return whether there was any.

        Args:
            tenant: The tenant whose work goes on.
            begin: Returns the next work of the tenant if none is under way, or None if there is none.

        Raises:
            Exception: the error of the work. It is not under way any more.
        """
        work = self._under_way.get(tenant.tenant_id)
        if work is None:
            begun = await begin()
            if begun is None:
                return False
            work = self._under_way[tenant.tenant_id] = _InSteps(begun)
        has_ended = True
        try:
            has_ended = await work.step(self._step_s)
        finally:
            if has_ended:
                del self._under_way[tenant.tenant_id]
                await work.cancel()
        return True


class _InSteps:
    """Work in a task of its own; the task stops at a pause until the next step."""

    def __init__(self, work: Work) -> None:
        self._until = 0.0
        self._may_go_on, self._has_stopped = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._run(work))
        self._task.add_done_callback(lambda _: self._has_stopped.set())

    async def step(self, step_s: float) -> bool:
        """Let the work run for `step_s` and on to its next pause; return whether it has ended."""
        self._until = time.monotonic() + step_s
        self._has_stopped.clear()
        self._may_go_on.set()
        await self._has_stopped.wait()
        if self._task.done():
            self._task.result()
        return self._task.done()

    async def cancel(self) -> None:
        await background.ended(self._task)

    async def _run(self, work: Work) -> None:
        await self._may_go_on.wait()
        await work(self._pause)

    async def _pause(self) -> bool:
        """Pause at the end of a step until the work may go on; return whether it paused."""
        if time.monotonic() < self._until:
            return False
        self._may_go_on.clear()
        self._has_stopped.set()
        await self._may_go_on.wait()
        return True
