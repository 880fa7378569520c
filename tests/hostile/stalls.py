"""A stall probe: how long a second caller waits for its turn on the services' loop while another does its worst.

Each 10 ms something asks for its turn, as the bytes of any cheap call do. What counts is the CPU time that the threads
of the services take until it has it: the loop's, for what runs there, and those of others, for a parser or a regular
expression keeps the interpreter from the loop in any thread. What the machine does meanwhile for others does not count.
The loop's own part has a bound of its own: there no step may take longer than a slice.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from service_runtime.telemetry.loop_waits import LoopWaits
from tests import cpu
from tests.clients.stack import running_in_a_thread
from tests.conftest import Addresses

AT_ONCE = 2  # attackers; a stall is one that is seen twice
STALL_S_MAX = 0.05
STEP_S_MAX = 0.04  # of the loop alone: a slice takes 10 ms, on a busy machine more
_STEP_ONCE_S_MAX = 0.1
_ONCE_S_MAX = 0.2  # what is seen once may be the machine's doing: cold caches, a clock that is turned down
_INTERVAL_S = 0.01
_WAIT_S_MAX = 60.0

_THREADS = ("services", "documents", "compile", "asyncio_")  # whose names begin so are of the services


class StallProbe(LoopWaits):
    """Watches the loop of some services, from within: a thread that asks could itself not get the interpreter."""

    def __init__(self) -> None:
        super().__init__(_INTERVAL_S)
        self._waits_s: list[float] = []
        self._steps_s: list[float] = []  # the part of each wait that the loop itself took
        self._loop: asyncio.AbstractEventLoop
        self._before: dict[int, float] = {}  # CPU time by thread, when it asked
        self._is_watching = False  # in no block of a test nothing is asked: it costs a fiftieth of a core

    @contextmanager
    def watching_loop(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Watch this loop, within the blocks of `nobody_waits` in this block."""
        self._loop = loop
        yield

    @contextmanager
    def nobody_waits(self) -> Iterator[None]:
        """Refuse a block in which another caller waits twice for more than `STALL_S_MAX` of CPU time.

        Nor may the loop itself take more than `STEP_S_MAX` of it twice, and neither much more once.

        Raises:
            AssertionError: it does.
        """
        self._waits_s.clear()
        self._steps_s.clear()
        self._turn_now(is_watching=True)
        gc.disable()  # a collection that walks all of pytest would be the longest stall; a service's has less to walk
        try:
            yield
        finally:
            gc.enable()
            self._turn_now(is_watching=False)
        for waits_s, twice_s_max, once_s_max, whose in (
            (self._waits_s, STALL_S_MAX, _ONCE_S_MAX, ""),
            (self._steps_s, STEP_S_MAX, _STEP_ONCE_S_MAX, " of the loop"),
        ):
            worst_s, second_s = sorted([*waits_s, 0.0])[:-3:-1]
            found = f"another caller waited for {worst_s * 1000:.0f} and {second_s * 1000:.0f} ms of CPU time{whose}"
            if second_s > twice_s_max or worst_s > once_s_max:
                slowness = cpu.slowness()
                assert second_s <= twice_s_max * slowness, found
                assert worst_s <= once_s_max * slowness, found

    def ask(self) -> None:
        if self._is_watching:
            super().ask()

    def waited(self, now: float, wait_s: float, step_s: float) -> None:
        before, self._before = self._before, _cpu_s()
        taken_s = sum(cpu_s - before.get(thread, 0.0) for thread, cpu_s in self._before.items())
        self._waits_s.append(max(0.0, taken_s - _INTERVAL_S))
        self._steps_s.append(step_s)

    def _turn_now(self, *, is_watching: bool) -> None:
        """End the wait that is under way, if there is one, and begin the next, if there is to be one."""
        ended = threading.Event()

        def turn() -> None:
            if self._is_watching:
                self._is_watching = is_watching
                self.turn()
            else:
                self._is_watching = is_watching
                self._before = _cpu_s()
                self.ask()
            ended.set()

        self._loop.call_soon_threadsafe(turn)
        assert ended.wait(_WAIT_S_MAX), "the loop gives no turns"


PROBES: dict[str, StallProbe] = {}  # of the services that run, by the fixture that runs them


@contextmanager
def watched(fixture: str, database_url: str, folder: Path, **settings: Any) -> Iterator[Addresses]:
    """Run both services for the block next to a probe, which each test that uses the fixture asks.

    Args:
        fixture: Its name. A test that runs the services itself gives a name, too, and asks the probe itself.
        database_url: Of the services' role.
        folder: Where blobs go.
        settings: As of `running_in_a_thread`.
    """
    probe = StallProbe()
    with running_in_a_thread(database_url, folder, watching=probe.watching_loop, **settings) as addresses:
        PROBES[fixture] = probe
        try:
            yield addresses
        finally:
            del PROBES[fixture]


def _cpu_s() -> dict[int, float]:
    """Return the CPU time of each thread of the services."""
    if not hasattr(time, "pthread_getcpuclockid"):  # macOS
        return {}
    found = {}
    for thread in threading.enumerate():
        if thread.ident is not None and thread.name.startswith(_THREADS):
            try:
                found[thread.ident] = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
            except OSError:  # it has just ended
                continue
    return found
