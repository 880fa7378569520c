"""Reading ahead: what comes next is made while somebody takes what came before, up to a bound."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from service_runtime import background


class ArchiveChunk(NamedTuple):
    """Some of an archive, and what goes on behind it; empty: nothing can."""

    data: bytes
    resume_token: str


async def ahead(made: AsyncGenerator[ArchiveChunk, None], *, bytes_max: int) -> AsyncGenerator[ArchiveChunk, None]:
    """Yield what `made` does, which runs in a task of its own.

    Args:
        made: It is closed behind the last one.
        bytes_max: Nothing is made ahead of so many bytes that nobody took.

    Raises:
        Whatever `made` raises, behind what came before.
    """
    waiting: deque[ArchiveChunk] = deque()
    held_bytes = 0
    taken, there = asyncio.Event(), asyncio.Event()

    async def make() -> None:
        nonlocal held_bytes
        async with aclosing(made):
            async for one in made:
                waiting.append(one)
                held_bytes += len(one.data)
                there.set()
                while held_bytes >= bytes_max:
                    taken.clear()
                    await taken.wait()

    task = asyncio.create_task(make())
    task.add_done_callback(lambda _: there.set())
    try:
        while waiting or not task.done():
            if waiting:
                one = waiting.popleft()
                held_bytes -= len(one.data)
                taken.set()
                yield one
            else:
                there.clear()
                await there.wait()
        await task
    finally:
        await background.ended(task)
