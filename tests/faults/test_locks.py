"""A table is locked, by `ALTER TABLE` or `VACUUM FULL` say: who needs it waits, and nobody else does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import psycopg
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from psycopg import sql

import context_service.app
import context_service.settings
import entity_service.app
import entity_service.settings
from contextkeep import AsyncContextClient, AsyncEntityClient
from contextkeep.context.v1 import chat_history_pb2 as history_pb
from contextkeep.errors import Overloaded, Unavailable
from entity_service.rules.first_statistics import FirstStatistics
from service_runtime import postgres
from service_runtime.auth.tenants import Rounds
from service_runtime.grpc_server import server
from service_runtime.postgres import Database
from service_runtime.postgres import pool as pool_module
from service_runtime.postgres import tenant as tenant_module
from tests.conftest import PRINCIPAL, Urls
from tests.locks import WAIT_MAX_S, until_waiting

CONNECTIONS = 3
MAPPINGS = history_pb.ListMappingsRequest()


@asynccontextmanager
async def locked(urls: Urls, table: str) -> AsyncIterator[None]:
    schema, name = table.split(".")
    async with await psycopg.AsyncConnection.connect(urls.superuser) as connection:
        await connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(schema, name)))
        yield
        await connection.rollback()


async def test_health_tells_of_postgres_while_every_connection_waits_at_a_lock(
    urls: Urls, entity_settings: entity_service.settings.Settings
):
    """It would take all replicas away from all callers, for the sake of one table."""
    settings = entity_settings.model_copy(update={"database_pool_max": CONNECTIONS})
    async with entity_service.app.running(settings) as port, AsyncEntityClient(f"127.0.0.1:{port}") as entity:
        node_id = (await entity.graph.create_node("Turn")).id
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            health = health_pb2_grpc.HealthStub(channel)

            async def is_serving() -> bool:
                answer = await health.Check(health_pb2.HealthCheckRequest(), timeout=WAIT_MAX_S)
                return answer.status == health_pb2.HealthCheckResponse.SERVING

            async with asyncio.timeout(WAIT_MAX_S):
                while not await is_serving():
                    await asyncio.sleep(0.01)
            async with locked(urls, "entity.node"):
                calls = [asyncio.create_task(entity.graph.get_node(node_id)) for _ in range(2 * CONNECTIONS)]
                await until_waiting(urls.superuser, CONNECTIONS)
                await asyncio.sleep(2 * (server.CHECK_INTERVAL_S + postgres.READY_TIMEOUT_S))
                assert await is_serving()
                assert not any(call.done() for call in calls)
            assert {node.id for node in await asyncio.gather(*calls)} == {node_id}


async def test_calls_that_need_no_locked_table_are_served_or_told_in_time_that_no_connection_is_free(
    urls: Urls, context_settings: context_service.settings.Settings, monkeypatch: pytest.MonkeyPatch
):
    async def nothing(self: Rounds, among: object = None) -> int:
        return 0

    monkeypatch.setattr(Rounds, "run", nothing)  # background work that waits at the lock would hold a connection, too
    settings = context_settings.model_copy(update={"database_pool_max": CONNECTIONS})
    async with (
        context_service.app.running(settings) as port,
        AsyncContextClient(f"127.0.0.1:{port}", retries=0) as context,
    ):

        def write() -> asyncio.Task[object]:
            return asyncio.create_task(context.records.insert("data/json", "a", content={}, timeout_s=WAIT_MAX_S))

        async def other() -> None:
            await context.call("ListMappings", MAPPINGS, timeout_s=10)

        async with locked(urls, "context.wm_record"):
            writes = [write() for _ in range(CONNECTIONS - 1)]
            await until_waiting(urls.superuser, len(writes))
            await other()
            writes.append(write())
            await until_waiting(urls.superuser, len(writes))
            with pytest.raises(Overloaded) as error:
                await other()
            assert error.value.retry_after_s
        await other()
        await asyncio.gather(*writes)


async def test_what_no_caller_waits_for_does_not_wait_at_a_lock_with_a_connection(
    urls: Urls, database: Database, monkeypatch: pytest.MonkeyPatch
):
    soon = tenant_module.GIVING_WAY.replace("5000", "200")
    for module in (tenant_module, pool_module):
        monkeypatch.setattr(module, "GIVING_WAY", soon)
    read = "SELECT count(*) FROM entity.node"
    async with locked(urls, "entity.node"):
        calling = asyncio.create_task(database.of(PRINCIPAL).query(read))
        async with asyncio.timeout(WAIT_MAX_S):
            for background in (
                database.untenanted(read),
                database.tenant(PRINCIPAL.tenant_id).query(read),
                database.tenant(PRINCIPAL.tenant_id).transaction(lambda transaction: transaction.query(read)),
            ):
                with pytest.raises(Unavailable, match="holds a lock"):
                    await background
            assert not await FirstStatistics(database).once()
        assert not calling.done()
    assert (await calling)[0].count == 0
