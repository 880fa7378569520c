"""One key, or one tenant, that would have all places: others still call, and what says nothing ends."""

from __future__ import annotations

import asyncio
import os
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import psycopg
import pytest

import context_service.settings
from contextkeep import AsyncContextClient
from contextkeep.context.v1 import working_memory_pb2 as memory
from contextkeep.errors import DeadlineExceeded, StreamIdle, TooManyCalls
from service_runtime.rpc.principal import DEFAULT_TENANT_ID, ApiKeys, Principal
from tests.conftest import OTHER_PRINCIPAL, Addresses, Urls
from tests.logged import errors
from tests.ports import free_port

CALLS_MAX = 8
IDLE_S = 1.5
MIB = 1024 * 1024


@pytest.fixture
def callers() -> ApiKeys:
    ours = {name: Principal(tenant_id=DEFAULT_TENANT_ID, subject=name) for name in ("greedy", "too", "third")}
    return ApiKeys({**ours, "other": OTHER_PRINCIPAL})


@pytest.fixture
def metrics_port() -> int:
    return free_port()


@pytest.fixture
def context_settings(
    context_settings: context_service.settings.Settings, metrics_port: int
) -> context_service.settings.Settings:
    few = {"calls_max": CALLS_MAX, "expensive_calls_max": 4, "ordinary_calls_max": 4, "stream_idle_s": IDLE_S}
    return context_settings.model_copy(update={**few, "metrics_port": metrics_port})


Open = Callable[[str], AsyncContextClient]


@pytest.fixture
async def as_key(services: Addresses) -> AsyncIterator[Open]:
    """Opens a client with a key, that tries nothing twice."""
    async with AsyncExitStack() as stack:

        def open_client(key: str) -> AsyncContextClient:
            client = AsyncContextClient(services.context, api_key=key, retries=0)
            stack.push_async_callback(client.close)
            return client

        yield open_client


@pytest.fixture
async def upload(services: Addresses) -> AsyncIterator[Callable[[str], grpc.aio.StreamUnaryCall]]:
    """Opens an upload without a deadline that says nothing."""
    async with grpc.aio.insecure_channel(services.context) as channel:
        method = channel.stream_unary(
            "/contextkeep.context.v1.WorkingMemory/UploadBlob",
            request_serializer=memory.UploadBlobRequest.SerializeToString,
            response_deserializer=memory.UploadBlobResponse.FromString,
        )
        yield lambda key: method(metadata=(("authorization", f"Bearer {key}"),))


async def fetch(client: AsyncContextClient) -> object:
    return await client.tools.list()


async def refused(client: AsyncContextClient) -> TooManyCalls:
    """Return the refusal of a call, once all that was opened before it has arrived."""
    async with asyncio.timeout(IDLE_S):
        while True:
            try:
                await fetch(client)
            except TooManyCalls as error:
                return error
            await asyncio.sleep(0.01)


async def test_neither_a_key_nor_a_tenant_can_have_all_places(as_key: Open, upload: Callable[[str], object]):
    """1,000 uploads of one key that sent nothing kept every tenant out."""
    silent = [upload("greedy") for _ in range(100)]

    of_key = await refused(as_key("greedy"))
    assert of_key.metadata == {"limit": "calls_of_key", "limit_max": "4", "value": "5"}
    assert of_key.retry_after_s
    await fetch(as_key("too"))
    silent += [upload("too") for _ in range(100)]
    of_tenant = await refused(as_key("third"))
    assert of_tenant.metadata == {"limit": "calls_of_tenant", "limit_max": "6", "value": "7"}
    await fetch(as_key("other"))


async def test_an_upload_that_says_nothing_is_ended_and_leaves_its_place(as_key: Open, upload: Callable[[str], object]):
    silent = [upload("greedy") for _ in range(4)]
    await refused(as_key("greedy"))

    for one in silent:
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await one  # type: ignore[misc]
        assert ended.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert "nothing was sent on the stream" in (ended.value.details() or "")
    await fetch(as_key("greedy"))


async def test_an_upload_that_pauses_is_told_what_its_fault_was(as_key: Open):
    async def pieces() -> AsyncIterator[bytes]:
        yield b"a" * MIB
        await asyncio.sleep(IDLE_S + 1)
        yield b"a"

    with pytest.raises(StreamIdle) as ended:
        await as_key("greedy").blobs.upload(pieces(), name="paused")
    assert ended.value.metadata["stream_idle_s"] == f"{IDLE_S:g}"


async def test_a_slow_upload_is_not_idle(as_key: Open):
    """Each piece begins the time anew."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(6):
            yield b"a" * MIB
            await asyncio.sleep(IDLE_S / 3)

    assert (await as_key("greedy").blobs.upload(pieces(), name="slow")).size_bytes == 6 * MIB


async def test_a_reader_that_stands_still_is_ended_and_told_so_when_it_reads_on(as_key: Open):
    """What is not read stays with gRPC, so it counts until its caller reads or leaves: in the key's share alone."""
    client = as_key("greedy")
    record = await client.blobs.upload(os.urandom(16 * MIB), name="large")
    standing = [client.stream("GetBlob", memory.GetBlobRequest(blob_key=record.blob_key)) for _ in range(4)]
    await asyncio.gather(*(anext(one) for one in standing))
    await refused(client)
    await fetch(as_key("other"))

    await asyncio.sleep(IDLE_S + 0.5)
    for one in standing:
        with pytest.raises(StreamIdle):
            async for _ in one:
                pass
    await fetch(client)


async def test_a_reader_that_stands_still_and_leaves_is_no_fault(as_key: Open, caplog: pytest.LogCaptureFixture):
    client = as_key("greedy")
    record = await client.blobs.upload(os.urandom(16 * MIB), name="large")
    standing = [client.stream("GetBlob", memory.GetBlobRequest(blob_key=record.blob_key)) for _ in range(4)]
    await asyncio.gather(*(anext(one) for one in standing))

    await asyncio.sleep(IDLE_S + 0.5)
    await asyncio.gather(*(one.aclose() for one in standing))

    async with asyncio.timeout(5):
        while True:
            try:
                await fetch(client)
                break
            except TooManyCalls:
                await asyncio.sleep(0.01)
    assert not errors(caplog)


async def test_a_slow_reader_is_not_idle(as_key: Open):
    client = as_key("greedy")
    record = await client.blobs.upload(os.urandom(4 * MIB), name="large")
    read = 0
    async for answer in client.stream("GetBlob", memory.GetBlobRequest(blob_key=record.blob_key)):
        read += len(answer.chunk)
        await asyncio.sleep(IDLE_S / 10)
    assert read == 4 * MIB


@asynccontextmanager
async def searches_stand_still(urls: Urls) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for each in urls.all:
            connection = await stack.enter_async_context(await psycopg.AsyncConnection.connect(each.superuser))
            await connection.execute("LOCK TABLE context.wm_record IN ACCESS EXCLUSIVE MODE")
        yield


async def shown(port: int, name: str, expected: int) -> None:
    """Wait until a metric has a value."""

    def read() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            text: str = answer.read().decode()
            return text

    async with asyncio.timeout(10):
        while f"\n{name} {expected:.1f}\n" not in await asyncio.to_thread(read):
            await asyncio.sleep(0.02)


WORKING, WAITING = "contextkeep_expensive_calls_under_way", "contextkeep_expensive_calls_waiting"
SEARCHES: dict[str, Callable[[AsyncContextClient], Awaitable[object]]] = {
    "an RPC": lambda client: client.records.search("needle"),
    "a tool": lambda client: client.tools.execute("rag_search_records", {"query": "needle"}),
}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
async def test_expensive_calls_wait_for_their_turn_and_leave_the_queue_when_nobody_waits_for_them(
    as_key: Open, urls: Urls, metrics_port: int, search: Callable[[AsyncContextClient], Awaitable[object]]
):
    """Of four turns a key has two, its tenant three; who has none does not hold up what is cheap."""
    calls: list[asyncio.Future[object]] = []
    greedy, too, other = as_key("greedy"), as_key("too"), as_key("other")
    async with searches_stand_still(urls):
        calls += [asyncio.ensure_future(search(greedy)) for _ in range(3)]
        await shown(metrics_port, WAITING, 1)
        await shown(metrics_port, WORKING, 2)
        calls += [asyncio.ensure_future(search(too)) for _ in range(2)]
        await shown(metrics_port, WAITING, 2)
        calls += [asyncio.ensure_future(search(other)) for _ in range(2)]
        await shown(metrics_port, WAITING, 3)
        await shown(metrics_port, WORKING, 4)
        await fetch(other)

        with pytest.raises(DeadlineExceeded):
            await greedy.records.search("needle", timeout_s=0.3)
        await shown(metrics_port, WAITING, 3)
        calls[-1].cancel()
        await shown(metrics_port, WAITING, 2)
    assert len([one for one in await asyncio.gather(*calls, return_exceptions=True) if one is not None]) == 7
    assert [call for call in calls if call.cancelled()] == calls[-1:]
    await shown(metrics_port, WORKING, 0)
    await shown(metrics_port, WAITING, 0)


async def test_a_message_takes_a_turn_to_recall_once_it_is_written(as_key: Open, urls: Urls, metrics_port: int):
    """Twenty callers of one key that recalled by sending messages had the processor for themselves."""
    client = as_key("greedy")
    context_id = (await client.contexts.send("The needle is in the haystack.")).context_id
    searches: list[asyncio.Future[object]] = []
    async with searches_stand_still(urls):
        searches += [asyncio.ensure_future(client.records.search("needle")) for _ in range(2)]  # all turns of the key
        await shown(metrics_port, WORKING, 2)

        recalling = asyncio.ensure_future(client.contexts.send("Where is the needle?", context_id))
        await shown(metrics_port, WAITING, 1)
        silent = await client.contexts.send("Thanks.", context_id, recall=False)
        assert silent.seq == 3, "the message that waits to recall is not written yet"
        assert not recalling.done()
    recalled = (await recalling).recalled
    assert recalled is not None
    assert [item.text for item in recalled.items] == ["The needle is in the haystack."]
    await asyncio.gather(*searches)
    await shown(metrics_port, WORKING, 0)


async def test_cheap_calls_of_one_key_wait_in_its_own_queue(
    as_key: Open, urls: Urls, metrics_port: int, monkeypatch: pytest.MonkeyPatch
):
    """Fifty calls of one key at once raised the p95 of others to half a second."""
    monkeypatch.setattr("service_runtime.rpc.fair_queue.LEASE_S", 60.0)
    greedy, waiting = as_key("greedy"), "contextkeep_ordinary_calls_waiting"
    record = await greedy.records.insert("data/json", "one", content={})
    async with searches_stand_still(urls):
        calls = [asyncio.ensure_future(greedy.records.get(record.working_memory_id)) for _ in range(4)]
        await shown(metrics_port, waiting, 2)
        await fetch(as_key("other"))
        await fetch(as_key("too"))
        await shown(metrics_port, waiting, 2)
    assert len(await asyncio.gather(*calls)) == 4
    await shown(metrics_port, waiting, 0)
