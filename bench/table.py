"""The parts that every benchmark shares: interleave ours and the floor, take the best of each, print a row.

These machines move by a factor of two within a minute, so a figure is the best of `PAIRS` over the best of `PAIRS` in
the same run, and the CPU time of each process is next to it: that varies less.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import psutil

PAIRS = 7
HEADER = f"{'':46}{'ours':>9}{'floor':>9}{'ratio':>7}{'target':>9}   CPU ms a call"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: seconds of ours and of the floor, and the highest ratio that is allowed."""

    name: str
    ours_s: float
    floor_s: float
    target: float  # the ratio ours/floor at most
    cpu_s: Mapping[str, float] = field(default_factory=dict)  # of each process, a call

    @property
    def ratio(self) -> float:
        """Return how many times as long as the floor ours takes."""
        return self.ours_s / self.floor_s

    def __str__(self) -> str:
        cpu = "  ".join(f"{name} {seconds * 1000:.2f}" for name, seconds in self.cpu_s.items())
        missed = "" if self.ratio <= self.target else "  MISSED"
        times = f"{self.ours_s * 1000:9.2f}{self.floor_s * 1000:9.2f}{self.ratio:7.2f}"
        return f"{self.name:46}{times}{f'<= {self.target:g}':>9}   {cpu}{missed}"


class Processes:
    """The CPU time of some processes, each with its children, and of this one without them: "client"."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._processes = {name: psutil.Process(pid) for name, pid in pids.items()}

    def cpu_s(self) -> dict[str, float]:
        """Return the seconds that each has used so far."""
        used = {name: sum(map(_cpu_s, [item, *item.children()])) for name, item in self._processes.items()}
        return {**used, "client": time.process_time()}


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:  # a child that has just ended
        return 0.0
    return float(times.user + times.system)


async def compare(
    name: str,
    ours: Callable[[], Awaitable[object]],
    floor: Callable[[], Awaitable[object]],
    *,
    target: float,
    processes: Processes,
    repeat: int = 1,
) -> Row:
    """Print and return best over best of `PAIRS` interleaved pairs, each the mean of `repeat` calls."""
    ours_s, floor_s, cpu_s = [], [], []
    for _ in range(PAIRS):
        floor_s.append(await _timed(floor, repeat))
        before = processes.cpu_s()
        ours_s.append(await _timed(ours, repeat))
        cpu_s.append({item: (now - before[item]) / repeat for item, now in processes.cpu_s().items()})
    best_cpu = {cpu_: min(used[cpu_] for used in cpu_s) for cpu_ in cpu_s[0]}
    row = Row(name=name, ours_s=min(ours_s), floor_s=min(floor_s), target=target, cpu_s=best_cpu)
    print(row, flush=True)
    return row


async def _timed(call: Callable[[], Awaitable[object]], repeat: int) -> float:
    """Return the mean seconds of `repeat` calls."""
    started = time.perf_counter()
    for _ in range(repeat):
        await call()
    return (time.perf_counter() - started) / repeat
