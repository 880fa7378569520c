"""Readers that stand still, go away or come in thousands: the servers stay small, healthy and there for others."""

from __future__ import annotations

import asyncio
import logging
import resource
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

import entity_service.app
from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.context.v1 import working_memory_pb2 as memory_pb
from contextkeep.entity.v1 import entity_graph_pb2 as graph_pb
from contextkeep.errors import Unavailable
from contextkeep.inputs import EdgeInput, NodeInput
from entity_service.settings import Settings
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from service_runtime.grpc_server import server
from tests.conftest import Urls, cloned
from tests.context_service.working_memory.callers import MIB
from tests.faults import proxy
from tests.faults.processes import Service
from tests.locks import until_waiting
from tests.noise import noise
from tests.ports import free_port

WAIT_MAX_S = 20.0  # for what takes a moment where nothing else runs; shorter than any deadline here
STANDING = 8  # readers at once
GROWTH_MAX_BYTES = STANDING * 16 * MIB  # of a server's memory; a session takes some 100 MiB, read in full


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    entity_process: Service
    context_process: Service
    entity: AsyncEntityClient
    context: AsyncContextClient
    superuser_url: str


@pytest.fixture(scope="module")
async def shared(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    with cloned(postgres) as urls:
        async with running(urls, tmp_path_factory.mktemp("shared")) as made:
            yield made


@asynccontextmanager
async def running(urls: Urls, folder: Path) -> AsyncIterator[Stack]:
    # No sweep waits for the tables that a test has locked. As in a pod of this size, freed memory goes back to the
    # kernel after 32 MiB of growth; with the memory of a machine it would stay, and count as growth.
    environment = {
        "DATABASE_URL": urls.service,
        "LOG_LEVEL": "WARNING",
        "MEMORY_BYTES_MAX": str(512 * MIB),
        "SWEEP_INTERVAL_S": "3600",
    }
    entity = Service("entity_service", free_port(), environment=environment, log=folder / "entity.log")
    context = Service(
        "context_service",
        free_port(),
        environment={
            **environment,
            "ENTITY_SERVICE_URL": entity.address,
            "WORKING_MEMORY_STORAGE_PATH": str(folder / "blobs"),
        },
        log=folder / "context.log",
    )
    async with AsyncExitStack() as opened:
        for service in (entity, context):
            opened.push_async_callback(service.kill)
        await asyncio.gather(entity.start(), context.start())
        yield Stack(
            entity_process=entity,
            context_process=context,
            entity=await opened.enter_async_context(AsyncEntityClient(entity.address)),
            context=await opened.enter_async_context(AsyncContextClient(context.address)),
            superuser_url=urls.superuser,
        )


def memory_bytes(service: Service) -> int:
    rss: int = psutil.Process(service.process.pid).memory_info().rss
    return rss


async def a_large_session(entity: AsyncEntityClient) -> str:
    """Write a session of 30 MB, much more than the sockets and windows in between hold; in Postgres it takes little."""
    session = NodeInput("Session")
    await entity.graph.write([session])
    for _ in range(30):
        turn = NodeInput("Turn", data={"user_input": "x" * 1_000_000})
        await entity.graph.write([turn], [EdgeInput(session.id, turn.id, "Contains")])
    return session.id


async def test_readers_that_stand_still_do_not_fill_the_memory_of_the_servers(shared: Stack):
    session_id = await a_large_session(shared.entity)
    record = await shared.context.blobs.upload(noise(32 * MIB), name="large")

    def traverse() -> AsyncGenerator[Any, None]:
        return shared.entity.stream("Traverse", graph_pb.TraverseRequest(start_node_ids=[session_id], depth_max=1))

    def history() -> AsyncGenerator[Any, None]:
        return shared.context.stream("StreamChatHistory", history_pb.StreamChatHistoryRequest(node_id=session_id))

    def blob() -> AsyncGenerator[Any, None]:
        return shared.context.stream("GetBlob", memory_pb.GetBlobRequest(blob_key=record.blob_key))

    for opened in (traverse, history, blob):
        await whole(opened())  # what reading takes at all is no growth
        before = {service.module: memory_bytes(service) for service in (shared.entity_process, shared.context_process)}
        standing = [opened() for _ in range(STANDING)]
        try:
            await asyncio.gather(*(anext(one) for one in standing))
            await asyncio.sleep(1)  # whatever would fill up does
            for service in (shared.entity_process, shared.context_process):
                await until_small(service, before[service.module] + GROWTH_MAX_BYTES, opened.__name__)
            await shared.context.records.insert("data/json", "meanwhile", content={}, timeout_s=WAIT_MAX_S)
            await shared.entity.graph.create_node("Meanwhile", timeout_s=WAIT_MAX_S)
        finally:
            for one in standing:
                await one.aclose()


async def until_small(service: Service, bytes_max: int, reading: str) -> None:
    """Wait until a server has given back what it needed for a moment, while it made all the answers at once."""
    for _ in range(round(WAIT_MAX_S / 0.2)):
        now_bytes = memory_bytes(service)
        if now_bytes < bytes_max:
            return
        await asyncio.sleep(0.2)
    raise AssertionError(f"{reading}: {service.module} has {now_bytes // MIB} MiB of at most {bytes_max // MIB}")


async def whole(stream: AsyncGenerator[Any, None]) -> None:
    async with aclosing(stream):
        async for _ in stream:
            pass


CALLS: dict[str, Callable[[AsyncEntityClient, AsyncContextClient, str], Coroutine[Any, Any, object]]] = {
    "a read": lambda entity, _, node_id: entity.graph.get_node(node_id),
    "a write": lambda entity, _, node_id: entity.graph.update_node_data(node_id, {"a": 1}),
    "a stream": lambda entity, _, node_id: whole(entity.graph.traverse(node_id, edge_types=["Contains"], depth_max=1)),
    "a walk": lambda entity, _, node_id: whole(entity.graph.traverse(node_id, depth_max=5)),
    "a record": lambda _, context, node_id: context.records.insert("data/json", "a", content={}),
    "an upload": lambda _, context, node_id: context.blobs.upload(b"a", name="a"),
    "a history over two services": lambda _, context, node_id: context.history.get(node_id),
    "a streamed history over two services": lambda _, context, node_id: context.history.stream(node_id),
}
LOCKED = "LOCK TABLE entity.node, entity.edge, context.wm_record IN ACCESS EXCLUSIVE MODE"


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("how", ["cancelled", "disconnected"])
async def test_the_query_of_a_caller_who_went_away_is_gone_long_before_its_deadline(
    shared: Stack, call: Callable[..., Coroutine[Any, Any, object]], how: str
):
    node_id = (await shared.entity.graph.create_node("Turn")).id
    async with AsyncExitStack() as opened:
        networks = [
            await opened.enter_async_context(proxy.running(service.port))
            for service in (shared.entity_process, shared.context_process)
        ]
        entity = await opened.enter_async_context(AsyncEntityClient(f"127.0.0.1:{networks[0].port}", retries=0))
        context = await opened.enter_async_context(AsyncContextClient(f"127.0.0.1:{networks[1].port}", retries=0))
        locking = await opened.enter_async_context(await psycopg.AsyncConnection.connect(shared.superuser_url))
        await locking.execute(LOCKED)

        calling = asyncio.create_task(call(entity, context, node_id))
        await until_waiting(shared.superuser_url, 1)
        if how == "cancelled":
            calling.cancel()
        else:
            for network in networks:
                network.break_off()
        await until_waiting(shared.superuser_url, 0)

        await locking.rollback()
        await asyncio.gather(calling, return_exceptions=True)


# The beginning of an HTTP/2 connection: the preface, an empty SETTINGS frame, and what acknowledges the peer's.
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
HEARD = b"\0\0\0\4\1\0\0\0\0"


class Connections:
    """Many connections that do nothing."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._writers: list[asyncio.StreamWriter] = []

    async def open(self, count: int) -> int:
        """Open so many more, and return how many are open in all."""
        for start in range(0, count, 100):
            await asyncio.gather(*(self._open() for _ in range(min(100, count - start))))
        return len(self._writers)

    async def _open(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers.append(writer)
        writer.write(HELLO)
        async with asyncio.timeout(30):
            await reader.readexactly(9)  # its SETTINGS: it took us for a client
        writer.write(HEARD)

    def close(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()


async def test_thousands_of_idle_connections_leave_room_for_others(shared: Stack):
    service = shared.context_process
    before = memory_bytes(service)
    connections = Connections(service.port)
    try:
        assert await connections.open(3000) == 3000
        assert memory_bytes(service) - before < 90 * MIB

        for _ in range(50):
            await shared.context.records.insert("data/json", "meanwhile", content={}, timeout_s=WAIT_MAX_S)
        async with AsyncContextClient(service.address) as late:
            await late.records.insert("data/json", "late", content={}, timeout_s=WAIT_MAX_S)
        await service.until_serving(timeout_s=WAIT_MAX_S)
    finally:
        connections.close()


async def test_a_service_uses_all_the_file_descriptors_that_it_may(urls: Urls, tmp_path: Path):
    """The soft limit is 1,024 in most shells and containers, though the hard one is not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip(f"the hard limit of file descriptors is {hard}")
    service = Service(
        "entity_service", free_port(), environment={"DATABASE_URL": urls.service}, log=tmp_path / "entity.log"
    )
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        starting = asyncio.create_task(service.start())
        await asyncio.sleep(0)  # it is spawned
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    connections = Connections(service.port)
    try:
        await starting
        assert await connections.open(2000) == 2000
        async with AsyncEntityClient(service.address) as late:
            await late.graph.create_node("Late", timeout_s=WAIT_MAX_S)
    finally:
        connections.close()
        await service.kill()


async def test_a_service_without_a_file_descriptor_left_serves_whom_it_has_and_recovers(urls: Urls, tmp_path: Path):
    async with running(urls, tmp_path) as stack:
        service = stack.context_process
        await stack.context.records.insert("data/json", "before", content={})
        hard = resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE)[1]
        in_use = psutil.Process(service.process.pid).num_fds()
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (in_use + 20, hard))
        connections = Connections(service.port)
        opening = asyncio.create_task(connections.open(100))
        try:
            async with asyncio.timeout(WAIT_MAX_S):
                while psutil.Process(service.process.pid).num_fds() < in_use + 20:
                    await asyncio.sleep(0.02)
            assert not opening.done()
            for _ in range(5):
                await stack.context.records.insert("data/json", "meanwhile", content={}, timeout_s=WAIT_MAX_S)
            with pytest.raises(Unavailable):  # a file cannot be opened
                await stack.context.blobs.upload(b"meanwhile", name="meanwhile")
        finally:
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
            connections.close()

        async with asyncio.timeout(WAIT_MAX_S):
            while True:
                with suppress(Unavailable):
                    await stack.context.blobs.upload(b"after", name="after")
                    break
        await service.until_serving()


async def test_trickles_hold_nobody_up(shared: Stack):
    """A preface a byte at a time, and uploads of a few bytes a piece."""
    port = shared.context_process.port

    async def trickle() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for byte in HELLO * 100:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.05)
        except OSError:
            pass
        finally:
            writer.transport.abort()

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"a"
            await asyncio.sleep(0.05)

    trickling = [asyncio.create_task(trickle()) for _ in range(200)]
    try:
        uploads = [asyncio.create_task(shared.context.blobs.upload(pieces(), name="slow")) for _ in range(50)]
        for _ in range(20):
            await shared.context.records.insert("data/json", "meanwhile", content={}, timeout_s=WAIT_MAX_S)
        assert {record.size_bytes for record in await asyncio.gather(*uploads)} == {20}
    finally:
        for task in trickling:
            task.cancel()
        await asyncio.gather(*trickling, return_exceptions=True)


async def test_a_caller_who_vanished_is_given_up(
    entity_settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """No FIN, no RST, and a stream that waits for its reader: only a ping without an answer ends it."""
    monkeypatch.setattr(server, "KEEPALIVE_S", 1)
    monkeypatch.setattr(server, "KEEPALIVE_TIMEOUT_S", 1)
    caplog.set_level(logging.INFO, "calls")
    async with entity_service.app.running(entity_settings) as port, AsyncEntityClient(f"127.0.0.1:{port}") as direct:
        session_id = await a_large_session(direct)
        async with proxy.running(port) as network, AsyncEntityClient(f"127.0.0.1:{network.port}") as vanishing:
            stream = vanishing.stream("Traverse", graph_pb.TraverseRequest(start_node_ids=[session_id], depth_max=1))
            await anext(stream)
            network.fall_silent()

            async with asyncio.timeout(60):
                while not any(getattr(record, "method", "").endswith("Traverse") for record in caplog.records):
                    await asyncio.sleep(0.05)
            await stream.aclose()
