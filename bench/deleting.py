"""A large context is deleted while others write and read: rows a second, and what the others notice of it.

`python -m bench.deleting [MESSAGES]`. No part of `make bench`: 100,000 messages take some minutes to write. Each
caller has a context of its own and takes turns: send a message, read the last ten. Quiet and meanwhile are measured
one after the other in the same run, and quiet once more after it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence

from bench.load import Load, Turn, load
from bench.passages import Talk
from bench.stack import running
from contextkeep import AsyncContextClient

CALLERS = 4
READ = 10
QUIET_S = 10.0
AT_ONCE = 500


async def filled(context: AsyncContextClient, messages: int) -> str:
    """Return a context with messages of 13 words."""
    talk, context_id = Talk(), None
    for _ in range(0, messages, AT_ONCE):
        said = [" ".join(talk.words(13)) for _ in range(AT_ONCE)]
        context_id = (await context.contexts.append(said, context_id))[0].context_id
    assert context_id
    return context_id


async def caller(context: AsyncContextClient) -> Turn:
    """Return the turn of one caller: calls to a context of its own."""
    context_id = (await context.contexts.send("Hello")).context_id
    return {
        "append": lambda: context.contexts.send("It rains, and we talk of it.", context_id, recall=False),
        "read": lambda: context.contexts.get(context_id, history_length=READ),
    }


def shown(name: str, loads: Sequence[Load]) -> str:
    """Return a row: p50 and p99 of sending and of reading, and calls a second."""
    together = Load()
    for item in loads:
        together.elapsed_s += item.elapsed_s
        for call, seconds in item.seconds.items():
            together.seconds[call] += seconds
    cells = [
        f"{together.percentile_ms(call, 0.5):.1f}; {together.percentile_ms(call, 0.99):.1f}"
        for call in ("append", "read")
    ]
    return f"| {name} | {' | '.join(cells)} | {together.rate:.0f} |"


async def measure(address: str, messages: int) -> None:
    """Fill a context, delete it while callers work, and print what they notice."""
    async with AsyncContextClient(address, timeout_s=300) as context:
        begun = time.perf_counter()
        context_id = await filled(context, messages)
        print(f"{messages:,} messages written in {time.perf_counter() - begun:.0f} s", flush=True)
        callers = [await caller(context) for _ in range(CALLERS)]
        await load(callers, 2)  # warm
        before = await load(callers, QUIET_S)
        begun, meanwhile = time.perf_counter(), []
        erasure = await context.contexts.delete(context_id, now=True)
        while erasure.state != "finished":
            meanwhile.append(await load(callers, 0.5))
            erasure = await context.contexts.get_erasure(erasure.erasure_id)
        took_s = time.perf_counter() - begun
        after = await load(callers, QUIET_S)
    rows = erasure.messages_removed + erasure.passages_removed
    print(f"{rows:,} rows of messages and passages removed in {took_s:.1f} s: {rows / took_s:,.0f} a second")
    print(f"| {CALLERS} callers, ms: p50; p99 of | sending | reading the last {READ} | calls a second |")
    print("| --- | --- | --- | --- |")
    for name, loads in (("before", [before]), ("while it is removed", meanwhile), ("after it", [after])):
        print(shown(name, loads))


def main() -> None:
    """Run the benchmark with the number of messages from the command line."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with running() as (stack, _):
        asyncio.run(measure(stack.context_address, messages))


if __name__ == "__main__":
    main()
