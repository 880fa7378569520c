"""A window that is opened late: on a context that has had 100,000 messages without one.

`python -m bench.late [MESSAGES]`. The messages are those of an agent's steps, as in `packs`. It prints the cost of
opening the window, of its first pack, which has the newest steps alone, of reading the log in the background, and of
ten further steps, and its size on disk.
"""

from __future__ import annotations

import asyncio
import random
import sys
from itertools import chain

from bench.packs import LIMIT, Calls, caught_up, disk_bytes, step
from bench.stack import Beside, beside, running
from bench.table import Processes
from context_service.commands import dev
from contextkeep import AsyncContextClient, Window

MESSAGES = 100_000
STEPS_AT_ONCE = 200  # of an append
STEPS_BEHIND = 10


async def run(stack: dev.Stack, context: AsyncContextClient, floor: Beside, message_count: int) -> None:
    """Fill a context, open a window on it, and print what that cost."""
    randomly, text_bytes = random.Random(1), 0
    context_id = (await context.contexts.send("Read all of it.", recall=False)).context_id
    numbers = range(1, message_count // 2 + 1)
    for start in range(0, len(numbers), STEPS_AT_ONCE):
        some = numbers[start : start + STEPS_AT_ONCE]
        messages = [*chain.from_iterable(step(number, randomly) for number in some)]
        text_bytes += sum(len(str(message)) for message in messages)
        await context.contexts.append(messages, context_id)
        if sys.stderr.isatty():
            print(f"\r{2 * some[-1]:,} messages", end="", file=sys.stderr)
    processes = Processes({"service": stack.processes["context-service"].pid, "postgres": stack.postgres.pid})
    calls = Calls(processes, floor)
    window = await calls.measured("open", _opened(context, context_id))
    await calls.measured("first pack", context.windows.pack(window.window_id, without_recall=True))
    pack = await calls.measured("read the log", caught_up(context, window))
    for number in range(numbers[-1] + 1, numbers[-1] + 1 + STEPS_BEHIND):
        await calls.measured("append", context.contexts.append(step(number, randomly), context_id))
        await calls.measured("pack", context.windows.pack(window.window_id, without_recall=True))
    print(f"{pack.last_seq:,} messages, {text_bytes:,} bytes, in a window of {window.token_limit:,} tokens")
    print(calls)
    read = calls.seconds["read the log"]
    print(f"reading all of it in the background: {sum(read):.0f} s; {pack.epoch} folds")
    print(f"the pack: {pack.tokens:,} tokens, {pack.step_count} steps; {pack.omitted_step_count:,} left out")
    print(f"on disk: {sum(disk_bytes(stack).values()) / text_bytes:.3f} bytes of the window for a byte of text")


async def _opened(context: AsyncContextClient, context_id: str) -> Window:
    return await context.windows.open(
        context_id,
        "m",
        context_tokens=LIMIT + 1,
        token_budget=1.0,
        output_reservation=1,
        compression_profile="coding",
    )


async def bench(stack: dev.Stack, message_count: int) -> None:
    """Run the benchmark on a stack with a number of messages."""
    async with AsyncContextClient(stack.context_address) as context, beside() as floor:
        await run(stack, context, floor, message_count)


def main() -> None:
    """Start the stack, and run the benchmark."""
    with running() as (stack, _):
        asyncio.run(bench(stack, int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES))


if __name__ == "__main__":
    main()
