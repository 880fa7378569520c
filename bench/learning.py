"""Memories are learned from contexts by rules while others write and read: messages a second, and what others notice.

`python -m bench.learning [CONTEXTS]`. No part of `make bench`. Each context has 50 messages of another user, a fifth of
them with a statement. The contexts are closed at once, so all of them wait for the worker.
"""

from __future__ import annotations

import asyncio
import sys
import time

from bench.deleting import CALLERS, QUIET_S, READ, caller, shown
from bench.load import Load, load
from bench.passages import Talk
from bench.stack import running
from contextkeep import AsyncContextClient, ContextInput, MessageInput

MESSAGES = 50
STATEMENTS = ("I live in {}.", "I prefer {} to tea.", "I work as a nurse in {}.", "I'm allergic to {}.", "I hate {}.")
DEADLINE_S = 600.0


async def filled(context: AsyncContextClient, user: str) -> str:
    """Return a context of a user, whose messages have 13 words each or a statement."""
    talk = Talk()
    texts = [
        STATEMENTS[number // 5 % len(STATEMENTS)].format(talk.words(1)[0].capitalize())
        if number % 5 == 0
        else " ".join(talk.words(13))
        for number in range(MESSAGES)
    ]
    messages = [
        MessageInput(text, role="assistant" if number % 5 == 3 else "user") for number, text in enumerate(texts)
    ]
    header = ContextInput(learning="rules")
    return (await context.contexts.append(messages, context=header, subject_user_id=user))[0].context_id


async def learned(context: AsyncContextClient, user: str) -> int:
    """Return the number of memories of a user."""
    return len([memory async for memory in context.memories.list(subject_user_id=user)])


async def measure(address: str, contexts: int) -> None:
    """Fill contexts, close them, and print how fast they teach and what callers notice."""
    async with AsyncContextClient(address, timeout_s=300) as context:
        users = [f"user-{number}" for number in range(contexts)]
        ids = [await filled(context, user) for user in users]
        callers = [await caller(context) for _ in range(CALLERS)]
        await load(callers, 2)  # warm
        before = await load(callers, QUIET_S)
        begun, meanwhile = time.perf_counter(), list[Load]()
        for user, context_id in zip(users, ids, strict=True):
            await context.contexts.close(context_id, subject_user_id=user)
        while not await learned(context, users[-1]) and time.perf_counter() - begun < DEADLINE_S:
            meanwhile.append(await load(callers, 0.5))
        took_s = time.perf_counter() - begun
        after = await load(callers, QUIET_S)
        found = sum([await learned(context, user) for user in users])
    messages = contexts * MESSAGES
    print(f"{messages:,} messages taught {found:,} memories in {took_s:.1f} s: {messages / took_s:,.0f} a second")
    print(f"| {CALLERS} callers, ms: p50; p99 of | sending | reading the last {READ} | calls a second |")
    print("| --- | --- | --- | --- |")
    for name, loads in (("before", [before]), ("while it learns", meanwhile), ("after it", [after])):
        print(shown(name, loads))


def main() -> None:
    """Run the benchmark with the number of contexts from the command line."""
    contexts = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    with running() as (stack, _):
        asyncio.run(measure(stack.context_address, contexts))


if __name__ == "__main__":
    main()
