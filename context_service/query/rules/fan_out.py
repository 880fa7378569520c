"""Asks many providers at the same time: each within its deadline, all within the call's; late ones are not awaited.

This file knows only asyncio, not providers or their answers. A search that does not end when it is cancelled is kept
by a reaper until it ends. A provider with many such searches is not asked again until some of them have ended.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass

# The most searches of one provider that may still run, in tasks that missed their deadline or in threads.
LINGERING_MAX = 8


class Late(Exception):
    """A provider did not answer in time, and is cancelled."""


class Busy(Exception):
    """Earlier searches of a provider have not ended, so it was not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderResult:
    """The result of asking one provider, and how long it took."""

    result: object = None
    error: BaseException | None = None
    took_s: float = 0.0


class Reaper:
    """Keeps searches that were cancelled, and threads that still run, until they end."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[object]] = set()
        self._threads: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._of: Counter[str] = Counter()

    @property
    def lingering(self) -> int:
        """The number of searches that still run after their answers."""
        return len(self._tasks)

    def is_full(self, provider_id: str) -> bool:
        """Say whether too many searches of a provider are still running."""
        with self._lock:
            return self._of[provider_id] + self._threads[provider_id] >= LINGERING_MAX

    def bury(self, provider_id: str, task: asyncio.Task[object]) -> None:
        """Cancel a search, and keep it until it has ended; its result or error is dropped."""
        task.cancel()
        self._tasks.add(task)
        self._of[provider_id] += 1

        def ended(_: object) -> None:
            self._tasks.discard(task)
            self._of[provider_id] -= 1
            if not task.cancelled():
                task.exception()  # reading the error keeps asyncio from logging that nothing has read it

        task.add_done_callback(ended)

    async def in_thread(self, provider_id: str, work: Callable[[], object]) -> object:
        """Run a function that may block in a thread of its own, and return its result.

        The thread is never joined, so that the service can stop while one hangs.

        Raises:
            Whatever the function raises.
        """
        loop, context = asyncio.get_running_loop(), copy_context()
        future: asyncio.Future[object] = loop.create_future()

        def tell(result: object, error: BaseException | None) -> None:
            """Pass the result or the error of the thread to its awaiter, if it still waits; this runs on the loop."""
            if future.done():
                return
            if error is None:
                future.set_result(result)
            elif isinstance(error, Exception) and not isinstance(error, StopIteration):
                future.set_exception(error)
            else:  # replace errors that would end the task or the event loop, such as SystemExit
                future.set_exception(RuntimeError(f"it raised {type(error).__name__}"))

        def run() -> None:
            """Run the function in the thread, and report its end to the event loop."""
            result: object = None
            error: BaseException | None = None
            try:
                result = context.run(work)
            except BaseException as raised:
                error = raised
            finally:
                with self._lock:
                    self._threads[provider_id] -= 1
            if not loop.is_closed():
                loop.call_soon_threadsafe(tell, result, error)

        with self._lock:
            self._threads[provider_id] += 1
        threading.Thread(target=run, name=f"provider {provider_id}", daemon=True).start()
        return await future

    async def end(self, *, wait_s: float) -> None:
        """Wait a while for running searches, when the service stops."""
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=wait_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderCall:
    """One provider's part of a fan-out."""

    provider_id: str
    deadline_s: float  # from now
    search: Callable[[], Awaitable[object]]


async def ask_all(
    questions: Sequence[ProviderCall], reaper: Reaper, *, ended: Callable[[str, ProviderResult], None] | None = None
) -> Mapping[str, ProviderResult]:
    """Ask all providers at the same time, and return each one's result by its id.

    This takes at most a little longer than the longest deadline. If the call is cancelled, so are all searches.

    Args:
        questions: The calls to make; each is for a different provider.
        reaper: Keeps the searches that miss their deadline, until they end.
        ended: Called with the provider's id and result when its part ends, in the order in which the parts end.
    """
    outcomes: dict[str, ProviderResult] = {}
    began = time.monotonic()
    running: dict[asyncio.Task[object], ProviderCall] = {}

    def over(provider_id: str, outcome: ProviderResult) -> None:
        outcomes[provider_id] = outcome
        if ended is not None:
            ended(provider_id, outcome)

    for question in questions:
        if reaper.is_full(question.provider_id):
            over(question.provider_id, ProviderResult(error=Busy()))
        else:
            running[asyncio.create_task(_awaited(question.search))] = question
    try:
        while running:
            next_s = min(call.deadline_s for call in running.values()) - (time.monotonic() - began)
            done, _ = await asyncio.wait(running, timeout=max(next_s, 0.0), return_when=asyncio.FIRST_COMPLETED)
            took_s = time.monotonic() - began
            for task in done:
                over(running.pop(task).provider_id, _outcome(task, took_s))
            for task, call in list(running.items()):
                if call.deadline_s <= took_s:
                    del running[task]
                    reaper.bury(call.provider_id, task)
                    over(call.provider_id, ProviderResult(error=Late(), took_s=took_s))
    finally:
        for task, call in running.items():
            reaper.bury(call.provider_id, task)
    return outcomes


async def _awaited(search: Callable[[], Awaitable[object]]) -> object:
    """Run the search of a provider; an error that would end the process becomes an ordinary one."""
    try:
        return await search()
    except (SystemExit, KeyboardInterrupt) as error:  # raised in a task, these errors would end the process
        raise RuntimeError(f"it raised {type(error).__name__}") from error


def _outcome(task: asyncio.Task[object], took_s: float) -> ProviderResult:
    """Return the answer or the error of a provider's finished task."""
    if task.cancelled():  # the provider cancelled itself, because this service never cancels a task that it awaits
        return ProviderResult(error=RuntimeError("it cancelled itself"), took_s=took_s)
    error = task.exception()
    return ProviderResult(error=error, took_s=took_s) if error else ProviderResult(result=task.result(), took_s=took_s)


def is_blocking(search: Callable[..., object]) -> bool:
    """Say whether a provider's `search` is a plain function, which must run in a thread."""
    return not inspect.iscoroutinefunction(search)
