"""How long callers wait for a turn on the event loop, as a metric: each slow step delays all other calls.

Fifty times a second a timer asks for a turn. Its delay is measured by the clock, which is how long callers wait, and by
the CPU time that the loop's own thread takes meanwhile, which no other process can cause.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from service_runtime.telemetry.metrics import Metrics

INTERVAL_S = 0.02  # a step that takes less CPU than this is not seen
KEPT_S = 60.0  # the metrics are of the last minute


class LoopWaits:
    """The waits of the last minute, each with the CPU time of the loop's thread in it."""

    def __init__(self, interval_s: float | None = None) -> None:
        self._interval_s = interval_s or INTERVAL_S
        self._waits: deque[tuple[float, float, float]] = deque(maxlen=round(KEPT_S / self._interval_s))
        self._timer: asyncio.TimerHandle | None = None
        self._due_at = self._cpu_s = 0.0  # of the turn that is waited for; and the CPU time of the thread before it

    @contextmanager
    def watching(self, metrics: Metrics) -> Iterator[None]:
        """Watch the running loop for the block."""
        metrics.watch(
            "contextkeep_event_loop_wait_seconds",
            "Longest wait of the last minute for a turn on the event loop",
            lambda: self._longest(1),
        )
        metrics.watch(
            "contextkeep_event_loop_step_seconds",
            "CPU that the event loop's thread took at most while a turn was waited for, in the last minute",
            lambda: self._longest(2),
        )
        self.ask()
        try:
            yield
        finally:
            self.stop()

    def ask(self) -> None:
        """Ask the running loop for a turn after the interval, and so on until `stop`."""
        self._due_at, self._cpu_s = time.monotonic() + self._interval_s, time.thread_time()
        self._timer = asyncio.get_running_loop().call_later(self._interval_s, self.turn)

    def stop(self) -> None:
        """Ask for no more turns."""
        if self._timer is not None:
            self._timer.cancel()

    def turn(self) -> None:
        """Note the length of the wait for this turn, and ask for the next one."""
        self.stop()
        now = time.monotonic()
        # In the interval before it was due the loop may have worked without keeping a call waiting.
        self.waited(now, max(0.0, now - self._due_at), max(0.0, time.thread_time() - self._cpu_s - self._interval_s))
        self.ask()

    def waited(self, now: float, wait_s: float, step_s: float) -> None:
        """Note a wait that ended now, and the CPU that the loop's thread took in it."""
        self._waits.append((now, wait_s, step_s))

    def _longest(self, of: int) -> float:
        since = time.monotonic() - KEPT_S
        return max((wait[of] for wait in list(self._waits) if wait[0] > since), default=0.0)
