"""The Entity Service is down, frozen, slow, back again: the Context Service says so in time, and recovers by itself."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import context_service.app
import context_service.settings
from contextgraph import AsyncContextClient, AsyncEntityClient
from contextgraph.errors import Unavailable
from contextgraph.inputs import EdgeInput, NodeInput
from service_runtime.embedded_postgres import EmbeddedPostgres
from tests.conftest import cloned
from tests.faults import proxy
from tests.faults.processes import Service
from tests.faults.proxy import Proxy
from tests.ports import free_port

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


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
            request = health_pb2.HealthCheckRequest(service=f"contextgraph.context.v1.{name}")
            return (await health_pb2_grpc.HealthStub(channel).Check(request, timeout=2)).status

    async def until_health(self, status: int, *, timeout_s: float) -> None:
        async with asyncio.timeout(timeout_s):
            while await self.health("ChatHistory") != status:
                await asyncio.sleep(0.05)

    async def history(self, *, timeout_s: float = 2.0) -> list[str]:
        return [
            message.content for message in await self.context.get_chat_history(self.session_id, timeout_s=timeout_s)
        ]

    async def fails_in_time(self, *, timeout_s: float) -> None:
        """Ask for the history in both ways."""
        started = time.monotonic()
        with pytest.raises(Unavailable) as unary:
            await self.history(timeout_s=timeout_s)
        assert time.monotonic() - started < timeout_s
        started = time.monotonic()
        with pytest.raises(Unavailable) as stream:
            await self.context.chat_history(self.session_id, timeout_s=timeout_s)
        assert time.monotonic() - started < timeout_s
        for caught in (unary, stream):
            assert caught.value.metadata["dependency"] == "entity-service"
            assert "the Entity Service does not answer" in caught.value.message


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
            drain_s=2,
        )
        address = f"127.0.0.1:{await stack.enter_async_context(context_service.app.running(settings))}"
        entity = await stack.enter_async_context(AsyncEntityClient(process.address))
        session = await entity.create_node("Session")
        turn = await entity.create_node("Turn", data={"user_input": "hello"})
        await entity.create_edge(session.id, turn.id, "Contains")
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
    await shared.until_health(SERVING, timeout_s=10)
    assert await shared.history() == ["hello"]
    return shared


async def test_a_killed_entity_service_is_named_and_its_return_is_noticed(split: Split):
    await split.entity_process.kill()

    await split.fails_in_time(timeout_s=1)
    await split.until_health(NOT_SERVING, timeout_s=5)
    assert await split.health("WorkingMemory") == SERVING
    await split.context.insert_wm_record("data/json", "meanwhile", content={})

    await asyncio.sleep(1)  # long enough for the attempts to connect to become rare
    await split.entity_process.start()
    await split.until_health(SERVING, timeout_s=8)
    assert await split.history() == ["hello"]


async def test_a_frozen_entity_service_is_named_within_the_deadline(split: Split):
    split.entity_process.send(signal.SIGSTOP)
    try:
        await split.fails_in_time(timeout_s=1)
        await split.fails_in_time(timeout_s=0.3)
        await split.until_health(NOT_SERVING, timeout_s=5)
    finally:
        split.entity_process.send(signal.SIGCONT)

    await split.until_health(SERVING, timeout_s=5)
    assert await split.history() == ["hello"]


async def test_a_slow_entity_service_slows_only_the_history_down(split: Split):
    split.network.delay_s = 0.2

    assert await split.history(timeout_s=5) == ["hello"]
    await split.fails_in_time(timeout_s=0.25)
    started = time.monotonic()
    await split.context.insert_wm_record("data/json", "meanwhile", content={})
    assert time.monotonic() - started < 1

    split.network.delay_s = 0
    assert await split.history() == ["hello"]


async def test_an_entity_service_that_vanishes_in_the_middle_of_a_walk_is_named(split: Split):
    """No FIN, no RST; part of the history is on its way already."""
    session = NodeInput("Session")
    await split.entity.write_graph([session])
    for _ in range(8):  # 16 MB: more than fits into the sockets and windows in between
        turns = [NodeInput("Turn", data={"user_input": "x" * 20_000}) for _ in range(100)]
        await split.entity.write_graph(turns, [EdgeInput(session.id, turn.id, "Contains") for turn in turns])
    split.network.delay_s = 0.02

    started = time.monotonic()
    reading = asyncio.create_task(split.context.chat_history(session.id, timeout_s=2))
    await asyncio.sleep(0.4)
    split.network.fall_silent()

    with pytest.raises(Unavailable) as caught:
        await reading
    assert time.monotonic() - started < 2
    assert caught.value.metadata["dependency"] == "entity-service"
    split.network.break_off()  # else its keepalive would find out, in 40 s


async def test_a_broken_connection_costs_the_calls_on_it_and_no_other(split: Split):
    split.network.delay_s = 0.1
    reading = asyncio.create_task(split.history())
    await asyncio.sleep(0.15)
    split.network.break_off()
    split.network.delay_s = 0

    with pytest.raises(Unavailable) as caught:
        await reading
    assert caught.value.metadata["dependency"] == "entity-service"
    await asyncio.sleep(0.3)  # grpc waits a moment before it connects again
    assert await split.history() == ["hello"]
