"""The Entity Service is down, frozen, slow, back again: the Context Service says so in time, and recovers by itself."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import context_service.app
import context_service.settings
from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.errors import Unavailable
from contextkeep.inputs import EdgeInput, NodeInput
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.conftest import cloned
from tests.faults import proxy
from tests.faults.deadlines import unavailable_in_time
from tests.faults.processes import Service
from tests.faults.proxy import Proxy
from tests.ports import free_port

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
WAIT_MAX_S = 30.0  # for what takes a moment where nothing else runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The Context Service here, the Entity Service in a process of its own, a network between them."""

    context: AsyncContextClient
    context_address: str
    entity: AsyncEntityClient
    entity_process: Service
    network: Proxy
    session_id: str  # has one turn

    async def health(self, name: str) -> int:
        async with grpc.aio.insecure_channel(self.context_address) as channel:
            request = health_pb2.HealthCheckRequest(service=f"contextkeep.context.v1.{name}")
            return (await health_pb2_grpc.HealthStub(channel).Check(request, timeout=WAIT_MAX_S)).status

    async def until_health(self, status: int) -> None:
        async with asyncio.timeout(WAIT_MAX_S):
            while await self.health("ChatHistory") != status:
                await asyncio.sleep(0.05)

    async def history(self, *, timeout_s: float = WAIT_MAX_S) -> list[str]:
        return [message.content for message in await self.context.history.get(self.session_id, timeout_s=timeout_s)]

    async def fails_in_time(self) -> None:
        """Ask for the history in both ways."""
        for ask in (self.context.history.get, self.context.history.stream):
            error = await unavailable_in_time(lambda timeout_s, ask=ask: ask(self.session_id, timeout_s=timeout_s))
            assert error.metadata["dependency"] == "entity-service"
            assert "the Entity Service does not answer" in error.message


@pytest.fixture(scope="module")
async def shared(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Split]:
    folder = tmp_path_factory.mktemp("split")
    async with AsyncExitStack() as stack:
        urls = stack.enter_context(cloned(postgres))
        environment = {"DATABASE_URL": urls.service}
        process = Service("entity_service", free_port(), environment=environment, log=folder / "entity.log")
        stack.push_async_callback(process.kill)
        await process.start()
        network = await stack.enter_async_context(proxy.running(process.port))
        settings = context_service.settings.Settings(
            database_url=urls.service,
            context_service_port=0,
            entity_service_url=f"127.0.0.1:{network.port}",
            working_memory_storage_path=folder / "blobs",
            allow_anonymous=True,
            drain_s=2,
        )
        address = f"127.0.0.1:{await stack.enter_async_context(context_service.app.running(settings))}"
        entity = await stack.enter_async_context(AsyncEntityClient(process.address))
        session = await entity.graph.create_node("Session")
        turn = await entity.graph.create_node("Turn", data={"user_input": "hello"})
        await entity.graph.create_edge(session.id, turn.id, "Contains")
        made = Split(
            context=await stack.enter_async_context(AsyncContextClient(address, retries=0)),
            context_address=address,
            entity=entity,
            entity_process=process,
            network=network,
            session_id=session.id,
        )
        yield made


@pytest.fixture
async def split(shared: Split) -> Split:
    shared.network.delay_s = 0
    await shared.until_health(SERVING)
    assert await shared.history() == ["hello"]
    return shared


async def test_a_killed_entity_service_is_named_and_its_return_is_noticed(split: Split):
    await split.entity_process.kill()

    await split.fails_in_time()
    await split.until_health(NOT_SERVING)
    assert await split.health("WorkingMemory") == SERVING
    await split.context.records.insert("data/json", "meanwhile", content={})

    await asyncio.sleep(1)  # long enough for the attempts to connect to become rare
    await split.entity_process.start()
    await split.until_health(SERVING)
    assert await split.history() == ["hello"]


async def test_a_frozen_entity_service_is_named_within_the_deadline(split: Split):
    split.entity_process.send(signal.SIGSTOP)
    try:
        await split.fails_in_time()
        await split.until_health(NOT_SERVING)
    finally:
        split.entity_process.send(signal.SIGCONT)

    await split.until_health(SERVING)
    assert await split.history() == ["hello"]


async def test_a_slow_entity_service_slows_only_the_history_down(split: Split):
    split.network.delay_s = 0.2

    assert await split.history() == ["hello"]
    split.network.delay_s = 20
    await split.fails_in_time()
    await split.context.records.insert("data/json", "meanwhile", content={}, timeout_s=10)
    await split.until_health(NOT_SERVING)

    split.network.break_off()  # and with it what waits there
    split.network.delay_s = 0
    await split.until_health(SERVING)  # there is a new connection
    assert await split.history() == ["hello"]


async def test_an_entity_service_that_vanishes_in_the_middle_of_a_walk_is_named(split: Split):
    """No FIN, no RST; part of the history is on its way already."""
    session = NodeInput("Session")
    await split.entity.graph.write([session])
    for _ in range(8):  # 16 MB: more than fits into the sockets and windows in between
        turns = [NodeInput("Turn", data={"user_input": "x" * 20_000}) for _ in range(100)]
        await split.entity.graph.write(turns, [EdgeInput(session.id, turn.id, "Contains") for turn in turns])
    split.network.delay_s = 0.02

    async def read(timeout_s: float) -> None:
        reading = asyncio.create_task(split.context.history.stream(session.id, timeout_s=timeout_s))
        await asyncio.sleep(0.4)
        split.network.fall_silent()
        try:
            await reading
        finally:
            split.network.break_off()  # else its keepalive would find out, in 40 s

    error = await unavailable_in_time(read, (2, 6))
    assert error.metadata["dependency"] == "entity-service"


async def test_a_broken_connection_costs_the_calls_on_it_and_no_other(split: Split):
    for moment_s in (0.1, 0.5, 2.5):  # after which the call has reached the network, if the machine is not too busy
        split.network.delay_s = 20
        reading = asyncio.create_task(split.history())
        await asyncio.sleep(moment_s)
        split.network.break_off()
        split.network.delay_s = 0
        (answer,) = await asyncio.gather(reading, return_exceptions=True)
        if isinstance(answer, Exception):
            break

    assert isinstance(answer, Unavailable)
    assert answer.metadata["dependency"] == "entity-service"
    await asyncio.sleep(0.3)  # grpc waits a moment before it connects again
    assert await split.history() == ["hello"]
