"""Services that are killed while they learn from a context: each message is learned from exactly once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from contextkeep import AsyncContextClient, ContextInput
from service_runtime.databases.embedded_postgres import EmbeddedPostgres
from tests.commands import Commands
from tests.conftest import cloned
from tests.faults.processes import Service
from tests.locks import until_waiting
from tests.ports import free_port

# While this table is locked, the worker has come as far as the claim says.
STEPS = {
    "the claim is held, and the transaction waits for the user's other memories": "context.memory_user",
    "the memory is written, and the transaction waits for its passages": "context.passage",
}


async def test_a_service_that_is_killed_at_any_step_learns_from_each_message_once(
    postgres: EmbeddedPostgres, tmp_path: Path, commands: Commands
):
    with cloned(postgres) as urls:
        environment = {
            "DATABASE_URL": urls.service,
            "ENTITY_SERVICE_URL": "127.0.0.1:1",
            "WORKING_MEMORY_STORAGE_PATH": str(tmp_path / "blobs"),
            "LEARNING_IDLE_S": "0.5",
        }
        service = Service("context_service", free_port(), environment=environment, log=tmp_path / "context.log")
        await service.start(until="liveness")
        ada, context_id = {"subject_user_id": "ada"}, ""
        texts = [f"I have {number} cats." for number in range(2, 2 + len(STEPS))]
        for text, table in zip(texts, STEPS.values(), strict=True):
            async with (
                AsyncContextClient(service.address) as client,
                await psycopg.AsyncConnection.connect(urls.superuser) as locking,
            ):
                context = None if context_id else ContextInput(learning="rules")
                context_id = (await client.contexts.send(text, context_id, context=context, **ada)).context_id
                await locking.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE".encode())
                await until_waiting(urls.superuser, 1)
                await service.kill()
                await locking.rollback()
                # The claim of the killed service lasts for half a minute.
                await locking.execute("UPDATE context.outbox SET due_at = now()")
                await locking.commit()
            await service.start(until="liveness")
        async with await psycopg.AsyncConnection.connect(urls.superuser, row_factory=dict_row) as reading:
            async with asyncio.timeout(60):
                while await _rows(reading, "SELECT FROM context.outbox WHERE topic = 'learning'"):
                    await asyncio.sleep(0.05)
            memories = await _rows(reading, "SELECT text, sources, version FROM context.memory ORDER BY seq")
            passages = await _rows(reading, "SELECT FROM context.passage WHERE scope_kind = 'memory'")
        await service.kill()
    refs = [(memory["text"], [source["ref"] for source in memory["sources"]], memory["version"]) for memory in memories]
    assert refs == [(text, [f"m{seq}"], 1) for seq, text in enumerate(texts, 1)]
    assert len(passages) == len(texts)


async def _rows(connection: psycopg.AsyncConnection[dict[str, object]], statement: str) -> list[dict[str, object]]:
    await connection.rollback()  # so that each look is a new one
    return await (await connection.execute(statement.encode())).fetchall()
