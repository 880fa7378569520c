"""An expand step under load: services that were started before it go on, on connections that know the old tables.

What an expand step may be is in this file: new columns, tables and indexes, constraints that are checked later.
Postgres refuses a prepared statement whose columns have changed ("cached plan must not change result type"): one of
ours that reads a table's columns without naming them would fail here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from contextkeep import AsyncContextClient, AsyncEntityClient, EdgeInput, NodeInput
from contextkeep.errors import ContextKeepError
from service_runtime.databases.embedded_postgres import SERVICE_ROLE
from service_runtime.databases.migrate import Migration, migrate
from tests.conftest import KEY, Addresses, Urls
from tests.faults import load

_TABLES = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ('access', 'context', 'entity') AND c.relkind = 'r' AND c.relname <> 'migration' ORDER BY 1
"""


def steps(urls: Urls) -> list[str]:
    """Return an expand step for every table there is, and some that take longer."""
    with psycopg.connect(urls.superuser) as connection:
        tables = [name for (name,) in connection.execute(_TABLES)]
    assert len(tables) > 15
    return [
        *(f"ALTER TABLE {table} ADD COLUMN later text NOT NULL DEFAULT 'new'" for table in tables),
        "-- no transaction\nDROP INDEX CONCURRENTLY IF EXISTS entity.later_index;\n"
        "CREATE INDEX CONCURRENTLY later_index ON entity.node (tenant_id, later)",
        "ALTER TABLE context.wm_record ADD CONSTRAINT later_check CHECK (later <> '') NOT VALID",
        "ALTER TABLE context.wm_record VALIDATE CONSTRAINT later_check",
        "CREATE TABLE entity.later (tenant_id uuid NOT NULL, id uuid NOT NULL, PRIMARY KEY (tenant_id, id));"
        "ALTER TABLE entity.later ENABLE ROW LEVEL SECURITY",
    ]


@pytest.fixture
async def clients(services: Addresses) -> AsyncIterator[tuple[AsyncEntityClient, AsyncContextClient]]:
    async with (
        AsyncEntityClient(services.entity, api_key=KEY, retries=0) as entity,
        AsyncContextClient(services.context, api_key=KEY, retries=0) as context,
    ):
        yield entity, context


async def test_an_expand_step_fails_no_call_of_services_that_run(
    clients: tuple[AsyncEntityClient, AsyncContextClient], urls: Urls
):
    entity, context = clients
    session, turn = NodeInput("Session"), NodeInput("Turn", data={"user_input": "hello"})
    await entity.graph.write([session, turn], [EdgeInput(session.id, turn.id, "Contains")])
    file = await context.blobs.upload(b"a file", name="file", entity_node_id=session.id)
    reads, failed, stopping = 0, [], asyncio.Event()

    async def keep_reading() -> None:
        nonlocal reads
        while not stopping.is_set():
            try:
                assert len(await context.history.stream(session.id)) == 1
                assert len([node async for node in entity.graph.traverse([session.id])]) == 1
                async with await context.blobs.get(file) as reader:
                    assert b"".join([part async for part in reader]) == b"a file"
                reads += 1
                await asyncio.sleep(0.02)  # as who writes beside it: else these three take all the CPU there is
            except ContextKeepError as error:
                failed.append(str(error))

    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(keep_reading())
        async with load.running(entity, context, callers=4) as written:
            await asyncio.sleep(1)  # every statement is prepared by now
            made = steps(urls)
            for number, text in enumerate(made, 1):
                migration = Migration(schema="later", version=number, name=f"{number:04}_later.sql", text=text)
                await asyncio.to_thread(migrate, urls.admin, [migration], service_role=SERVICE_ROLE)
                if number % 5 and number < len(made):
                    continue  # what it would fail, it fails behind the next ones, too
                before = len(written.calls), reads
                while not (len(written.calls) > before[0] + 8 and reads > before[1] + 1):
                    await asyncio.sleep(0.005)
        stopping.set()

    assert [str(call.error) for call in written.failures] == []
    assert failed == []
    assert await written.lost() == []
