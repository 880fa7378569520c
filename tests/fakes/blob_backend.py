"""A backend that fails when it is told to. Told nothing, it passes the suite of backends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from contextlib import aclosing

from context_service.blobs.storage import BlobBackend, BlobStat, Download


class FailingBackend:
    """Wraps a backend.

    Set `error` and it is raised: from a write behind `after_bytes` bytes, or behind the whole blob (`at_end`); from
    any other method at once.
    """

    def __init__(self, backend: BlobBackend) -> None:
        self._backend = backend
        self.retries = backend.retries
        self.error: Exception | None = None
        self.after_bytes = 0
        self.at_end = False

    async def write(self, key: str, blocks: AsyncIterable[bytes]) -> None:
        if self.error is None or self.at_end:
            await self._backend.write(key, blocks)
        else:
            await self._backend.write(key, self._broken(blocks, self.error))
        if self.error is not None:
            raise self.error  # the blob is there, but nobody was told

    def read(self, key: str, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        return self._read(key, start_bytes, end_bytes)

    async def delete(self, key: str) -> None:
        self._fail()
        await self._backend.delete(key)

    def list_pages(
        self, prefix: str, *, page_size: int = 1000, unfinished: bool = False
    ) -> AsyncGenerator[Sequence[BlobStat], None]:
        self._fail()
        return self._backend.list_pages(prefix, page_size=page_size, unfinished=unfinished)

    async def download_url(self, key: str, download: Download) -> str:
        self._fail()
        return await self._backend.download_url(key, download)

    async def check(self) -> None:
        self._fail()
        await self._backend.check()

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error

    async def _read(self, key: str, start_bytes: int, end_bytes: int) -> AsyncGenerator[bytes, None]:
        self._fail()
        async with aclosing(self._backend.read(key, start_bytes, end_bytes)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _broken(self, blocks: AsyncIterable[bytes], error: Exception) -> AsyncIterator[bytes]:
        sent_bytes = 0
        async for block in blocks:
            if sent_bytes + len(block) > self.after_bytes:
                raise error
            sent_bytes += len(block)
            yield block
        raise error
