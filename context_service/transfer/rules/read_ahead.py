"""Reads ahead: produces the next chunks while the caller sends the previous ones, up to a bound."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import NamedTuple

from service_runtime.background_work import background


class ArchiveChunk(NamedTuple):
    """Bytes of an archive, and the token that resumes after them; it is empty if no export can resume there."""

    data: bytes
    resume_token: str


async def ahead(chunks: AsyncGenerator[ArchiveChunk, None], *, bytes_max: int) -> AsyncGenerator[ArchiveChunk, None]:
    """Yield the chunks of a generator, which runs in a task of its own.

    Args:
        chunks: The generator; it is closed at the end.
        bytes_max: The generator pauses when this many bytes wait for the caller.

    Raises:
        Errors of `chunks`, after the chunks before them.
    """
    waiting: deque[ArchiveChunk] = deque()
    held_bytes = 0
    has_room, there = asyncio.Event(), asyncio.Event()

    async def make() -> None:
        """Move chunks from the generator to `waiting`, and pause while too many bytes wait."""
        nonlocal held_bytes
        async with aclosing(chunks):
            async for chunk in chunks:
                waiting.append(chunk)
                held_bytes += len(chunk.data)
                there.set()
                while held_bytes >= bytes_max:
                    has_room.clear()
                    await has_room.wait()

    task = asyncio.create_task(make())
    task.add_done_callback(lambda _: there.set())
    try:
        while waiting or not task.done():
            if waiting:
                chunk = waiting.popleft()
                held_bytes -= len(chunk.data)
                has_room.set()
                yield chunk
            else:
                there.clear()
                await there.wait()
        await task
    finally:
        await background.ended(task)
