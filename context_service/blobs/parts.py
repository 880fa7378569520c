"""Parts: the units, of several blocks each, that backends of clouds send and fetch."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine
from typing import Any, TypeVar

from context_service.blobs.storage import BLOCK_BYTES

_T = TypeVar("_T")


async def in_parts(blocks: AsyncIterable[bytes], *, part_bytes: int) -> AsyncGenerator[list[bytes], None]:
    """Yield the same blocks in parts of `part_bytes`, a multiple of `BLOCK_BYTES`.

    The last part is shorter, and may be empty, so that its length marks it as the last.
    """
    part: list[bytes] = []
    async for block in blocks:
        part.append(block)
        if sum(map(len, part)) == part_bytes:
            yield part
            part = []
    yield part


async def fetched_ahead(
    fetch: Callable[[int, int], Coroutine[Any, Any, bytes]],
    start_bytes: int,
    end_bytes: int,
    *,
    part_bytes: int,
    at_once: int,
) -> AsyncGenerator[bytes, None]:
    """Yield a range in chunks of up to `BLOCK_BYTES`, and fetch parts ahead of the reader.

    Args:
        fetch: Returns a number of bytes from a position; fewer at the end of the blob, and none after it.
        start_bytes: The offset of the first byte.
        end_bytes: The offset after the last byte.
        part_bytes: The size of a part that is fetched at once.
        at_once: Parts that are fetched or held at the same time.
    """
    ahead: deque[asyncio.Task[bytes]] = deque()
    position = start_bytes
    try:
        while position < end_bytes or ahead:
            while position < end_bytes and len(ahead) < at_once:
                length = min(part_bytes, end_bytes - position)
                ahead.append(asyncio.create_task(fetch(position, length)))
                position += length
            part = await ahead.popleft()
            for start in range(0, len(part), BLOCK_BYTES):
                yield part[start : start + BLOCK_BYTES]
            if not part:
                return
    finally:
        await ended(ahead)


async def ended(tasks: deque[asyncio.Task[_T]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def size_bytes(part: list[bytes]) -> int:
    """Return the size of a part."""
    return sum(map(len, part))
