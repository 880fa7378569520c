"""CPU time in units of a fixed piece of work, timed beside it: a bound holds on a slow machine, and a busy one, too.

Two threads of one core slow each other down to half, and other programs empty its caches, so seconds of CPU are no
measure of what a call costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

_UNIT_S = 0.0004


def units(run: Callable[[], object], *, rounds: int = 3) -> float:
    """Return what a run costs this thread at best, in units of the moment in which it ran."""
    found = []
    for _ in range(rounds):
        beside_s = [_thread_s(_unit) for _ in range(5)]
        took_s = _thread_s(run)
        beside_s += [_thread_s(_unit) for _ in range(5)]
        found.append(took_s / median(beside_s))
    return min(found)


def in_units(cpu_s: float) -> float:
    """Return CPU time that was measured just now, in units of the same moment."""
    return cpu_s / median(_thread_s(_unit) for _ in range(9))


def slowness() -> float:
    """Return how many times slower this thread computes at the moment than where bounds in seconds were chosen."""
    return max(1.0, in_units(_UNIT_S) ** -1)


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
