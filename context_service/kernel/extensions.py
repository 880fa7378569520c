"""Extensions that operators install to replace parts of the service, as a package with an entry point.

The entry point is in the group `contextkeep.extensions`, and its name says which part it replaces (`POINTS`). It refers
to a callable without arguments that returns the part: a function. An extension runs with the service's own rights, so
the operator must trust its code; its answers are checked like any text from outside. If it raises an error, is late or
gives an invalid answer, the built-in code does the work.

The service does not start with an unusable extension: if its entry point fails, its name is unknown, or two packages
install an extension of the same name.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from contextkeep.errors import FailedPrecondition

GROUP = "contextkeep.extensions"
# The parts, by name. A name with a dot is followed by a name of the extension's own: `token_counter.claude`.
POINTS = frozenset(
    {"context_middleware", "importance_scorer", "state_extractor", "summarizer", "summarization_validator"}
)
NAMED_POINTS = frozenset({"compression_profile", "message_renderer", "token_counter"})

LINGERING_MAX = 4  # calls of an extension that still run after their time
PAUSE_S = 60.0  # pause of an extension that failed three times in a row
_FAILURES_MAX = 3

_log = logging.getLogger("extensions")
_T = TypeVar("_T")


class ExtensionInvalid(FailedPrecondition):
    """An installed extension cannot be used."""

    reason = "EXTENSION_INVALID"


class Unusable(Exception):
    """Raised when an extension gives no usable answer. Its text is the reason."""


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    """Return all installed extensions; read once, since that reads the metadata of each package."""
    return tuple(entry_points(group=GROUP))


@cache
def installed(name: str) -> Callable[..., Any] | None:
    """Return the installed extension of a part, or None if the built-in code does the work.

    Raises:
        ExtensionInvalid: the entry point fails, or two packages install an extension of this name.
    """
    entries = [entry for entry in _entry_points() if entry.name == name]
    if len(entries) > 1:
        raise ExtensionInvalid(f"the extension {name!r} is installed {len(entries)} times; uninstall all but one")
    return _load(entries[0]) if entries else None


def installed_names(point: str) -> list[str]:
    """Return the names after the dot that are installed for a part."""
    return sorted(entry.name.partition(".")[2] for entry in _entry_points() if entry.name.startswith(f"{point}."))


def check_installed() -> list[str]:
    """Load all installed extensions, and return their names.

    Raises:
        ExtensionInvalid: an extension cannot be used.
    """
    names = sorted(entry.name for entry in _entry_points())
    for name in names:
        point, _, own = name.partition(".")
        if not (point in NAMED_POINTS if own else point in POINTS):
            raise ExtensionInvalid(f"the extension {name!r} is unknown: use one of {_listed()}")
        installed(name)
    return names


class Guarded:
    """An extension that is called directly: a function that must answer at once.

    Args:
        name: The name of the extension's entry point.
        call: The function that the extension installed.
        call_s: Seconds that a call may take; a longer call counts as a failure, though its answer is used.
    """

    def __init__(self, name: str, call: Callable[..., Any], *, call_s: float) -> None:
        self._name = name
        self._call = call
        self._call_s = call_s
        self._pauses = _Pauses(name)

    def __call__(self, check: Callable[[Any], _T], *args: Any) -> _T:
        """Call the extension and return its checked answer.

        Args:
            check: Returns the answer in the form in which it is used, or raises if it is invalid.
            args: The arguments of the call.

        Raises:
            Unusable: the extension raised an error, its answer is invalid, or it is paused after failures.
        """
        self._pauses.check()
        began = time.perf_counter()
        try:
            checked_answer = check(self._call(*args))
        except Exception as error:
            raise self._pauses.failed(f"{type(error).__name__}: {error}") from error
        if time.perf_counter() - began > self._call_s:
            self._pauses.failed("it is slow")
        else:
            self._pauses.answered()
        return checked_answer


class Awaited:
    """An extension with a timeout: a plain function, which runs in a thread, or a coroutine function.

    A thread that is late is not awaited. While four late threads still run, the extension is not called.

    Args:
        name: The name of the extension's entry point.
        call: The function that the extension installed.
        call_s: Seconds after which a call fails.
    """

    def __init__(self, name: str, call: Callable[..., Any], *, call_s: float) -> None:
        self._name = name
        self._call = call
        self._call_s = call_s
        self._pauses = _Pauses(name)
        self._going_on = 0

    async def __call__(self, check: Callable[[Any], _T], *args: Any) -> _T:
        """Call the extension and return its checked answer; the arguments are those of `Guarded`.

        Raises:
            Unusable: the extension raised an error, did not answer in time, gave an invalid answer, or is paused after
                failures.
        """
        self._pauses.check()
        if self._going_on >= LINGERING_MAX:
            raise Unusable(f"it is not called while {LINGERING_MAX} earlier calls of it still run")
        try:
            async with asyncio.timeout(self._call_s):
                if inspect.iscoroutinefunction(self._call):
                    answer = await self._call(*args)
                else:
                    answer = await self._in_thread(args)
            checked_answer = check(answer)
        except TimeoutError:
            raise self._pauses.failed(f"it did not answer within {self._call_s:g} s") from None
        except Exception as error:
            raise self._pauses.failed(f"{type(error).__name__}: {error}") from error
        self._pauses.answered()
        return checked_answer

    async def _in_thread(self, args: tuple[Any, ...]) -> Any:
        """Call the extension in a thread that is never joined, so that the service can stop while the thread hangs."""
        loop, context = asyncio.get_running_loop(), copy_context()
        future: asyncio.Future[Any] = loop.create_future()

        def tell(answer: Any, error: BaseException | None) -> None:
            self._going_on -= 1
            if future.done():
                return
            if error is None:
                future.set_result(answer)
            else:  # wrap the error, because one such as `SystemExit` would end the task or the loop
                future.set_exception(RuntimeError(f"{type(error).__name__}: {error}"))

        def run() -> None:
            answer: Any = None
            raised: BaseException | None = None
            try:
                answer = context.run(self._call, *args)
            except BaseException as error:
                raised = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(tell, answer, raised)

        self._going_on += 1
        threading.Thread(target=run, name=f"extension {self._name}", daemon=True).start()
        return await future


class _Pauses:
    """Pauses the calls of an extension that failed several times in a row."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._failures = 0
        self._again_at = 0.0

    def check(self) -> None:
        """Raise `Unusable` while the extension is paused."""
        if time.monotonic() < self._again_at:
            raise Unusable(f"it failed {_FAILURES_MAX} times in a row, and is not called for {PAUSE_S:g} s")

    def failed(self, why: str) -> Unusable:
        """Count and log a failure, pause the extension if it failed too often, and return the error to raise."""
        self._failures += 1
        if self._failures >= _FAILURES_MAX:
            self._failures, self._again_at = 0, time.monotonic() + PAUSE_S
        _log.warning("extension skipped", extra={"extension": self._name, "why": why[:200]})
        return Unusable(why[:200])

    def answered(self) -> None:
        """Reset the count of failures after a valid answer."""
        self._failures = 0


def _load(entry_point: EntryPoint) -> Callable[..., Any]:
    """Return the function of an extension.

    Raises:
        ExtensionInvalid: its entry point fails, or returns no function.
    """
    name = f"the extension {entry_point.name!r} ({entry_point.value})"
    try:
        extension: object = entry_point.load()()
    except Exception as error:
        raise ExtensionInvalid(f"{name} cannot be made: {type(error).__name__}: {error}") from error
    if not callable(extension):
        raise ExtensionInvalid(f"{name} is not an extension: its entry point must return a function")
    return extension


def _listed() -> str:
    return ", ".join([*sorted(POINTS), *(f"{point}.NAME" for point in sorted(NAMED_POINTS))])
