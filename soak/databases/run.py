"""One run: tenants write and read, some are moved, everything is killed; nothing is lost, doubled, or in two places."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from contextkeep.errors import ContextKeepError
from contextkeep.retries import RetryBudget
from service_runtime.postgres import HOME
from soak.databases.stack import NAMES, Stack, Tenant, Window
from soak.operations import OPERATIONS, Broken, Item, ReadBlob, UploadBlob
from soak.run import EXPECTED, Write
from tests.faults.processes import Process

T = TypeVar("T")

MOVERS = 4
ROUND_S = 120.0  # of calls, moves and kills; then all of it rests, and is looked at
SETTLED_S = 180.0  # that what is under way then may take
RECHECKED = 100  # writes of earlier rounds behind each round; all of them at the end
CHECKS_AT_ONCE = 8
PAUSE_S = (2.0, 8.0)  # of each tenant between two calls
STEPS = ("arriving", "copying", "copied", "catching up", "leaving", "drained", "whole", "gone", "listed", "here")
WRITTEN = [operation for operation in OPERATIONS if not isinstance(operation, ReadBlob)]
STREAMS = {operation.name for operation in OPERATIONS if isinstance(operation, UploadBlob)}
MOVES_TRIED = 20
NOTICED_S = 2.0  # from a kill until the last connection to it is found broken


@dataclass(slots=True)
class Said:
    """What a tenant has said in a conversation, in its order."""

    text: str
    acknowledged: bool


@dataclass(slots=True)
class Talk:
    """Two conversations of a tenant with the same messages: one in its graph, and one that is a context."""

    session: str = ""
    context: str = ""
    in_graph: list[Said] = field(default_factory=list)
    in_context: list[Said] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """What a run did and found."""

    seed: int
    tenants: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    moves: int = 0
    moves_tried_again: int = 0  # because the mover was killed, or a database
    waited_s_max: float = 0.0  # writes of a tenant that moved
    down_s_max: float = 0.0  # a database, from its kill until every replica served its tenants again
    looks: int = 0  # at who serves a tenant that moves
    checks: int = 0
    failed: dict[str, Counter[str]] = field(default_factory=dict)  # calls by what excuses them, and tenant
    unexcused: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)  # acknowledged, and not there, or not as they were written
    misplaced: list[str] = field(default_factory=list)  # in two databases, or in none
    broken: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def problems(self) -> list[str]:
        """All that is wrong."""
        return [*self.losses, *self.misplaced, *self.broken, *self.unexcused, *self.faults]

    def line(self) -> str:
        """Return it in one line."""
        failed = ", ".join(f"{sum(by.values())} {cause}" for cause, by in sorted(self.failed.items()))
        return (
            f"{self.tenants} tenants, {sum(self.calls.values())} calls, {self.acknowledged} acknowledged writes, "
            f"{self.moves} moves ({self.moves_tried_again} tried again; writes waited for {self.waited_s_max:.1f} s), "
            f"{sum(self.kills.values())} kills ({', '.join(f'{n} {who}' for who, n in sorted(self.kills.items()))}; "
            f"a database was down for {self.down_s_max:.0f} s at most), "
            f"failed: {failed or 'none'}; {len(self.unexcused)} unexcused, {len(self.losses)} losses, "
            f"{len(self.misplaced)} misplaced, {len(self.broken)} broken, {len(self.faults)} faults, "
            f"in {self.seconds:.0f} s with seed {self.seed}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON wants it."""
        return {one.name: getattr(self, one.name) for one in fields(self)} | {"ok": not self.problems}


class Soak:
    """A run on a stack.

    Args:
        stack: What is written to, moved and killed.
        seed: Decides what is written, moved and killed when.
    """

    def __init__(self, stack: Stack, *, seed: int) -> None:
        self.report = Report(seed, tenants=len(stack.tenants))
        self._stack = stack
        self._random = Random(seed)
        self._writes: list[tuple[Tenant, Write]] = []
        self._talks = [Talk() for _ in stack.tenants]
        self._numbers = itertools.count()
        self._resting = asyncio.Event()
        self._started = time.monotonic()

    async def run(self, *, seconds: float, on_round: Callable[[Report], None] = lambda _: None) -> Report:
        """Go on for so long, or until something is wrong."""
        await asyncio.gather(*map(self._begin, self._stack.tenants, self._talks))
        while not self.report.problems and (left_s := seconds - (time.monotonic() - self._started)) > 0:
            first = len(self._writes)
            await self._round(min(left_s, ROUND_S))
            await self._look(first)
            self.report.seconds = time.monotonic() - self._started
            on_round(self.report)
        await self._check(self._writes)
        if not self.report.problems:
            if said := await self._command_done(*self._stack.begin("clean", "--after-hours", "0", "--json")):
                self.report.faults.append(f"clean: {said}")
            self.report.misplaced += await self._stack.misplaced(cleaned=True)
            self.report.broken += await self._stack.broken()
        self.report.faults += self._stack.errors_logged()
        self.report.seconds = time.monotonic() - self._started
        return self.report

    async def _begin(self, tenant: Tenant, talk: Talk) -> None:
        talk.session = (await tenant.clients.entity.graph.create_node("Session")).id
        talk.context = (await tenant.clients.context.contexts.send("first", recall=False)).context_id
        talk.in_context.append(Said("first", acknowledged=True))

    async def _round(self, seconds: float) -> None:
        self._resting.clear()
        tasks = [
            *(self._talking(tenant, talk) for tenant, talk in zip(self._stack.tenants, self._talks, strict=True)),
            *map(self._writing, self._stack.tenants),
            *(self._moving() for _ in range(MOVERS)),
            self._killing_databases(),
            self._killing_services(),
            self._looking(),
        ]
        under_way = [asyncio.ensure_future(task) for task in tasks]
        await asyncio.sleep(seconds)
        self._resting.set()
        try:
            async with asyncio.timeout(SETTLED_S):
                await asyncio.gather(*under_way)
                await self._stack.until_serving()
        except TimeoutError:
            self.report.faults.append(f"what was under way did not end in {SETTLED_S:.0f} s")

    async def _look(self, first: int) -> None:
        """Look at what was written in the round, where tenants are, and at some of what is older."""
        self.report.misplaced += await self._stack.misplaced()
        earlier = self._random.sample(self._writes[:first], min(first, RECHECKED))
        new = self._random.sample(self._writes[first:], min(len(self._writes) - first, RECHECKED))
        await self._check([*new, *earlier])
        for tenant, talk in zip(self._stack.tenants, self._talks, strict=True):
            await self._read(tenant, talk)

    async def _pause(self, least_s: float, most_s: float) -> bool:
        """Wait a while; say whether the round goes on."""
        try:
            async with asyncio.timeout(self._random.uniform(least_s, most_s)):
                await self._resting.wait()
        except TimeoutError:
            return True
        return False

    async def _called(self, tenant: Tenant, name: str, call: Callable[[], Awaitable[T]]) -> T | None:
        """Call, and find out what excuses a failure."""
        self.report.calls[name] += 1
        since = time.monotonic()
        try:
            return await call()
        except EXPECTED as error:
            until = time.monotonic()
            cause = self._excuse(tenant, name, since, until)
            self.report.failed.setdefault(cause or "unexcused", Counter())[tenant.name] += 1
            if not cause:
                lives = tenant.lives_in or "home"
                self.report.unexcused.append(
                    f"{name} of {tenant.name} in {lives}, from {since - self._started:.1f} to"
                    f" {until - self._started:.1f} s: {error}"
                )
        except Broken as error:
            self.report.losses.append(f"{name} of {tenant.name}: {error}")
        except ContextKeepError as error:
            self.report.faults.append(f"{name} of {tenant.name}: {type(error).__name__}: {error}")
        return None

    def _excuse(self, tenant: Tenant, name: str, since: float, until: float) -> str:
        if any(move.overlaps(since, until) for move in tenant.moves):
            return "while it moved"
        if self._stack.is_down(tenant.lives_in, since, until):
            return "while its database was down"
        if self._stack.is_down(HOME, since, until):
            return "while home was down"
        if not any(since - NOTICED_S <= killed <= until for killed in self._stack.services_killed):
            return ""
        if name in STREAMS:  # what is under way on one is not sent again by itself; any other call is
            return "on a stream to a killed service"
        # A client that has met too many failures tries nothing again for a while (`RetryBudget`).
        tokens = min(client._budget._tokens for client in (tenant.clients.entity, tenant.clients.context))
        is_spent = tokens <= RetryBudget.TOKENS_MAX / 2
        was_down = self._stack.is_down(tenant.lives_in, self._started, since) or tenant.moves
        return "with retries spent on its database" if is_spent and was_down else ""

    async def _writing(self, tenant: Tenant) -> None:
        while await self._pause(*PAUSE_S):
            operation = self._random.choice(WRITTEN)
            item = Item(f"{self.report.seed}-{next(self._numbers)}", self._random.random())
            write = Write(operation, item)
            self._writes.append((tenant, write))

            async def do(write: Write = write) -> bool:
                await write.operation.write(tenant.clients, write.item)
                return True

            if await self._called(tenant, operation.name, do):
                write.acknowledged = True
                self.report.acknowledged += 1

    async def _talking(self, tenant: Tenant, talk: Talk) -> None:
        entity, context = tenant.clients.entity, tenant.clients.context
        while await self._pause(*PAUSE_S):
            text = str(next(self._numbers))
            match self._random.randrange(5):
                case 0:
                    await self._read(tenant, talk)
                case 1 | 2:
                    await self._say(
                        tenant, talk.in_graph, "append", text, entity.graph.append_message(talk.session, "user", text)
                    )
                case _:
                    sending = context.contexts.send(text, talk.context)
                    await self._say(tenant, talk.in_context, "send_message", text, sending)

    async def _say(self, tenant: Tenant, said: list[Said], name: str, text: str, call: Awaitable[object]) -> None:
        one = Said(text, acknowledged=False)
        said.append(one)

        async def do() -> bool:
            await call
            return True

        if await self._called(tenant, name, do):
            one.acknowledged = True
            self.report.acknowledged += 1

    async def _read(self, tenant: Tenant, talk: Talk) -> None:
        """Read both conversations: all that was acknowledged is there once, in its order."""

        async def graph() -> None:
            history = await tenant.clients.context.history.get(talk.session)
            _require_told([one.content for one in history], talk.in_graph)

        async def context() -> None:
            listed = [one async for one in tenant.clients.context.contexts.list_messages(talk.context)]
            if [one.seq for one in listed] != list(range(1, len(listed) + 1)):
                raise Broken(f"the places are {[one.seq for one in listed]}")
            _require_told([one.content for one in listed], talk.in_context)

        await self._called(tenant, "history", graph)
        await self._called(tenant, "list_messages", context)

    async def _moving(self) -> None:
        while await self._pause(0.2, 2):
            tenant = self._random.choice([one for one in self._stack.tenants if not one.is_moving])
            target = self._random.choice([name for name in NAMES if name != tenant.lives_in])
            window = Window(time.monotonic())
            tenant.moves.append(window)
            for number in range(MOVES_TRIED):
                killed_at = self._random.choice(STEPS) if number == 0 and self._random.random() < 0.5 else ""
                said = await self._moved(tenant, target, killed_at)
                if not said:
                    break
                self.report.moves_tried_again += 1
                await self._pause(0, 3)
            else:
                self.report.faults.append(f"{tenant.name} cannot be moved to {target!r}: {said}")
            tenant.lives_in = target
            self.report.moves += 1
            window.until = time.monotonic()

    async def _moved(self, tenant: Tenant, target: str, killed_at: str) -> str:
        """Run the command once; return why it did not end well, or nothing."""
        process, log = self._stack.begin("move", tenant.name, "--to", target or "home", "--json")
        while killed_at and process.poll() is None:
            if f"{killed_at}:" in log.read_text():
                await asyncio.sleep(self._random.uniform(0, 0.03))
                process.kill()
                self.report.kills["mover"] += 1
                break
            await asyncio.sleep(0.005)
        said = await self._command_done(process, log)
        if not said:
            moved = json.loads(log.read_text().splitlines()[-1])
            self.report.waited_s_max = max(self.report.waited_s_max, moved["writes_waited_s"])
        return said

    async def _command_done(self, process: Process, log: Path) -> str:
        status = await asyncio.to_thread(process.wait)
        return "" if status == 0 else log.read_text()[-1000:] or f"status {status}"

    async def _killing_databases(self) -> None:
        while await self._pause(5, 15):
            name = self._random.choice(NAMES)
            self.report.kills[name or "home"] += 1
            await self._stack.kill_database(name, self._random.choice((0.0, self._random.uniform(0, 5))))
            down = self._stack.downs[name][-1]
            self.report.down_s_max = max(self.report.down_s_max, down.until - down.since)

    async def _killing_services(self) -> None:
        while await self._pause(3, 8):
            service = self._random.choice(self._stack.services)
            self.report.kills[service.module] += 1
            await self._stack.kill_service(service, self._random.uniform(0, 2))

    async def _looking(self) -> None:
        """Look whether a tenant that moves is served by two."""
        while await self._pause(0.02, 0.1):
            for tenant in [one for one in self._stack.tenants if one.is_moving]:
                if said := await self._stack.served_twice(tenant):
                    self.report.misplaced.append(said)
                self.report.looks += 1

    async def _check(self, writes: Sequence[tuple[Tenant, Write]]) -> None:
        """Read writes back."""
        at_once = asyncio.Semaphore(CHECKS_AT_ONCE)

        async def check(tenant: Tenant, write: Write) -> None:
            what = f"{write.operation.name} of {write.item.name} of {tenant.name}"
            try:
                async with at_once:
                    written = await write.operation.is_written(tenant.clients, write.item)
            except Broken as error:
                self.report.losses.append(f"{what}: {error}")
            except Exception as error:
                self.report.faults.append(f"reading {what}: {type(error).__name__}: {error}")
            else:
                if write.acknowledged and not written:
                    self.report.losses.append(what)
                write.acknowledged |= written  # what was seen once must stay
            self.report.checks += 1

        await asyncio.gather(*(check(tenant, write) for tenant, write in writes))


def _require_told(found: Sequence[str], said: Sequence[Said]) -> None:
    """Check what was read against what had been said.

    Raises:
        Broken: something is lacking, twice there, or in another place.
    """
    twice = [text for text, count in Counter(found).items() if count > 1]
    if twice:
        raise Broken(f"these are there twice: {twice}")
    acknowledged = [one.text for one in said if one.acknowledged]
    wanted = set(acknowledged)
    if [text for text in found if text in wanted] != acknowledged:
        raise Broken(
            f"of {len(acknowledged)} messages these are lacking: {sorted(wanted - set(found))}, or not in place"
        )
