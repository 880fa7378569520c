"""The bytes of a source as uploads send them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from contextkeep.client._transfer import Chunks, UploadInput


async def chunks_of(source: UploadInput) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a source in pieces that fit a message."""
    chunks = Chunks()
    pieces = source.open()
    async with aclosing(pieces):
        async for piece in pieces:
            for chunk in chunks.feed(piece):
                yield chunk
    for chunk in chunks.rest():
        yield chunk
