"""What every backend of a cloud holds to, besides the suite of all backends: networks break, services throttle.

A backend joins by a subclass with the fixtures below. All faults come from a proxy in front of the emulator, which
itself is never harmed.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

import pytest

from context_service.blobs import storage as blob_storage
from context_service.blobs.last_requests import SETTLE_S
from context_service.blobs.retries import RETRIES_MAX
from context_service.blobs.storage import BlobBackend, Declared, StoredBlob
from contextkeep.errors import ProviderNotConfigured, Unavailable
from tests.conformance.blob_backend import blocks_of, keys, read
from tests.conformance.large_blobs import MIB, LargeBlobConformance, storage_of, stored
from tests.emulators.proxy import Answer, Cut, Fault, Proxy, Request, Stall
from tests.noise import noise

CONTENT = noise(9 * MIB + 17)  # several parts of any cloud
BUSY = Answer(status=503, headers={"x-ms-error-code": "ServerBusy"})


class CloudBackendConformance(LargeBlobConformance):
    """The suite of a cloud."""

    @pytest.fixture
    async def through(self) -> AsyncIterator[tuple[BlobBackend, Proxy]]:
        """The same place as `backend`, through a proxy that forwards everything until it is told otherwise."""
        raise NotImplementedError

    @pytest.fixture
    async def without_container(self) -> AsyncIterator[BlobBackend]:
        """A backend whose container does not exist."""
        raise NotImplementedError

    @pytest.fixture
    async def without_credentials(self) -> AsyncIterator[BlobBackend]:
        """A backend whose credentials are wrong."""
        raise NotImplementedError

    def carries_bytes(self, request: Request) -> bool:
        """Tell whether the request brings bytes of a large blob."""
        return request.method == "PUT" and int(request.headers.get("content-length", "0")) > MIB

    def completes(self, request: Request) -> bool:
        """Tell whether the request is the one that makes a large blob appear."""
        raise NotImplementedError

    @pytest.mark.parametrize("fault", [Cut(request_bytes=100_000), Cut(), BUSY], ids=["cut", "answer lost", "busy"])
    async def test_a_part_that_failed_is_sent_again(
        self, through: tuple[BlobBackend, Proxy], backend: BlobBackend, key: str, fault: Fault
    ):
        through[1].fault = once(self.carries_bytes, fault)

        await through[0].write(key, blocks_of(CONTENT))

        assert await read(backend, key, 0, len(CONTENT)) == CONTENT

    @pytest.mark.parametrize("fault", [Cut(request_bytes=10), Cut(), BUSY], ids=["cut", "answer lost", "busy"])
    async def test_a_write_whose_last_request_failed_is_whole(
        self, through: tuple[BlobBackend, Proxy], backend: BlobBackend, key: str, fault: Fault
    ):
        """Also where the request arrived and its answer was lost: asked again, the place says that the blob exists."""
        through[1].fault = once(self.completes, fault)

        await through[0].write(key, blocks_of(CONTENT))

        assert await read(backend, key, 0, len(CONTENT)) == CONTENT

    async def test_a_write_through_a_dead_network_leaves_nothing(
        self, through: tuple[BlobBackend, Proxy], backend: BlobBackend, key: str
    ):
        sent = 0

        async def blocks() -> AsyncIterator[bytes]:
            nonlocal sent
            async for block in blocks_of(noise(40 * MIB)):
                sent += 1
                if sent == 20:
                    through[1].fault = lambda request: Cut(request_bytes=0)
                    through[1].cut_all()
                yield block

        with pytest.raises(Unavailable):
            await through[0].write(key, blocks())

        await self.expect_nothing(backend, key)

    @pytest.mark.parametrize("stage", ["part", "end"])
    async def test_a_write_that_nobody_answers_can_be_given_up(
        self, through: tuple[BlobBackend, Proxy], backend: BlobBackend, key: str, stage: str
    ):
        stalls = self.carries_bytes if stage == "part" else self.completes
        through[1].fault = lambda request: Stall() if stalls(request) else None
        writing = asyncio.create_task(through[0].write(key, blocks_of(CONTENT)))
        async with asyncio.timeout(60):
            while not any(map(stalls, through[1].requests)):
                await asyncio.sleep(0.01)
        writing.cancel()
        await asyncio.wait([writing], timeout=SETTLE_S + 1)

        assert writing.cancelled()
        through[1].fault = lambda request: None
        await self.expect_nothing(backend, key)

    async def test_a_read_that_breaks_gives_a_prefix(
        self, through: tuple[BlobBackend, Proxy], backend: BlobBackend, key: str
    ):
        await backend.write(key, blocks_of(CONTENT))
        through[1].fault = lambda request: Cut(answer_bytes=2 * MIB + 5) if request.method == "GET" else None

        back = b""
        with pytest.raises(Unavailable):
            async with aclosing(through[0].read(key, 0, len(CONTENT))) as chunks:
                async for chunk in chunks:
                    back += chunk

        assert back == CONTENT[: len(back)]
        assert len(back) < len(CONTENT)

    async def test_a_read_goes_on_where_it_broke(
        self, through: tuple[BlobBackend, Proxy], backend: BlobBackend, key: str
    ):
        digest = await storage_of(backend).write(key, blocks_of(CONTENT), declared=Declared())
        reads = 0

        def fault(request: Request) -> Fault | None:
            nonlocal reads
            reads += request.method == "GET"
            return {1: BUSY, 2: Cut(answer_bytes=MIB + 5), 4: Cut(answer_bytes=MIB // 2)}.get(reads)

        through[1].fault = fault
        storage = storage_of(through[0])
        async with aclosing(storage.read(stored(key, digest), start_bytes=3, end_bytes=len(CONTENT))) as chunks:
            assert b"".join([chunk async for chunk in chunks]) == CONTENT[3:]

    async def test_a_read_that_is_given_up_hangs_up(
        self, through: tuple[BlobBackend, Proxy], backend: BlobBackend, key: str
    ):
        """Left to the collector of garbage, the connection would stay: ours, and the place's."""
        await backend.write(key, blocks_of(CONTENT))
        through[1].fault = lambda request: Stall(answer_bytes=MIB // 2) if request.method == "GET" else None
        gc.disable()
        try:
            async with aclosing(through[0].read(key, 0, len(CONTENT))) as chunks:
                reading = asyncio.create_task(anext(chunks))
                async with asyncio.timeout(60):
                    while not through[1].stalled:
                        await asyncio.sleep(0.01)
                reading.cancel()
                await asyncio.wait([reading])
                del reading  # which holds what it was stopped in
            async with asyncio.timeout(10):
                while through[1].stalled:
                    await asyncio.sleep(0.01)
        finally:
            gc.enable()

    async def test_a_place_that_only_throttles_is_asked_a_few_times(self, through: tuple[BlobBackend, Proxy], key: str):
        backend, proxy = through
        proxy.fault = lambda request: BUSY
        storage = storage_of(backend)
        blob = StoredBlob(provider="here", key=key, size_bytes=1, crc32c=b"1234")

        async def reading() -> None:
            async with aclosing(storage.read(blob, start_bytes=0, end_bytes=1)) as chunks:
                await anext(chunks)

        for call in (reading, lambda: storage.delete("here", key), lambda: backend.write(key, blocks_of(b"x"))):
            before, started = len(proxy.requests), time.monotonic()
            with pytest.raises(Unavailable) as error:
                await call()
            assert error.value.metadata["dependency"]
            assert len(proxy.requests) - before <= 2 * RETRIES_MAX + 2
            assert time.monotonic() - started < 60

        # The budget is used up: from now on a failure is said at once.
        for _ in range(10):
            with pytest.raises(Unavailable):
                await storage.delete("here", key)
        before = len(proxy.requests)
        with pytest.raises(Unavailable):
            await storage.delete("here", key)
        assert len(proxy.requests) - before == 1

    async def test_a_place_that_is_gone_is_unavailable(self, through: tuple[BlobBackend, Proxy], key: str):
        through[1].fault = lambda request: Cut(request_bytes=0)

        for call in self.calls(through[0], key):
            with pytest.raises(Unavailable):
                await call()

    @pytest.mark.parametrize(
        "answer",
        [Answer(status=400, body=b"?"), Answer(status=429, headers={"Retry-After": "nan"})],
        ids=["400", "nan"],
    )
    async def test_an_answer_of_something_between_us_is_unavailable(
        self, through: tuple[BlobBackend, Proxy], key: str, answer: Answer
    ):
        """With a delay, if any, that the status of a call can carry."""
        through[1].fault = lambda request: answer

        for call in (lambda: through[0].write(key, blocks_of(b"x")), lambda: read(through[0], key, 0, 1)):
            with pytest.raises(Unavailable) as error:
                await call()
            assert error.value.metadata["dependency"]
            assert error.value.retry_after_s is None

    async def test_a_404_of_something_between_us_is_unavailable_and_no_lost_blob(
        self, through: tuple[BlobBackend, Proxy], backend: BlobBackend, key: str
    ):
        """A gateway that has lost its route answers 404 for every path, and every blob is still there."""
        digest = await storage_of(backend).write(key, blocks_of(b"x"), declared=Declared())
        storage = storage_of(through[0])

        for body in (b"", b"<html><h1>404 Not Found</h1></html>", b'{"error": "not found"}'):
            answer = Answer(status=404, headers={"content-type": "text/html"}, body=body)
            through[1].fault = lambda request, answer=answer: answer
            for call in self.calls(through[0], f"{key}-2", large=False):
                with pytest.raises(Unavailable):
                    await call()
            with pytest.raises(Unavailable):  # and not `BlobCorrupted`
                async with aclosing(storage.read(stored(key, digest), start_bytes=0, end_bytes=1)) as chunks:
                    await anext(chunks)

        through[1].fault = lambda request: None
        assert await read(through[0], key, 0, 1) == b"x"

    async def test_a_missing_container_is_said(self, without_container: BlobBackend, key: str):
        """Not as a missing blob: that would read as lost data."""
        for call in self.calls(without_container, key):
            with pytest.raises(ProviderNotConfigured, match="does not exist"):
                await call()

    async def test_wrong_credentials_are_said(self, without_credentials: BlobBackend, key: str):
        for call in self.calls(without_credentials, key):
            with pytest.raises(ProviderNotConfigured, match="credentials"):
                await call()

    async def test_the_start_finds_a_missing_container(self, without_container: BlobBackend):
        with pytest.raises(ProviderNotConfigured, match="does not exist"):
            await storage_of(without_container).check_writable()

    async def test_the_start_finds_credentials_that_only_read(
        self, through: tuple[BlobBackend, Proxy], backend: BlobBackend
    ):
        through[1].fault = lambda request: Answer(status=403) if request.method in ("PUT", "POST") else None

        with pytest.raises(ProviderNotConfigured, match="lack permission"):
            await storage_of(through[0]).check_writable()

        through[1].fault = lambda request: None
        await storage_of(through[0]).check_writable()
        assert await keys(backend, "start-") == []

    async def test_the_start_waits_for_a_silent_provider_for_a_while_only(
        self, through: tuple[BlobBackend, Proxy], monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(blob_storage, "WRITABLE_TIMEOUT_S", 0.5)
        through[1].fault = lambda request: Stall()

        with pytest.raises(Unavailable):
            await storage_of(through[0]).check_writable()

    def calls(self, backend: BlobBackend, key: str, *, large: bool = True) -> list[Callable[[], Awaitable[object]]]:
        async def listing() -> None:
            async for _ in backend.list_pages(""):
                return

        return [
            lambda: backend.write(key, blocks_of(b"x")),
            lambda: backend.write(key, blocks_of(CONTENT if large else b"")),
            lambda: read(backend, key, 0, 1),
            lambda: backend.delete(key),
            listing,
            backend.check,
        ]


def once(which: Callable[[Request], bool], fault: Fault) -> Callable[[Request], Fault | None]:
    """Return a plan that gives the fault to the first such request, and lets all others through."""
    given = False

    def plan(request: Request) -> Fault | None:
        nonlocal given
        if given or not which(request):
            return None
        given = True
        return fault

    return plan
