# Generated from aio/chunks.py by tools/make_sync.py: change that file and run `make sync-client`.
"""The bytes of a source as uploads send them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

from contextkeep.client._transfer import Chunks, UploadInput


def chunks_of(source: UploadInput) -> Generator[bytes, None, None]:
    """Yield the bytes of a source in pieces that fit a message."""
    chunks = Chunks()
    pieces = source.open()
    with closing(pieces):
        for piece in pieces:
            for chunk in chunks.feed(piece):
                yield chunk
    for chunk in chunks.rest():
        yield chunk
