"""Postgres goes away under load, freezes, vanishes: callers hear UNAVAILABLE in time, nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import grpc
import psycopg
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import context_service.app
from context_service.erasure.rules import subjects
from context_service.settings import Settings
from contextkeep import AsyncContextClient
from contextkeep.errors import Unavailable
from service_runtime.background_work import background
from service_runtime.postgres import Database, Transaction
from service_runtime.rpc.principal import DEFAULT_TENANT_ID, ApiKeys
from tests.conftest import KEY, PRINCIPAL
from tests.faults import load, proxy
from tests.faults.conftest import World
from tests.faults.deadlines import TIMEOUTS_S, unavailable_in_time
from tests.faults.postgres import FAST, IMMEDIATE

WAIT_MAX_S = 30.0  # for what takes a moment where nothing else runs
TENANTS = "SELECT id FROM access.tenant"


async def health(address: str) -> int:
    async with grpc.aio.insecure_channel(address) as channel:
        request = health_pb2.HealthCheckRequest()
        return (await health_pb2_grpc.HealthStub(channel).Check(request, timeout=WAIT_MAX_S)).status


async def until_health(address: str, status: int) -> None:
    async with asyncio.timeout(WAIT_MAX_S):
        while await health(address) != status:
            await asyncio.sleep(0.05)


async def until_it_works(world: World) -> None:
    await until_health(world.entity_address, health_pb2.HealthCheckResponse.SERVING)
    await until_health(world.context_address, health_pb2.HealthCheckResponse.SERVING)


@pytest.mark.parametrize("how", [FAST, IMMEDIATE, signal.SIGKILL], ids=["fast", "immediate", "killed"])
async def test_a_restart_under_load_costs_only_the_calls_under_way(world: World, how: signal.Signals):
    await until_it_works(world)

    async with load.running(world.entity, world.context) as written:
        await written.more(50)
        await world.postgres.restart(how)
        back = time.monotonic()
        await written.more(200)

    assert [call for call in written.failures if not isinstance(call.error, Unavailable)] == []
    assert all(call.error.metadata["dependency"] == "postgres" for call in written.failures)
    assert all(call.error.retry_after_s for call in written.failures)
    assert [call for call in written.failures if call.started > back] == []
    assert await written.lost() == []


async def test_connections_that_died_in_idleness_cost_nobody_a_call(world: World):
    await until_it_works(world)
    await asyncio.gather(*(world.entity.graph.create_node("Idle") for _ in range(50)))  # the pool is full now
    await world.postgres.restart(FAST)

    await asyncio.gather(*(world.entity.graph.create_node("Idle") for _ in range(50)))


async def test_while_postgres_is_down_calls_fail_in_time_and_when_it_is_back_they_work(world: World):
    await until_it_works(world)

    await world.postgres.stop(IMMEDIATE)
    writes = (
        lambda timeout_s: world.entity.graph.create_node("Down", timeout_s=timeout_s),
        lambda timeout_s: world.context.records.insert("data/json", "down", timeout_s=timeout_s),
    )
    try:
        for timeouts_s in (TIMEOUTS_S, (2.5, 7.5)):  # before and after the pool has given up its connections
            for error in await asyncio.gather(*(unavailable_in_time(write, timeouts_s) for write in writes)):
                assert "the database does not answer" in error.message
        await until_health(world.context_address, health_pb2.HealthCheckResponse.NOT_SERVING)
    finally:
        await world.postgres.start()

    await until_it_works(world)
    await world.entity.graph.create_node("Up")
    await world.context.blobs.upload(b"up", name="up")


async def test_a_frozen_postgres_is_unavailable_within_the_deadline_and_health_says_so(world: World):
    """Its connections stay open and say nothing: neither statement timeouts nor cancellations are answered."""
    await until_it_works(world)
    await asyncio.gather(*(world.entity.graph.create_node("Idle") for _ in range(20)))

    world.postgres.freeze()
    try:
        writes = (
            lambda timeout_s: world.entity.graph.create_node("Frozen", timeout_s=timeout_s),
            lambda timeout_s: world.context.records.insert("data/json", "frozen", timeout_s=timeout_s),
        )
        failures = await asyncio.gather(*(unavailable_in_time(write, (1.5, 4.5)) for write in writes * 20))
        assert {failure.metadata["dependency"] for failure in failures} == {"postgres"}
        await until_health(world.context_address, health_pb2.HealthCheckResponse.NOT_SERVING)
    finally:
        world.postgres.thaw()

    await until_it_works(world)
    await world.entity.graph.create_node("Thawed")
    await world.context.records.insert("data/json", "thawed")


async def test_a_server_that_vanished_costs_one_call_and_not_one_a_connection(world: World):
    """No FIN, no RST: as after a power cut, or a failover that moves the address. New connections reach the new one."""
    await until_it_works(world)
    async with proxy.running(world.postgres.server.port) as network:
        url = world.postgres.url.replace(f":{world.postgres.server.port}/", f":{network.port}/")
        async with Database.open(url, connections_max=10, name="vanished") as database:
            await asyncio.gather(*(database.untenanted("SELECT pg_sleep(0.2)") for _ in range(10)))
            network.fall_silent()

            with pytest.raises(Unavailable):
                await database.untenanted(TENANTS, timeout_s=1)
            for _ in range(20):
                await database.untenanted(TENANTS, timeout_s=WAIT_MAX_S)


HOLD = """
import asyncio, sys
from service_runtime.rpc.principal import DEFAULT_TENANT_ID
from service_runtime.rpc.calls import Call, current_call
from service_runtime.postgres import Database
import time

async def main():
    async with Database.open(sys.argv[1], connections_max=1, name="held") as database:
        async def work(transaction):
            await transaction.query("UPDATE context.mapping_revision SET revision = revision + 1")
            print("held", flush=True)
            await asyncio.sleep(60)
        current_call.set(Call(call_id="", method="", deadline=time.monotonic() + 2))
        await database.tenant(DEFAULT_TENANT_ID).transaction(work)

asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["frozen", "down"])
async def test_a_question_is_answered_in_time_by_a_status_whatever_becomes_of_postgres(world: World, how: str):
    """The call is OK, and waits for nothing that it has cancelled; a dead source is never one that has nothing."""
    await until_it_works(world)
    settings = Settings(
        database_url=world.postgres.url, context_service_port=0, working_memory_storage_path=world.blobs, drain_s=2
    )
    # Of a fixed key: those in Postgres would be refused.
    async with (
        context_service.app.running(settings, callers=ApiKeys({KEY: PRINCIPAL})) as port,
        AsyncContextClient(f"127.0.0.1:{port}", api_key=KEY, retries=0) as context,
    ):
        await context.records.insert("text/markdown", "question.md", content_text="The frozen lake of Geneva.")
        (before,) = (await context.query.ask("frozen lake", provider_ids=["workspace"])).providers
        if how == "frozen":
            world.postgres.freeze()
        else:
            await world.postgres.stop(IMMEDIATE)
        try:
            began = time.monotonic()
            found = await context.query.ask("frozen lake", provider_ids=["workspace"], timeout_s=20)
            took_s = time.monotonic() - began
            hurried = await context.query.ask("frozen lake", provider_ids=["workspace"], timeout_s=0.5)
        finally:
            if how == "frozen":
                world.postgres.thaw()
            else:
                await world.postgres.start()
        assert before.state == "ok" and before.hit_count
        states = [one.state for answer in (found, hurried) for one in answer.providers]
        assert len(states) == 2 and set(states) <= {"timeout", "error"}
        assert took_s < 12
    await until_it_works(world)


async def test_a_replica_that_freezes_in_a_transaction_keeps_its_locks_no_longer_than_its_call(world: World):
    await until_it_works(world)
    holder = subprocess.Popen([sys.executable, "-c", HOLD, world.postgres.url], stdout=subprocess.PIPE, cwd=Path.cwd())
    try:
        assert await asyncio.to_thread(holder.stdout.readline) == b"held\n"
        holder.send_signal(signal.SIGSTOP)

        async with Database.open(world.postgres.url, connections_max=1, name="waiting") as database:

            async def work(transaction: Transaction) -> None:
                await transaction.query("UPDATE context.mapping_revision SET revision = revision + 1")

            async with asyncio.timeout(WAIT_MAX_S):
                await database.tenant(DEFAULT_TENANT_ID).transaction(work)
    finally:
        holder.kill()
        holder.stdout.close()
        holder.wait()


async def test_an_erasure_goes_on_after_an_outage_and_no_loop_of_the_background_ends(
    world: World, caplog: pytest.LogCaptureFixture
):
    """Longer than any lease of an erasure, in the middle of one; an outage is a warning, and no traceback."""
    await until_it_works(world)
    await world.context.records.insert("data/json", "read by it, too")
    caplog.clear()
    renewed: list[float] = []

    async def renew() -> None:
        await database.untenanted("SELECT 1")
        renewed.append(time.monotonic())

    async with (
        Database.open(world.postgres.url, connections_max=1, name="tests") as database,
        background.renewing(renew, lease_s=1.0),
    ):
        try:
            with closing(psycopg.connect(world.postgres.server.url(role="postgres"))) as connection:
                connection.execute("LOCK TABLE context.wm_record IN ACCESS EXCLUSIVE MODE")  # it waits here
                erasure = await world.context.erasures.erase("ada")
                async with asyncio.timeout(WAIT_MAX_S):
                    while not connection.execute("SELECT FROM pg_locks WHERE NOT granted").fetchall():
                        await asyncio.sleep(0.05)
                await asyncio.sleep(subjects.LEASE_S / 2)  # its lease was renewed
                await world.postgres.stop(IMMEDIATE)
            await asyncio.sleep(subjects.LEASE_S + 1)
        finally:
            await world.postgres.start()
        back = time.monotonic()
        async with asyncio.timeout(WAIT_MAX_S):
            while renewed[-1] < back:
                await asyncio.sleep(0.05)
    await until_it_works(world)
    async with asyncio.timeout(4 * WAIT_MAX_S):  # each service looks again after 5 s, for several steps
        while (await world.context.erasures.get(erasure.erasure_id)).state != "finished":
            await asyncio.sleep(0.1)

    assert "renewing a lease failed" in caplog.text
    ended = [one.getMessage() for one in caplog.records if one.exc_info or one.levelno >= logging.ERROR]
    assert ended == []
