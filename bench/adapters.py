"""`make bench-adapters`: each adapter, compared with the framework's own store, on the same Postgres.

`python -m bench.adapters [--sizes 100 1000 5000] [--only langgraph] [--save]`. The same code of the framework
runs on both, in a process each; ours calls a Context Service. They take turns. The data that is read is compared with
the data that was written.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime

from bench.document import save
from bench.peers.stores import NEWEST, Peer, digest, peer, worker
from bench.stack import running
from bench.texts import messages
from tests.frameworks import environment

FRAMEWORKS = {"langgraph": "LangGraph", "google-adk": "Google ADK", "openai-agents": "OpenAI Agents"}
# Stores all of a conversation again at each turn: 14 GB for 5,000, and hours. Where it is longer than that, it grows in
# steps of many turns; what it stores is no figure there, but for what the next turn adds.
GROWS = {"langgraph": 2_000}
OPERATIONS = {"turn": "append a message", "newest": f"read the last {NEWEST}", "everything": "read all"}
BYTES = {"bytes": "bytes for a byte", "next": "the next turn's bytes for a byte"}
SIZES = (100, 1_000, 5_000)  # turns
TEXT_BYTES = 400
FILL = 50  # turns in one request
CALLS = 9


class Conversation:
    """One conversation of a store, as it grows."""

    def __init__(self, store: Peer, texts: Sequence[str], *, one_by_one_max: int | None) -> None:
        self._store = store
        self._texts = texts
        self._written = 0
        self._before = store.size_bytes()
        self._one_by_one_max = one_by_one_max
        self.is_one_by_one = True  # each of its turns was a call of its own

    async def grow(self, turns: int) -> None:
        if self._one_by_one_max and turns > self._one_by_one_max:
            self.is_one_by_one = False
        while left := turns - self._written:
            count = min(left, FILL)
            if self.is_one_by_one:
                await self._turns(count)
            else:
                await self._store.call("fill", "one", [self._texts[2 * self._written : 2 * (self._written + count)]])
                self._written += count

    async def _turns(self, count: int) -> list[float]:
        texts = self._texts[2 * self._written : 2 * (self._written + count)]
        calls = list(zip(texts[::2], texts[1::2], strict=True))
        seconds, _ = await self._store.call("turn", "one", calls)
        self._written += count
        return [item / 2 for item in seconds]

    async def call(self, do: str) -> float:
        """Make one operation, and return its duration in milliseconds."""
        if do == "turn":
            return (await self._turns(1))[0] * 1000
        seconds, read = await self._store.call(do, "one", [[]])
        written = self._texts[: 2 * self._written]
        if read != digest(written if do == "everything" else written[-NEWEST:]):
            raise AssertionError(f"it did not read what it had written: {do}")
        return seconds[0] * 1000

    def bytes_a_byte(self) -> float | None:
        """Return the bytes on disk for a byte of text, or None if turns were not written one by one."""
        if not self.is_one_by_one:
            return None
        return (self._store.size_bytes() - self._before) / (2 * self._written * TEXT_BYTES)

    async def next_bytes_a_byte(self) -> float:
        """Return what a turn adds on disk for a byte of its text."""
        before = self._store.size_bytes()
        await self._turns(CALLS)
        return (self._store.size_bytes() - before) / (2 * CALLS * TEXT_BYTES)


async def run(stores: dict[str, tuple[Peer, Peer]], sizes: Sequence[int]) -> list[str]:
    """Measure all stores, and return the lines of the table: the milliseconds of theirs and of ours."""
    texts = messages(2 * (max(sizes) + len(sizes) * 3 * CALLS), TEXT_BYTES)
    lines = [f"{'':44}" + "".join(f"{f'{size:,} turns':>26}" for size in sizes)]
    lines.append(f"{'':44}" + f"{'theirs':>10}{'ours':>8}{'ratio':>8}" * len(sizes))
    for name in stores:
        label = FRAMEWORKS[name]
        both = [Conversation(store, texts, one_by_one_max=GROWS.get(name)) for store in stores[name]]
        rows = {do: f"{label}: {what}" for do, what in (OPERATIONS | BYTES).items()}
        rows = {do: f"{row:44}" for do, row in rows.items()}
        for size in sizes:
            for entry in both:
                await entry.grow(size + (size != sizes[0]) * CALLS)
            for do in OPERATIONS:
                figures = [[await item.call(do) for item in both] for _ in range(CALLS)]
                theirs, ours = (statistics.median(column) for column in zip(*figures, strict=True))
                rows[do] += _beside(theirs, ours)
            rows["bytes"] += _beside(*(item.bytes_a_byte() for item in both))
            rows["next"] += _beside(*[await item.next_bytes_a_byte() for item in both])
            print(f"({label}, {size:,} turns)", file=sys.stderr, flush=True)
        lines += rows.values()
    return lines


def _beside(theirs: float | None, ours: float | None) -> str:
    if theirs is None or ours is None:
        return f"{'-':>10}{'-':>8}{'-':>8}"
    return f"{theirs:10.2f}{ours:8.2f}{f'{ours / theirs:.2f}' if theirs else '-':>8}"


def main() -> None:
    """Install the frameworks, start everything, measure, stop everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="turns of a conversation")
    parser.add_argument("--only", choices=FRAMEWORKS, help="one framework")
    parser.add_argument("--save", action="store_true", help="into docs/benchmarks.md")
    given = parser.parse_args()
    if given.save and given.only:
        parser.error("saved figures need all of them")
    wanted = {name: label for name, label in FRAMEWORKS.items() if given.only in (None, name)}
    environment.pinned()
    with running() as (stack, _), ExitStack() as opened:
        measured = stack.postgres.url(role="postgres")
        stores = {
            name: (
                opened.enter_context(peer(name, stack.postgres)),
                opened.enter_context(worker(f"{name}-here", stack.context_address, measured=measured)),
            )
            for name in wanted
        }
        lines = [f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, PostgreSQL {stack.postgres.version}"]
        lines += [f"{label}: {', '.join(stores[name][0].versions)}" for name, label in wanted.items()]
        lines += ["", *asyncio.run(run(stores, given.sizes))]
    print("\n".join(lines))
    if given.save:
        save("bench-adapters", lines)


if __name__ == "__main__":
    main()
