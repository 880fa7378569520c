"""One run: write, kill, start again, look whether everything that was acknowledged is there, and nothing by halves."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any

from contextkeep.errors import Aborted, ContextKeepError, DeadlineExceeded, Internal, Unavailable
from soak.operations import OPERATIONS, Broken, Item, Operation
from soak.stack import Stack
from tests.hostile.attacks import ATTACKS, WRITES
from tests.hostile.things import RPCS

WRITERS = 8
SILENT_UPLOADS = 4
ROUND_TIMEOUT_S = 120.0
STALL_S_MAX = 0.5  # of CPU; no attack took 0.02, below which the probe sees nothing
RECHECKED = 40  # of the writes of earlier rounds, after each round; all of them at the end
# What a caller may hear while something is killed; anything else is a fault.
EXPECTED = (Unavailable, DeadlineExceeded, Aborted)
Victims = tuple[str, ...]
VICTIMS: Sequence[Victims] = (
    ("context",),
    ("context",),
    ("context",),
    ("entity",),
    ("entity",),
    ("postgres",),
    ("postgres",),
    ("context", "entity"),
    ("context", "entity", "postgres"),
    ("sweep", "context"),
    ("sweep",),
    ("migration",),
)
# Of a run with a cloud: the way to it, and copies between it and a folder, break as well.
CLOUD_VICTIMS: Sequence[Victims] = (*VICTIMS[:-1], ("cloud",), ("cloud", "context"), ("copy",), ("copy", "postgres"))


@dataclass(slots=True)
class Write:
    """One write that was begun."""

    operation: Operation
    item: Item
    acknowledged: bool = False


@dataclass(slots=True)
class Report:
    """What a run did and found."""

    seed: int
    rounds: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    attacks: int = 0  # made to hold up everybody else; each ends in an answer or an error of the table
    acknowledged: int = 0
    unacknowledged_whole: int = 0  # they were written, though nobody was told
    unacknowledged_absent: int = 0
    checks: int = 0
    losses: list[str] = field(default_factory=list)  # acknowledged, and not there
    halves: list[str] = field(default_factory=list)  # there in part, or not as they were written
    left_over: list[str] = field(default_factory=list)  # after a sweep
    faults: list[str] = field(default_factory=list)  # errors that no caller should see, and what hangs
    stalled_ms: float = 0.0  # CPU that an event loop took at most while others waited
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return not (self.losses or self.halves or self.left_over or self.faults)

    def line(self) -> str:
        """Return it in one line."""
        return (
            f"{sum(self.kills.values())} kills, {sum(self.operations.values())} operations, {self.attacks} attacks, "
            f"{self.acknowledged} acknowledged writes, {len(self.losses)} losses, {len(self.halves)} halves, "
            f"{len(self.left_over)} left over, {len(self.faults)} faults, "
            f"stalls of {self.stalled_ms:.0f} ms at most, in {self.seconds:.0f} s with seed {self.seed}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON wants it."""
        return {one.name: getattr(self, one.name) for one in fields(self)} | {"ok": self.ok}


class Soak:
    """A run on a stack.

    Args:
        stack: What is written to, and killed.
        seed: Decides what is written, and what is killed when.
        victims: What is killed together in a round; each round takes one of these.
    """

    def __init__(self, stack: Stack, *, seed: int, victims: Sequence[Victims] = VICTIMS) -> None:
        self.report = Report(seed)
        self._stack = stack
        self._victims = victims
        self._random = Random(seed)
        self._writes: list[Write] = []
        self._started = time.monotonic()

    async def run(
        self, *, seconds: float, kills_max: int = 0, on_round: Callable[[Report], None] | None = None
    ) -> Report:
        """Go on for so long, or until so many kills; stop at the first thing that is wrong."""
        while self.report.ok and not self._is_over(seconds, kills_max):
            try:
                async with asyncio.timeout(ROUND_TIMEOUT_S):
                    await self._round()
            except TimeoutError:
                self.report.faults.append(f"round {self.report.rounds} did not end in {ROUND_TIMEOUT_S:.0f} s")
            self.report.rounds += 1
            self.report.seconds = time.monotonic() - self._started
            if on_round is not None:
                on_round(self.report)
        await self._check(self._writes)
        self.report.faults += self._stack.errors_logged()
        self.report.seconds = time.monotonic() - self._started
        return self.report

    def _is_over(self, seconds: float, kills_max: int) -> bool:
        return time.monotonic() - self._started > seconds or (0 < kills_max <= sum(self.report.kills.values()))

    async def _round(self) -> None:
        """Write, kill, start again; then look."""
        victims = self._random.choice(self._victims)
        first = len(self._writes)
        stopping = asyncio.Event()
        writers = [asyncio.create_task(self._keep_writing(stopping)) for _ in range(WRITERS)]
        writers.append(asyncio.create_task(self._keep_attacking(stopping)))
        silent = [asyncio.create_task(self._send_nothing()) for _ in range(SILENT_UPLOADS)]
        side = asyncio.create_task(self._beside(victims))
        await asyncio.sleep(self._random.uniform(0.02, 0.7))
        processes = [victim for victim in victims if victim in ("context", "entity", "postgres")]
        await self._look_for_stalls()
        await asyncio.gather(*map(self._stack.kill, processes))
        self.report.kills.update(processes)
        if self._random.random() < 0.5:  # else writers go on, and their retries meet what comes back
            stopping.set()
        await asyncio.sleep(self._random.uniform(0, 0.2))
        await asyncio.gather(*map(self._stack.start, processes))
        await side
        stopping.set()
        await asyncio.gather(*writers)
        for upload in silent:
            upload.cancel()
        await asyncio.gather(*silent, return_exceptions=True)
        await self._stack.until_serving()
        await self._look_for_stalls()
        earlier = self._random.sample(self._writes[:first], min(first, RECHECKED))
        await self._check([*self._writes[first:], *earlier])
        self.report.left_over += await self._stack.left_over()

    async def _look_for_stalls(self) -> None:
        stalled_s = await self._stack.stalled_s()
        self.report.stalled_ms = max(self.report.stalled_ms, stalled_s * 1000)
        if stalled_s > STALL_S_MAX:
            self.report.faults.append(f"an event loop took {stalled_s:.2f} s of CPU while others waited for a turn")

    async def _beside(self, victims: Victims) -> None:
        """Start and kill what does not serve."""
        if "sweep" in victims:
            await self._stack.kill_a_sweep(self._random)
            self.report.kills["sweep"] += 1
        if "cloud" in victims:
            await self._stack.disturb_the_cloud(self._random)
            self.report.kills["cloud"] += 1
        if "copy" in victims:
            await self._stack.kill_a_copy(self._random)
            self.report.kills["copy"] += 1
        if "migration" in victims:
            self.report.faults += await self._stack.kill_a_migration(self._random)
            self.report.kills["migration"] += 1

    async def _keep_writing(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            operation = self._random.choice(OPERATIONS)
            item = Item(f"{self.report.seed}-{len(self._writes)}", self._random.random())
            write = Write(operation, item)
            self._writes.append(write)
            self.report.operations[operation.name] += 1
            try:
                await operation.write(self._stack.clients, item)
            except EXPECTED:
                await asyncio.sleep(0.1)
            except Exception as error:
                self.report.faults.append(f"{operation.name} of {item.name}: {type(error).__name__}: {error}")
            else:
                write.acknowledged = True
                self.report.acknowledged += 1

    async def _keep_attacking(self, stopping: asyncio.Event) -> None:
        """Do what is meant to keep the writers from their turn, and writes nothing."""
        attacks = [attack for attack in ATTACKS if attack[1] not in WRITES]
        while not stopping.is_set():
            name, rpc, request = self._random.choice(attacks)
            clients = self._stack.clients
            client = clients.entity if RPCS[rpc].process == "entity" else clients.context
            with suppress(ContextKeepError):
                try:
                    await client.call(rpc, request, timeout_s=20, may_repeat=False)
                except Internal as error:
                    self.report.faults.append(f"{name}: {error}")
            self.report.attacks += 1
            await asyncio.sleep(0.5)  # it is the writers that are looked at

    async def _send_nothing(self) -> None:
        """Take a place with an upload of which nothing comes. It must leave nothing: its record would be a half."""

        async def nothing() -> AsyncIterator[bytes]:
            await asyncio.Event().wait()
            yield b""

        with suppress(ContextKeepError):
            await self._stack.clients.context.blobs.upload(nothing(), name="silent")
        self.report.attacks += 1

    async def _check(self, writes: Sequence[Write]) -> None:
        """Read writes back."""
        at_once = asyncio.Semaphore(WRITERS)

        async def check(write: Write) -> None:
            what = f"{write.operation.name} of {write.item.name}"
            try:
                async with at_once:
                    written = await write.operation.is_written(self._stack.clients, write.item)
            except Broken as error:
                self.report.halves.append(f"{what}: {error}")
            except Exception as error:
                self.report.faults.append(f"reading {what}: {type(error).__name__}: {error}")
            else:
                if write.acknowledged and not written:
                    self.report.losses.append(what)
                if not write.acknowledged:
                    self.report.unacknowledged_whole += written
                    self.report.unacknowledged_absent += not written
                    write.acknowledged = written  # what was seen once must stay
            self.report.checks += 1

        await asyncio.gather(*map(check, writes))
