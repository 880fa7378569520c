"""`SearchContexts` over many conversations: time and CPU by the number of contexts, by words.

`python -m bench.finding [CONTEXTS]`. Each context has 20 messages of office talk, 1 in 100 contexts has 400.
"""

from __future__ import annotations

import asyncio
import random
import sys

from bench.packs import Calls
from bench.stack import Beside, beside, running
from bench.table import Processes
from context_service.commands import dev
from contextkeep import AsyncContextClient, MessageInput

CONTEXTS = 10_000
MESSAGES, MANY = 20, 400
AT_ONCE = 8
ROUNDS = 20
SUBJECTS = ("project", "invoice", "meeting", "printer", "customer", "contract", "train", "parking", "server", "report")
VERBS = ("needs", "moved", "cancelled", "signed", "delayed", "approved", "found", "lost", "ordered", "checked")
NAMES = [first + last for first in ("Bor", "Kal", "Mer", "Tov", "Lin", "Sar") for last in ("ik", "ova", "sen", "ati")]
QUESTIONS = (
    "Who signed the contract of Borsen?",
    "Where is parking place 7301?",
    "Which train was cancelled for Linova?",
)


def sentence(randomly: random.Random) -> str:
    """Return a sentence of office talk; one in three has a number that few others have."""
    number = f" {randomly.randrange(10_000)}" if randomly.random() < 1 / 3 else ""
    words = (randomly.choice(NAMES), randomly.choice(VERBS), "the", randomly.choice(SUBJECTS))
    return f"{' '.join(words)}{number} after the {randomly.choice(SUBJECTS)} of {randomly.choice(NAMES)}."


async def run(stack: dev.Stack, floor: Beside, contexts: int) -> None:
    """Write conversations, and search them at each power of ten."""
    randomly = random.Random(1)
    processes = Processes({"service": stack.processes["context-service"].pid, "postgres": stack.postgres.pid})
    calls = Calls(processes, floor)
    async with AsyncContextClient(stack.context_address) as context:

        async def write(number: int) -> None:
            count = MANY if number % 100 == 99 else MESSAGES
            await context.contexts.append([MessageInput(sentence(randomly)) for _ in range(count)])

        written = 0
        for total in [10**power for power in range(2, 9) if 10**power < contexts] + [contexts]:
            while written < total:
                some = range(written, min(written + AT_ONCE, total))
                await asyncio.gather(*map(write, some))
                written = some.stop
            for number in range(ROUNDS):
                question = QUESTIONS[number % len(QUESTIONS)]
                await calls.measured(f"{total:,} contexts", context.contexts.find(question))
    print(calls)


async def bench(stack: dev.Stack, contexts: int) -> None:
    """Run the benchmark on a stack."""
    async with beside() as floor:
        await run(stack, floor, contexts)


def main() -> None:
    """Start the stack, and run the benchmark."""
    with running() as (stack, _):
        asyncio.run(bench(stack, int(sys.argv[1]) if len(sys.argv) > 1 else CONTEXTS))


if __name__ == "__main__":
    main()
