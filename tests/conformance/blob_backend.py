"""What every blob backend holds to. A backend joins by a subclass with a fixture `backend`.

class TestAzure(BlobBackendConformance):
    @pytest.fixture
    async def backend(self): ...
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from context_service.blobs.storage import BLOCK_BYTES, BlobBackend, BlobExists
from contextkeep.errors import BlobNotFound
from tests.noise import noise

SIZES = [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES, 5 * BLOCK_BYTES + 17]
HOSTILE_KEYS = [
    "",
    "/",
    "/etc/passwd",
    "../secret",
    "a/../b",
    "a//b",
    "a/",
    "a/.",
    ".part",
    "a.part",
    "A",
    "a b",
    "a\0b",
    "a\n",
    "ä",
    "a" * 129,
    "/".join("abcdefghi"),
]


class BlobBackendConformance:
    """The suite. Each test has keys of its own, so that a backend may be shared by all of them."""

    # Put before every key; a subclass may set one, which ends with "/".
    prefix = ""
    # Whether a second write of a key is refused. Where a place cannot tell, one of the two writers wins.
    create_only = True
    # Whether a list keeps to the size of a page.
    pages = True

    @pytest.fixture
    async def backend(self) -> AsyncIterator[BlobBackend]:
        raise NotImplementedError

    @pytest.fixture
    def key(self, request: pytest.FixtureRequest) -> str:
        return f"{self.prefix}t{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:30]}"

    @pytest.mark.parametrize("size_bytes", SIZES)
    async def test_a_blob_comes_back_as_it_was(self, backend: BlobBackend, key: str, size_bytes: int):
        content = noise(size_bytes)

        await backend.write(key, blocks_of(content))

        assert await read(backend, key, 0, size_bytes) == content

    async def test_a_range_is_cut_to_the_byte(self, backend: BlobBackend, key: str):
        content = noise(2 * BLOCK_BYTES + 100)
        await backend.write(key, blocks_of(content))

        for start, end in (
            (0, 1),
            (0, BLOCK_BYTES),
            (BLOCK_BYTES - 1, BLOCK_BYTES + 1),
            (BLOCK_BYTES, 2 * BLOCK_BYTES),
            (len(content) - 1, len(content)),
            (5, 5),
            (0, len(content)),
        ):
            assert await read(backend, key, start, end) == content[start:end], (start, end)

    async def test_a_range_past_the_end_is_what_there_is(self, backend: BlobBackend, key: str):
        await backend.write(key, blocks_of(b"abc"))

        assert await read(backend, key, 1, 100) == b"bc"

    async def test_chunks_of_a_read_are_not_larger_than_a_block(self, backend: BlobBackend, key: str):
        await backend.write(key, blocks_of(noise(3 * BLOCK_BYTES)))

        async with aclosing(backend.read(key, 0, 3 * BLOCK_BYTES)) as chunks:
            sizes = [len(chunk) async for chunk in chunks]

        assert 0 < min(sizes) <= max(sizes) <= BLOCK_BYTES

    async def test_a_read_may_be_given_up(self, backend: BlobBackend, key: str):
        content = noise(4 * BLOCK_BYTES)
        await backend.write(key, blocks_of(content))

        async with aclosing(backend.read(key, 0, len(content))) as chunks:
            await anext(chunks)

        assert await read(backend, key, 0, len(content)) == content

    async def test_what_is_not_there_is_not_found(self, backend: BlobBackend, key: str):
        with pytest.raises(BlobNotFound):
            await read(backend, key, 0, 1)
        with pytest.raises(BlobNotFound):
            await read(backend, key + "/below", 0, 1)

    async def test_nothing_is_seen_of_a_write_before_its_end(self, backend: BlobBackend, key: str):
        written, go_on = asyncio.Event(), asyncio.Event()

        async def blocks() -> AsyncIterator[bytes]:
            yield noise(BLOCK_BYTES)
            yield noise(BLOCK_BYTES)
            written.set()
            await go_on.wait()
            yield b"end"

        writing = asyncio.create_task(backend.write(key, blocks()))
        await written.wait()
        with pytest.raises(BlobNotFound):
            await read(backend, key, 0, 1)
        assert await keys(backend, key) == []
        go_on.set()
        await writing

        assert len(await read(backend, key, 0, 3 * BLOCK_BYTES)) == 2 * BLOCK_BYTES + 3

    @pytest.mark.parametrize("blocks_before", [0, 1, 3])
    async def test_a_write_whose_bytes_fail_leaves_nothing(self, backend: BlobBackend, key: str, blocks_before: int):
        async def blocks() -> AsyncIterator[bytes]:
            for _ in range(blocks_before):
                yield noise(BLOCK_BYTES)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await backend.write(key, blocks())

        await self.expect_nothing(backend, key)

    @pytest.mark.parametrize("blocks_before", [0, 1, 3])
    async def test_a_cancelled_write_leaves_nothing(self, backend: BlobBackend, key: str, blocks_before: int):
        waiting = asyncio.Event()

        async def blocks() -> AsyncIterator[bytes]:
            for _ in range(blocks_before):
                yield noise(BLOCK_BYTES)
            waiting.set()
            await asyncio.Event().wait()

        writing = asyncio.create_task(backend.write(key, blocks()))
        await waiting.wait()
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing

        await self.expect_nothing(backend, key)

    async def test_a_write_cancelled_at_any_moment_is_whole_or_not_there(self, backend: BlobBackend, key: str):
        """The end of a write is many steps: wherever the cancellation falls, there is no half."""
        content = noise(BLOCK_BYTES + 1)
        for attempt in range(12):
            one = f"{key}-{attempt}"
            writing = asyncio.create_task(backend.write(one, blocks_of(content)))
            await asyncio.sleep(0.0007 * attempt)
            writing.cancel()
            (result,) = await asyncio.gather(writing, return_exceptions=True)
            if isinstance(result, asyncio.CancelledError):
                await self.expect_nothing(backend, one)
            else:
                assert await read(backend, one, 0, len(content)) == content

    async def test_of_two_writers_of_one_key_one_wins_whole(self, backend: BlobBackend, key: str):
        contents = [bytes([digit]) * (2 * BLOCK_BYTES) for digit in (1, 2)]

        results = await asyncio.gather(
            *(backend.write(key, blocks_of(content)) for content in contents), return_exceptions=True
        )

        assert await read(backend, key, 0, 2 * BLOCK_BYTES) in contents
        if self.create_only:
            assert sorted(type(result) for result in results if result) == [BlobExists]

    async def test_a_second_write_of_a_key_is_refused(self, backend: BlobBackend, key: str):
        if not self.create_only:
            pytest.skip("this backend cannot tell")
        await backend.write(key, blocks_of(b"first"))

        with pytest.raises(BlobExists):
            await backend.write(key, blocks_of(b"second"))

        assert await read(backend, key, 0, 5) == b"first"

    async def test_a_deleted_blob_is_gone(self, backend: BlobBackend, key: str):
        await backend.write(key, blocks_of(b"abc"))

        await backend.delete(key)

        await self.expect_nothing(backend, key)

    async def test_deleting_what_is_not_there_is_no_error(self, backend: BlobBackend, key: str):
        await backend.delete(key)
        await backend.delete(f"{key}/never/was")

    async def test_a_list_by_prefix_comes_in_pages(self, backend: BlobBackend, key: str):
        names = [f"{key}/{name}" for name in ("a-b", "a/x", "a/y", "a0", "b/c/d", "b/c0", "c")]
        for position, name in enumerate(reversed(names)):
            await backend.write(name, blocks_of(b"x" * position))
        await backend.write(f"{key}-other", blocks_of(b""))

        for page_size in (1, 3, 100):
            pages = [page async for page in backend.list_pages(f"{key}/", page_size=page_size)]
            assert all(0 < len(page) <= page_size or not self.pages for page in pages)
            listed = [stat for page in pages for stat in page]
            assert sorted(stat.key for stat in listed) == sorted(names)
        assert [stat.size_bytes for stat in listed] == [len(names) - 1 - names.index(stat.key) for stat in listed]
        assert await keys(backend, f"{key}/a") == [name for name in sorted(names) if name.startswith(f"{key}/a")]
        assert await keys(backend, f"{key}/zzz") == []

    async def test_a_list_beside_writes_has_what_was_there(self, backend: BlobBackend, key: str):
        before = [f"{key}/{position:02}-b" for position in range(10)]
        for one in before:
            await backend.write(one, blocks_of(b"x"))

        async def write_more() -> None:
            for position in range(10):
                await backend.write(f"{key}/{position:02}-a", blocks_of(b"x"))

        writing = asyncio.create_task(write_more())
        listed = [stat.key async for page in backend.list_pages(f"{key}/", page_size=2) for stat in page]
        await writing

        assert sorted(one for one in listed if one.endswith("-b")) == before
        assert len(set(listed)) == len(listed)

    @pytest.mark.parametrize("hostile", HOSTILE_KEYS)
    async def test_a_key_that_we_never_make_is_refused(self, backend: BlobBackend, hostile: str):
        with pytest.raises(ValueError, match="not a valid blob key"):
            await backend.write(hostile, blocks_of(b"x"))
        with pytest.raises(ValueError, match="not a valid blob key"):
            await read(backend, hostile, 0, 1)
        with pytest.raises(ValueError, match="not a valid blob key"):
            await backend.delete(hostile)

    async def test_many_at_once(self, backend: BlobBackend, key: str):
        contents = {f"{key}/{position}": noise(BLOCK_BYTES + position) for position in range(20)}

        await asyncio.gather(*(backend.write(one, blocks_of(content)) for one, content in contents.items()))
        back = await asyncio.gather(*(read(backend, one, 0, len(content)) for one, content in contents.items()))

        assert back == list(contents.values())

    async def test_a_place_that_is_there_passes_its_check(self, backend: BlobBackend):
        await backend.check()

    async def expect_nothing(self, backend: BlobBackend, key: str) -> None:
        with pytest.raises(BlobNotFound):
            await read(backend, key, 0, 1)
        assert key not in await keys(backend, key)


async def blocks_of(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), BLOCK_BYTES):
        yield content[start : start + BLOCK_BYTES]


async def read(backend: BlobBackend, key: str, start_bytes: int, end_bytes: int) -> bytes:
    async with aclosing(backend.read(key, start_bytes, end_bytes)) as chunks:
        return b"".join([chunk async for chunk in chunks])


async def keys(backend: BlobBackend, prefix: str) -> list[str]:
    return sorted([stat.key async for page in backend.list_pages(prefix) for stat in page])
