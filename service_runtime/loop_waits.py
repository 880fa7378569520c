"""How long callers wait for a turn on the event loop: what one call does to all others, as a metric.

Fifty times a second a timer asks for a turn. What it waits for beyond its time is counted by the clock, which is what
callers feel, and by the CPU that the loop's own thread takes meanwhile, which no other process can cause.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from service_runtime.metrics import Metrics

INTERVAL_S = 0.02  # a step that takes less CPU than this is not seen
KEPT_S = 60.0  # the metrics are of the last minute


class LoopWaits:
    """The waits of the last minute, each with the CPU time of the loop's thread in it."""

    def __init__(self) -> None:
        self._waits: deque[tuple[float, float, float]] = deque(maxlen=round(KEPT_S / INTERVAL_S))
        self._timer: asyncio.TimerHandle | None = None

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
        self._ask()
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _ask(self) -> None:
        loop = asyncio.get_running_loop()
        due_at = time.monotonic() + INTERVAL_S
        self._timer = loop.call_later(INTERVAL_S, self._turn, due_at, time.thread_time())

    def _turn(self, due_at: float, cpu_s: float) -> None:
        now = time.monotonic()
        # In the interval before it was due the loop may have worked without keeping a call waiting.
        self._waits.append((now, max(0.0, now - due_at), max(0.0, time.thread_time() - cpu_s - INTERVAL_S)))
        self._ask()

    def _longest(self, of: int) -> float:
        since = time.monotonic() - KEPT_S
        return max((wait[of] for wait in list(self._waits) if wait[0] > since), default=0.0)
