"""CPU time in units of a fixed piece of work, timed beside it: a bound holds on a slow machine, and a busy one, too.

Two threads of one core slow each other down to half, and other programs empty its caches, so seconds of CPU are no
measure of what a call costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable


def units(run: Callable[[], object], *, rounds: int = 3) -> float:
    """Return what a run costs this thread at best, in units timed in turns with it."""
    took_s, unit_s = [], []
    for _ in range(rounds):
        unit_s.append(_thread_s(_unit))
        took_s.append(_thread_s(run))
    return min(took_s) / min(unit_s)


def in_units(cpu_s: float) -> float:
    """Return CPU time that was measured just now, in units of the same moment."""
    return cpu_s / sorted(_thread_s(_unit) for _ in range(9))[4]


def _unit() -> int:
    """Work 0.4 ms on the machine where the bounds were chosen, when it is quiet."""
    total = 0
    for number in range(10_000):
        total += number * number % 7
    return total


def _thread_s(run: Callable[[], object]) -> float:
    before = time.thread_time()
    run()
    return time.thread_time() - before
